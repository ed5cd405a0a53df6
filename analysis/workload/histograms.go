//go:build duckdb_arrow

package workload

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"tidemark/internal/hint"
	"tidemark/replay/plan"
	"tidemark/replay/profile"
)

// A plan from a source that has no single requests: a server's own histograms of prompt and answer lengths, request counts per time window,
// or both. Rates say how many requests come in a window and how uneven their gaps are; cells say how long prompts and answers are. Both are
// kept per sender (a class of one client), because a batch job's long prompts must not get the chat users' rate. Package profile draws the
// requests, so that the same seed gives the same plan.
//
// A sender with a rate but no lengths borrows them: from its class, else from everybody. A source without rates needs one from the user,
// and a source with only one of the two lengths needs another source's.

// SampleOptions say how requests are drawn from a source without single arrivals. RatePerS and Duration are used only if the source has no
// rates of its own; then the rate is required.
type SampleOptions struct {
	Seed      uint64
	RatePerS  float64       // mean rate, requests/s, for a source that has no rates; else not used
	Duration  time.Duration // for such a source; 0: without an end
	LengthsOf string        // source whose lengths are used instead of its own; "": its own
}

// Sampled is what Sample made of a source.
type Sampled struct {
	Stats SourceStats // Requests is how many are expected
	// HasRate says that the source has rates of its own.
	HasRate bool
	Notes   []string // what a reader of the plan must know
}

// IsSource says whether the warehouse has a source, or a collection of files, of this name.
func IsSource(ctx context.Context, db *sql.DB, name string) (is bool, err error) {
	err = db.QueryRowContext(ctx, "select count(*) > 0 from raw.sources where name = $1 or collection = $1", name).Scan(&is)
	return is, err
}

// IsHistogram says whether a source, or all files of a collection, hold histograms and rates instead of single arrivals.
func IsHistogram(ctx context.Context, db *sql.DB, name string) (bool, error) {
	var shapes, arrivals int64
	err := db.QueryRowContext(ctx, `
select
    count(*) filter (where kind in ('lengths', 'metrics')),
    count(*) filter (where kind = 'arrivals')
from raw.sources
where name = $1
    or collection = $1`, name).Scan(&shapes, &arrivals)
	return shapes > 0 && arrivals == 0, err
}

// Sample draws requests from histograms of lengths and request counts per time window, so that production's load can be replayed
// without a trace of it. Due counts from the window's start. The same seed gives the same requests.
func Sample(ctx context.Context, db *sql.DB, name string, window Window, o SampleOptions) (iter.Seq2[plan.Request, error], Sampled, error) {
	s, err := readHistograms(ctx, db, name)
	if err != nil {
		return nil, Sampled{}, fmt.Errorf("source %s: %w", name, err)
	}
	if o.LengthsOf != "" {
		other, err := readHistograms(ctx, db, o.LengthsOf)
		if err != nil {
			return nil, Sampled{}, fmt.Errorf("source %s: %w", o.LengthsOf, err)
		}
		s.lengths, s.mass, s.notes = other.lengths, other.mass, append(s.notes, other.notes...)
	}
	d := Sampled{HasRate: len(s.rates) > 0, Notes: s.notes}
	d.Stats.SHA256 = s.sha256
	if !d.HasRate && len(s.lengths) > 0 {
		if err := s.setRate(name, o); err != nil {
			return nil, d, err
		}
	}
	if len(s.lengths) == 0 && s.isHalf {
		return nil, d, hint.Errorf("source %s: it says how long prompts are, or answers, but not both", name).
			Hint("use both lengths of another source: --lengths-of SOURCE")
	}
	if len(s.lengths) == 0 {
		return nil, d, hint.Errorf("source %s: it has rates and no lengths", name).Hint("say whose to use: --lengths-of SOURCE")
	}
	from, until, err := window.resolve(s.span(name))
	if err != nil {
		return nil, d, err
	}
	begin, end := s.extent()
	options := profile.StreamOptions{Seed: o.Seed, From: begin, Until: end}
	d.Stats.FromS, d.Stats.UntilS = seconds(from), seconds(until)
	if from != nil {
		options.From = begin + *from
	}
	if until != nil {
		options.Until = min(begin+*until, end)
	}
	streams := s.streams()
	s.count(streams, options, &d.Stats)
	requests, err := profile.Streams(streams, options)
	if err != nil {
		return nil, d, fmt.Errorf("source %s: %w", name, err)
	}
	return requests, d, nil
}

// count adds up the requests that the rates promise; the number really drawn scatters around it.
func (s *histograms) count(streams []profile.Stream, o profile.StreamOptions, stats *SourceStats) {
	expected := 0.0
	for _, stream := range streams {
		for _, w := range stream.Rates {
			expected += max(0, (min(w.Until, o.Until)-max(w.From, o.From)).Seconds()) * w.RatePerS
		}
	}
	stats.Requests = int64(math.Round(expected))
	stats.Sessions = stats.Requests
	stats.DurationS = (o.Until - o.From).Seconds()
	if stats.DurationS > 0 {
		stats.MeanRatePerS = expected / stats.DurationS
	}
}

// histograms are a source's histograms and rates, by who sends.
type histograms struct {
	sha256  string
	begin   *time.Time // instant of second 0; nil for relative times
	rates   map[sender][]profile.RateWindow
	lengths map[sender][]profile.LengthsWindow
	mass    map[sender]float64 // requests in its cells
	notes   []string
	isHalf  bool // of some senders only prompts or only answers are known
}

// sender is one class of requests of one client; both are empty where the source does not tell them apart.
type sender struct{ class, client string }

// forever is later than every plan's end (31 years), and small enough that adding to it does not overflow a time.Duration.
const forever = 999_999_999 * time.Second

// setRate gives a source without rates the one that the user asks for, divided among senders by their share of the histogram.
func (s *histograms) setRate(name string, o SampleOptions) error {
	if o.RatePerS <= 0 {
		return hint.Misuse("source %s: it has lengths and no rates", name).
			Hint("say how many requests a second: --request-rate 3.5, with --duration 10m")
	}
	all := 0.0
	for _, mass := range s.mass {
		all += mass
	}
	until := o.Duration
	until = cmp.Or(until, forever)
	for who, mass := range s.mass {
		s.rates[who] = []profile.RateWindow{{Until: until, RatePerS: o.RatePerS * mass / all}}
	}
	return nil
}

// extent is from the first window with a rate to the end of the last.
func (s *histograms) extent() (begin, end time.Duration) {
	begin = forever
	for _, windows := range s.rates {
		for _, w := range windows {
			begin, end = min(begin, w.From), max(end, w.Until)
		}
	}
	return begin, end
}

// span is the extent of the rates, for the bounds of a window.
func (s *histograms) span(name string) span {
	begin, end := s.extent()
	made := span{source: name, length: end - begin}
	if s.begin != nil {
		at := s.begin.Add(begin)
		made.begin = &at
	}
	return made
}

// streams combines rates with lengths. A sender without lengths of its own uses those of its class; if the class has none, everybody's.
// Each of several is used in proportion to its share of the requests.
func (s *histograms) streams() (streams []profile.Stream) {
	for _, who := range sendersOf(s.rates) {
		from := []sender{who}
		if s.lengths[who] == nil {
			from = s.standIns(who)
		}
		all := 0.0
		for _, other := range from {
			all += s.mass[other]
		}
		for _, other := range from {
			stream := profile.Stream{Class: who.class, Client: who.client, Lengths: s.lengths[other]}
			if who.class == "" {
				stream.Class = other.class
			}
			if who.client == "" {
				stream.Client = other.client
			}
			for _, w := range s.rates[who] {
				w.RatePerS *= s.mass[other] / all
				stream.Rates = append(stream.Rates, w)
			}
			streams = append(streams, stream)
		}
	}
	return streams
}

// standIns are the senders whose lengths a sender without lengths uses.
func (s *histograms) standIns(who sender) []sender {
	var ofClass []sender
	for _, other := range sendersOf(s.lengths) {
		if other.class == who.class {
			ofClass = append(ofClass, other)
		}
	}
	if ofClass != nil {
		return ofClass
	}
	return sendersOf(s.lengths)
}

// sendersOf are in a fixed order: a map's order would change the drawn requests from call to call.
func sendersOf[T any](of map[sender]T) []sender {
	return slices.SortedFunc(maps.Keys(of), func(a, b sender) int {
		return slices.Compare([]string{a.class, a.client}, []string{b.class, b.client})
	})
}
