package metrics

import (
	"bytes"
	"hash/maphash"

	"tidemark/ingest/read"
)

// Prometheus reads Prometheus text and OpenMetrics, as a server's /metrics answers:
// vLLM, SGLang, TGI, DCGM and every other exporter. A file may hold several
// scrapes, one after the other, with nothing between them: a new scrape begins at #
// EOF, or where a family or a series comes again.
var Prometheus = read.Format{
	Name:  "prometheus",
	Sees:  seesExposition,
	Read:  readExposition,
	Wants: "lines such as vllm:num_requests_running{engine=\"0\"} 3.0",
}

// PrometheusDump reads what "promtool tsdb dump" writes: series after series, each
// with all its samples and their milliseconds.
var PrometheusDump = read.Format{
	Name:  "prometheus-dump",
	Sees:  seesDump,
	Read:  readDump,
	Wants: "lines such as {__name__=\"vllm:num_requests_running\"} 3 1700000000000, as promtool tsdb dump writes them",
}

// seesExposition asks for a # HELP or # TYPE at the start, or for three samples of
// which one has labels: "name 1" alone could be any text.
func seesExposition(h *read.Head) string {
	if bytes.HasPrefix(h.Line, []byte("# HELP ")) || bytes.HasPrefix(h.Line, []byte("# TYPE ")) {
		return "Prometheus text: # HELP and # TYPE"
	}
	const enough = 3
	book := read.NewLabels()
	samples, labelled := 0, false
	for line := range bytes.Lines(h.Data[:min(len(h.Data), 64<<10)]) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			labelled = labelled || bytes.HasPrefix(line, []byte("# TYPE "))
			continue
		}
		s, reason := book.Sample(line)
		if reason != "" || bytes.HasPrefix(line, []byte("{__name__=")) {
			return ""
		}
		labelled = labelled || s.Labels != ""
		if samples++; samples == enough {
			break
		}
	}
	if samples == 0 || !labelled {
		return ""
	}
	return "Prometheus text: series with labels"
}

// seesDump asks for the name inside the braces, which only a dump writes first.
func seesDump(h *read.Head) string {
	return read.If(bytes.HasPrefix(h.Line, []byte(`{__name__="`)) || bytes.HasPrefix(h.Line, []byte("{__name__='")), "series, value and milliseconds, as promtool dumps them")
}

// exposition takes the lines of one scrape after another. Series are remembered by
// a hash: a file with a million of them would not fit otherwise, and two of two
// million series collide once in 10^7 scrapes, and a scrape would then begin too
// early.
type exposition struct {
	out     *read.Rows
	book    *read.Labels
	at      *instants
	stamp   *int64 // of the scrape, where its wrapping says it
	scrape  int32
	samples int // of this scrape
	seed    maphash.Seed
	seen    map[uint64]bool // families and series of this scrape
}

// newExposition starts a file.
func newExposition(out *read.Rows) *exposition {
	return &exposition{out: out, book: read.NewLabels(), at: &instants{out: out}, seed: maphash.MakeSeed(), seen: map[uint64]bool{}}
}

// next begins a scrape, unless the last one had no sample.
func (e *exposition) next() {
	if e.samples > 0 {
		e.scrape++
		e.samples = 0
	}
	clear(e.seen)
}

// maxSeries of one scrape are remembered, to see where the next one begins.
const maxSeries = 2_000_000

// again says whether this was already seen in the scrape, and remembers it.
func (e *exposition) again(parts ...string) bool {
	var hash maphash.Hash
	hash.SetSeed(e.seed)
	for _, part := range parts {
		_, _ = hash.WriteString(part)
		_ = hash.WriteByte(0)
	}
	sum := hash.Sum64()
	if e.seen[sum] {
		return true
	}
	if len(e.seen) < maxSeries {
		e.seen[sum] = true
	}
	return false
}

// line takes a sample or a comment. A sample with a stamp of its own needs no
// scrape to be ordered by.
func (e *exposition) line(line []byte) (*read.Reject, error) {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return nil, nil
	case line[0] == '#':
		e.comment(line)
		return nil, nil
	}
	s, reason := e.book.Sample(line)
	if reason != "" {
		return &read.Reject{Reason: reason}, nil
	}
	at := e.stamp
	if s.Stamp != nil {
		ns, unit, reason := unixTime(s.Stamp)
		if reason != "" {
			return &read.Reject{Column: "timestamp", Reason: reason}, nil
		}
		at = e.at.since(ns, unit)
	} else if e.again(s.Name, s.Labels) {
		e.next()
		e.again(s.Name, s.Labels)
	}
	e.samples++
	return nil, e.out.Add(Sample{Scrape: e.scrape, AtNs: at, Name: s.Name, Labels: s.Labels, Value: s.Value})
}

// comment sees where a scrape ends: at # EOF, or where a family is described for
// the second time.
func (e *exposition) comment(line []byte) {
	if bytes.Equal(line, []byte("# EOF")) {
		e.next()
		return
	}
	what, rest := read.FirstWord(line[1:])
	name, _ := read.FirstWord(rest)
	if kind := string(what); kind != "HELP" && kind != "TYPE" {
		return
	}
	if e.again("#", string(what), string(name)) {
		e.next()
		e.again("#", string(what), string(name))
	}
}

// readExposition reads line by line.
func readExposition(d *read.Document, out *read.Rows) error {
	e := newExposition(out)
	return d.Lines(out, func(_ int64, line []byte) (*read.Reject, error) { return e.line(line) })
}

// readDump reads series after series: a sample's place in its series is its scrape.
func readDump(d *read.Document, out *read.Rows) error {
	book, at := read.NewLabels(), &instants{out: out}
	var last read.PromSample
	var scrape int32
	return d.Lines(out, func(_ int64, line []byte) (*read.Reject, error) {
		s, reason := book.Sample(bytes.TrimSpace(line))
		if reason != "" {
			return &read.Reject{Reason: reason}, nil
		}
		if s.Stamp == nil {
			return &read.Reject{Column: "timestamp", Reason: read.Missing}, nil
		}
		ns, unit, reason := unixTime(s.Stamp)
		if reason != "" {
			return &read.Reject{Column: "timestamp", Reason: reason}, nil
		}
		if scrape++; s.Name != last.Name || s.Labels != last.Labels {
			scrape = 0
		}
		last = s
		return nil, out.Add(Sample{Scrape: scrape, AtNs: at.since(ns, unit), Name: s.Name, Labels: s.Labels, Value: s.Value})
	})
}
