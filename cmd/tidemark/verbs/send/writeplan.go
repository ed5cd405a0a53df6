package send

// From a source or a profile to a plan file. There are three kinds of origin, and each
// has a function of its own:
//
//   - planSource: a trace with arrivals, which analysis/workload reads in order;
//   - planShape: a source that has histograms or counts per window only, from which
//     analysis/workload draws requests;
//   - planProfile: a YAML profile, from which replay/profile draws requests.
//
// All end in plan.Write (replay/plan), which applies the choices and writes the
// file. Requests are streamed: a plan of a day never lies in memory as a whole.
//
// The warehouse is open only while the plan is drawn. A replay starts afterwards, and
// by then other processes may use the warehouse again.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/workload"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/progress"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
	"tidemark/replay/profile"
)

// Planning are the flags of a verb that draws a plan.
type Planning struct {
	kit.Call
	kit.Choices
}

// aSecond refuses less than a second.
func aSecond(flag string) func(*cli.Context, time.Duration) error {
	return kit.Fits(flag, "at least 1s", func(d time.Duration) bool { return d >= time.Second })
}

// WindowFlag is the part of the traffic that a capacity is asked about.
func WindowFlag(length *time.Duration) cli.Flag {
	return &cli.DurationFlag{Name: "window", Usage: "ask about the busiest `10m` that resemble the whole; with --from or --until all of that part, unless it is given", Value: 10 * time.Minute, Destination: length, Action: aSecond("window")}
}

// WindowLength is how long the window of what is planned is; 0: all of it.
func (p *Planning) WindowLength(what string, isClosed bool, length time.Duration) (time.Duration, error) {
	isWhole := plan.IsFile(what) || isClosed
	if isWhole && p.IsGiven("window") {
		return 0, hint.Misuse("%s: --window chooses a part of a trace; %s is taken as it is", p.Verb, what).Hint("leave it out where a closed loop or a plan says what is sent")
	}
	if isPart := p.From != "" || p.Until != ""; isWhole || isPart && !p.IsGiven("window") {
		return 0, nil
	}
	return length, nil
}

// writePlan draws the plan of a source or a profile into a file. The warehouse is
// closed when it returns, so that nothing of it disturbs the replay. also, if
// given, is called while the warehouse is open.
func (p *Planning) writePlan(what, path string, also func(context.Context, *warehouse.Warehouse) error) (header plan.Header, err error) {
	if err := p.Check(&p.Call); err != nil {
		return header, err
	}
	shape, err := p.chosenProfile(what)
	if err != nil {
		return header, err
	}
	draw := func(ctx context.Context, w *warehouse.Warehouse) error {
		if also != nil {
			if err := also(ctx, w); err != nil {
				return err
			}
		}
		if shape != nil && !isSource(ctx, w, what) {
			header, err = p.planProfile(ctx, w, shape, path)
		} else {
			header, err = p.planSource(ctx, w, what, path)
		}
		return err
	}
	_, missing := os.Stat(p.Warehouse)
	switch {
	case shape == nil || !errors.Is(missing, fs.ErrNotExist):
		err = p.WithWarehouse(p.Context, warehouse.ReadOnly, draw)
	case also != nil:
		err = kit.InCatalogue(p.Context, func(w *warehouse.Warehouse) error { return draw(p.Context, w) })
	default:
		err = draw(p.Context, nil) // a profile that stands on its own needs no warehouse
	}
	return header, err
}

// chosenProfile is the profile in a YAML file or the built-in one of that name,
// reduced to the chosen class; nil if it is neither.
func (p *Planning) chosenProfile(what string) (shape *profile.Profile, err error) {
	if IsProfileFile(what) {
		shape, err = profile.Load(what)
	} else {
		shape, _ = profile.Builtin(what)
	}
	if err != nil || shape == nil {
		return nil, hint.AsMisuse(err)
	}
	return chosenClass(shape, p.Class)
}

// chosenClass is the profile, or the one class of it.
func chosenClass(p *profile.Profile, class string) (*profile.Profile, error) {
	if class == "" {
		return p, nil
	}
	only, err := p.Only(class)
	return only, hint.AsMisuse(err)
}

// isSource is workload.IsSource, and false without a warehouse. A source takes precedence over a built-in profile.
func isSource(ctx context.Context, w *warehouse.Warehouse, name string) bool {
	if w == nil {
		return false
	}
	is, err := workload.IsSource(ctx, w.DB(), name)
	return err == nil && is
}

// planSource plans a trace with arrivals of its own. A trace whose sessions have no start
// gets drawn ones at --session-rate.
func (p *Planning) planSource(ctx context.Context, w *warehouse.Warehouse, source, path string) (plan.Header, error) {
	if p.Class != "" {
		return plan.Header{}, hint.Misuse("%s: --class is for profiles; %s is a source", p.Verb, source)
	}
	if isShape, err := workload.IsHistogram(ctx, w.DB(), source); err != nil || isShape {
		if err != nil {
			return plan.Header{}, err
		}
		return p.planShape(ctx, w, source, path)
	}
	// The sessions that start decide how many requests come.
	if err := p.Exclusive("session-rate", "request-rate"); err != nil {
		return plan.Header{}, err
	}
	if p.LengthsOf != "" {
		return plan.Header{}, hint.Misuse("%s: --lengths-of is for sources of rates; %s has lengths of its own", p.Verb, source)
	}
	window := workload.Window{From: p.From, Until: p.Until}
	starts := workload.Starts{RatePerS: p.SessionRate, Seed: p.Seed}
	requests, stats, err := workload.Arrivals(ctx, w, source, window, starts)
	if err == nil && p.RequestRate > 0 && p.Duration > 0 {
		// The rate is relative to the part that is sent.
		requests, stats, err = workload.Arrivals(ctx, w, source, shortened(window, stats, p.Duration), starts)
	}
	if err != nil {
		return plan.Header{}, err
	}
	choices, err := p.choicesAt(stats)
	if err == nil && p.IsSpread {
		choices.SpreadTicks, err = analysis.Tick(ctx, w.DB(), source)
	}
	if err == nil {
		err = p.checkSize(stats, choices)
	}
	if err != nil {
		return plan.Header{}, err
	}
	return plan.Write(path, planHeader(source, stats), choices, untilDone(ctx, requests))
}

// mostPlanned bounds the requests of a plan, and the ids of its prompt blocks.
// Nobody sends more: a larger plan is a mistake and would fill the disk.
const (
	mostPlanned       = 50e6
	mostPlannedBlocks = 500e6
)

// checkSize refuses an implausibly large plan before it is written.
func (p *Planning) checkSize(stats workload.SourceStats, choices plan.Choices) error {
	requests, blocks := stats.Expected(choices)
	if choices.Limit > 0 || requests <= mostPlanned && blocks <= mostPlannedBlocks {
		return nil
	}
	size := fmt.Sprintf("about %s requests", progress.Count(requests))
	if stats.BlockUses > 0 {
		size += fmt.Sprintf(" with %s ids of prompt blocks", progress.Count(blocks))
	}
	return hint.Misuse("%s: the plan would have %s", p.Verb, size).Hint("give --limit or --duration, or a lower rate")
}

// untilDone ends the sequence with an error when the user stops the program.
func untilDone(ctx context.Context, requests iter.Seq2[plan.Request, error]) iter.Seq2[plan.Request, error] {
	return func(yield func(plan.Request, error) bool) {
		for req, err := range requests {
			if ctx.Err() != nil {
				yield(plan.Request{}, ctx.Err())
				return
			}
			if !yield(req, err) {
				return
			}
		}
	}
}

// planShape draws from histograms of lengths and from counts per window.
func (p *Planning) planShape(ctx context.Context, w *warehouse.Warehouse, source, path string) (plan.Header, error) {
	if flag := p.Given("session-rate", "spread-ticks"); flag != "" {
		return plan.Header{}, hint.Misuse("%s: --%s is for traces; requests of %s are drawn from histograms", p.Verb, flag, source)
	}
	window := workload.Window{From: p.From, Until: p.Until}
	options := workload.SampleOptions{
		Seed: p.Seed, RatePerS: p.RequestRate, LengthsOf: p.LengthsOf,
		// As played: at twice the speed, twice as much of it fits in.
		Duration: p.Made().Played(),
	}
	requests, drawn, err := workload.Sample(ctx, w.DB(), source, window, options)
	if err != nil {
		return plan.Header{}, err
	}
	for _, note := range drawn.Notes {
		p.Tell("%s: %s", source, note)
	}
	scaled := drawn.Stats
	if !drawn.HasRate {
		scaled = workload.SourceStats{} // it is drawn at the requested rate
		if p.Duration == 0 && p.Limit == 0 {
			return plan.Header{}, hint.Misuse("%s: %s has no end", p.Verb, source).Hint("give --duration or --limit")
		}
	}
	choices, err := p.choicesAt(scaled)
	if err != nil {
		return plan.Header{}, err
	}
	if err := p.checkSize(drawn.Stats, choices); err != nil {
		return plan.Header{}, err
	}
	p.Tell("%s: requests are drawn from its histograms, seed %d", source, choices.Seed)
	return plan.Write(path, planHeader(source, drawn.Stats), choices, untilDone(ctx, requests))
}

// planProfile plans a YAML profile. --request-rate counts requests and a profile counts
// sessions, so the rate is divided by the mean number of turns.
func (p *Planning) planProfile(ctx context.Context, w *warehouse.Warehouse, shape *profile.Profile, path string) (header plan.Header, err error) {
	if flag := p.Given("from", "until", "session-rate", "spread-ticks", "lengths-of"); flag != "" {
		return header, hint.Misuse("%s: --%s chooses from a trace; %s is a profile", p.Verb, flag, shape.Name)
	}
	choices, err := p.choicesOfProfile(shape)
	if err != nil {
		return header, err
	}
	options := profile.Options{
		Seed: choices.Seed, Limit: choices.Limit,
		// As played: at twice the speed, twice as much of it fits in.
		Duration: choices.Played(),
		Lengths:  lengthsIn(ctx, w),
	}
	if p.RequestRate > 0 {
		var turns float64
		if options, turns, err = shape.AtRate(options, p.RequestRate); err != nil {
			return header, err
		}
		switch turns {
		case 0:
			return header, hint.Misuse("%s: --request-rate: all of %s starts at once", p.Verb, shape.Name)
		case 1:
			p.Tell("rate: drawn at %s/s", show.Figures(options.RatePerS))
		default:
			p.Tell("rate: %s requests/s, by %s sessions/s of %s turns; less while the first start and the last end",
				show.Figures(p.RequestRate), show.Figures(options.RatePerS), show.Figures(turns))
		}
	}
	requests, err := shape.Requests(options)
	if err != nil {
		return header, err
	}
	return plan.Write(path, plan.Header{Source: shape.Name, SourceSHA256: shape.SHA256, MaxConcurrency: shape.MaxConcurrency}, choices, requests)
}

// choicesOfProfile leaves the rate to the profile, and uses the profile's mode
// unless another is requested.
func (p *Planning) choicesOfProfile(shape *profile.Profile) (plan.Choices, error) {
	choices, err := p.choicesAt(workload.SourceStats{})
	choices.IsBounded = true // its due times are bounds already
	if choices.Mode == "" && p.Mode == "" {
		choices.Mode = shape.Mode
	}
	return choices, err
}

// shortened ends a window after a duration, unless it ends earlier.
func shortened(window workload.Window, stats workload.SourceStats, duration time.Duration) workload.Window {
	end := duration.Seconds()
	if stats.FromS != nil {
		end += *stats.FromS
	}
	if stats.UntilS == nil || end < *stats.UntilS {
		window.Until = "+" + time.Duration(end*float64(time.Second)).String()
	}
	return window
}

// planHeader is what a plan file says about its origin.
func planHeader(source string, stats workload.SourceStats) plan.Header {
	return plan.Header{
		Source: source, SourceSHA256: stats.SHA256,
		Scaling: plan.Scaling{
			FromS: stats.FromS, UntilS: stats.UntilS,
			SessionRatePerS: stats.SessionRatePerS, DrawnSessions: stats.DrawnSessions,
		},
	}
}

// choicesAt are the choices, with a mean rate as thinning or thickening, which it says.
func (p *Planning) choicesAt(stats workload.SourceStats) (plan.Choices, error) {
	choices := p.Made()
	if p.RequestRate == 0 || stats.SHA256 == "" {
		return choices, nil // a profile is drawn at the requested rate
	}
	if stats.MeanRatePerS <= 0 {
		return choices, hint.Misuse("source has no mean rate: all its requests arrive at once")
	}
	by, share := "thin", stats.ShareAt(p.RequestRate)
	if share <= 1 {
		choices.Thin = share
	} else {
		by, choices.Thicken = "thicken", share
	}
	p.Tell("rate: %s/s of the trace's %s/s, by --%s %s", show.Figures(p.RequestRate), show.Figures(stats.MeanRatePerS), by, show.Figures(share))
	return choices, nil
}

// PlanFor is the plan file itself, or one drawn into a temporary folder. drop
// removes that folder; the run keeps a copy. also, if given, is called while the
// warehouse is open; a plan file alone needs none.
func (p *Planning) PlanFor(what string, also func(context.Context, *warehouse.Warehouse) error) (path string, drop func(), err error) {
	if plan.IsFile(what) {
		if flag := p.GivenOf(&p.Call); flag != "" {
			return "", nil, hint.Misuse("%s: --%s chooses from a source; %s is a plan already", p.Verb, flag, what)
		}
		if also != nil {
			err = p.Calculator(also)
		}
		return what, func() {}, err
	}
	folder, err := os.MkdirTemp("", "tidemark-plan-")
	if err != nil {
		return "", nil, err
	}
	drop = func() { os.RemoveAll(folder) }
	path = filepath.Join(folder, "plan.jsonl.zst")
	if _, err := p.writePlan(what, path, also); err != nil {
		drop()
		return "", nil, err
	}
	return path, drop, nil
}
