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
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/workload"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/progress"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
	"tidemark/replay/profile"
)

// writePlan draws the plan of a source or a profile into a file. The warehouse is
// closed when it returns, so that nothing of it disturbs the replay. also, if
// given, is called while the warehouse is open.
func writePlan(c *cli.Context, what, path string, also func(context.Context, *warehouse.Warehouse) error) (header plan.Header, err error) {
	if err := checkChoices(c); err != nil {
		return header, err
	}
	shape, err := chosenProfile(c, what)
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
			header, err = planProfile(ctx, c, w, shape, path)
		} else {
			header, err = planSource(ctx, c, w, what, path)
		}
		return err
	}
	_, missing := os.Stat(c.String("warehouse"))
	switch {
	case shape == nil || !errors.Is(missing, fs.ErrNotExist):
		err = kit.WithWarehouse(c.Context, c, warehouse.ReadOnly, draw)
	case also != nil && (c.IsSet("gpu") || c.IsSet("environment")):
		err = kit.InCatalogue(c.Context, func(w *warehouse.Warehouse) error { return draw(c.Context, w) })
	default:
		err = draw(c.Context, nil) // a profile that stands on its own needs no warehouse
	}
	return header, err
}

// chosenProfile is the profile in a YAML file or the built-in one of that name,
// reduced to the chosen class; nil if it is neither.
func chosenProfile(c *cli.Context, what string) (shape *profile.Profile, err error) {
	if IsProfileFile(what) {
		shape, err = profile.Load(what)
	} else {
		shape, _ = profile.Builtin(what)
	}
	if err != nil || shape == nil {
		return nil, hint.AsMisuse(err)
	}
	return chosenClass(c, shape)
}

// chosenClass is the profile, or the one class of it that --class names.
func chosenClass(c *cli.Context, p *profile.Profile) (*profile.Profile, error) {
	if c.String("class") == "" {
		return p, nil
	}
	only, err := p.Only(c.String("class"))
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
func planSource(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, source, path string) (plan.Header, error) {
	if c.IsSet("class") {
		return plan.Header{}, hint.Misuse("%s: --class is for profiles; %s is a source", c.Command.Name, source)
	}
	if isShape, err := workload.IsHistogram(ctx, w.DB(), source); err != nil || isShape {
		if err != nil {
			return plan.Header{}, err
		}
		return planShape(ctx, c, w, source, path)
	}
	// The sessions that start decide how many requests come.
	if err := kit.Exclusive(c, "session-rate", "request-rate"); err != nil {
		return plan.Header{}, err
	}
	if c.IsSet("lengths-of") {
		return plan.Header{}, hint.Misuse("%s: --lengths-of is for sources of rates; %s has lengths of its own", c.Command.Name, source)
	}
	window := workload.Window{From: c.String("from"), Until: c.String("until")}
	starts := workload.Starts{RatePerS: c.Float64("session-rate"), Seed: c.Uint64("seed")}
	requests, stats, err := workload.Arrivals(ctx, w, source, window, starts)
	if err == nil && c.IsSet("request-rate") && c.IsSet("duration") {
		// The rate is relative to the part that is sent.
		requests, stats, err = workload.Arrivals(ctx, w, source, shortened(window, stats, c.Duration("duration")), starts)
	}
	if err != nil {
		return plan.Header{}, err
	}
	choices, err := choicesOf(c, stats)
	if err == nil && c.Bool("spread-ticks") {
		choices.SpreadTicks, err = analysis.Tick(ctx, w.DB(), source)
	}
	if err == nil {
		err = checkSize(c, stats, choices)
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
func checkSize(c *cli.Context, stats workload.SourceStats, choices plan.Choices) error {
	if choices.Limit > 0 {
		return nil
	}
	share := orOne(c, "thin")
	if choices.Thicken > 1 {
		share = choices.Thicken
	}
	if played := choices.Duration.Seconds() * orOne(c, "speed"); played > 0 && stats.DurationS > 0 {
		share *= min(1, played/stats.DurationS)
	}
	requests, blocks := share*float64(stats.Requests), share*float64(stats.BlockUses)
	if requests <= mostPlanned && blocks <= mostPlannedBlocks {
		return nil
	}
	size := fmt.Sprintf("about %s requests", progress.Count(requests))
	if stats.BlockUses > 0 {
		size += fmt.Sprintf(" with %s ids of prompt blocks", progress.Count(blocks))
	}
	return hint.Misuse("%s: the plan would have %s", c.Command.Name, size).Hint("give --limit or --duration, or a lower rate")
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
func planShape(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, source, path string) (plan.Header, error) {
	for _, flag := range []string{"session-rate", "spread-ticks"} {
		if c.IsSet(flag) {
			return plan.Header{}, hint.Misuse("%s: --%s is for traces; requests of %s are drawn from histograms", c.Command.Name, flag, source)
		}
	}
	window := workload.Window{From: c.String("from"), Until: c.String("until")}
	options := workload.SampleOptions{
		Seed: c.Uint64("seed"), RatePerS: c.Float64("request-rate"), LengthsOf: c.String("lengths-of"),
		// As played: at twice the speed, twice as much of it fits in.
		Duration: time.Duration(float64(c.Duration("duration")) * orOne(c, "speed")),
	}
	requests, drawn, err := workload.Sample(ctx, w.DB(), source, window, options)
	if err != nil {
		return plan.Header{}, err
	}
	for _, note := range drawn.Notes {
		kit.Tell(c, "%s: %s", source, note)
	}
	scaled := drawn.Stats
	if !drawn.HasRate {
		scaled = workload.SourceStats{} // it is drawn at the requested rate
		if !c.IsSet("duration") && !c.IsSet("limit") {
			return plan.Header{}, hint.Misuse("%s: %s has no end", c.Command.Name, source).Hint("give --duration or --limit")
		}
	}
	choices, err := choicesOf(c, scaled)
	if err != nil {
		return plan.Header{}, err
	}
	if err := checkSize(c, drawn.Stats, choices); err != nil {
		return plan.Header{}, err
	}
	kit.Tell(c, "%s: requests are drawn from its histograms, seed %d", source, choices.Seed)
	return plan.Write(path, planHeader(source, drawn.Stats), choices, untilDone(ctx, requests))
}

// planProfile plans a YAML profile. --request-rate counts requests and a profile counts
// sessions, so the rate is divided by the mean number of turns.
func planProfile(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, shape *profile.Profile, path string) (header plan.Header, err error) {
	for _, flag := range []string{"from", "until", "session-rate", "spread-ticks"} {
		if c.IsSet(flag) {
			return header, hint.Misuse("%s: --%s chooses from a trace; %s is a profile", c.Command.Name, flag, shape.Name)
		}
	}
	choices, err := choicesOfProfile(c, shape)
	if err != nil {
		return header, err
	}
	options := profile.Options{
		Seed: choices.Seed, Limit: choices.Limit,
		// As played: at twice the speed, twice as much of it fits in.
		Duration: time.Duration(float64(choices.Duration) * choices.Speed),
		Lengths:  lengthsIn(ctx, w),
	}
	if c.IsSet("request-rate") {
		sessions, requests, err := shape.MeanRate(options)
		if err != nil {
			return header, err
		}
		if requests == 0 {
			return header, hint.Misuse("%s: --request-rate: all of %s starts at once", c.Command.Name, shape.Name)
		}
		options.RatePerS = c.Float64("request-rate") * sessions / requests
		if requests != sessions {
			kit.Tell(c, "rate: %s requests/s, by %s sessions/s of %s turns; less while the first start and the last end",
				show.Figures(c.Float64("request-rate")), show.Figures(options.RatePerS), show.Figures(requests/sessions))
		} else {
			kit.Tell(c, "rate: drawn at %s/s", show.Figures(options.RatePerS))
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
func choicesOfProfile(c *cli.Context, shape *profile.Profile) (plan.Choices, error) {
	choices, err := choicesOf(c, workload.SourceStats{})
	choices.IsBounded = true // its due times are bounds already
	if choices.Mode == "" && !c.IsSet("mode") {
		choices.Mode = shape.Mode
	}
	return choices, err
}

// What a replay needs from the warehouse before it sends anything: the plan, the
// deployment with the catalogue's figures, and the step cost for the progress line.
//
// All of it is read while the warehouse is opened once. It is closed before the first
// request is due: an open warehouse would lock out others for the length of the replay,
// and DuckDB's threads would compete with the sender for the processor.

// prepared is everything that a replay needs from the warehouse, which is closed
// again before the first request is due.
type prepared struct {
	planPath          string
	environment       *deployment.Deployment
	environmentSource string
	named             deployment.Deployment // before defaults
	predictTPOT       func(inFlight int, contextTokens float64, of plan.Header) time.Duration
	drop              func() // removes a plan that was made for this replay only
}

// prepare draws the plan, resolves the environment and loads the prediction, all
// while the warehouse is opened once.
func prepare(c *cli.Context, what string) (p prepared, err error) {
	named, from, err := kit.NamedEnvironment(c)
	if err != nil {
		return p, err
	}
	if p.planPath, p.drop, err = PlanFor(c, what, func(ctx context.Context, w *warehouse.Warehouse) error {
		return p.lookUp(ctx, w, named, from)
	}); err != nil {
		return p, err
	}
	if named != nil && p.environment == nil { // a plan file needed no warehouse so far
		err = kit.Calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
			return p.lookUp(ctx, w, named, from)
		})
	}
	if err != nil {
		p.drop()
	}
	return p, err
}

// lookUp resolves the environment with the catalogue and loads its prediction.
func (p *prepared) lookUp(ctx context.Context, w *warehouse.Warehouse, named *deployment.Deployment, from string) error {
	if named == nil {
		return nil
	}
	cost, err := analysis.LoadStepCost(ctx, w.DB(), *named)
	if err != nil && !errors.Is(err, analysis.ErrDoesNotFit) {
		return err
	}
	p.environment, p.environmentSource, p.named = &cost.Deployment, from, *named
	if err != nil {
		return nil // a deployment that does not fit has no prediction; the run can still be measured
	}
	p.predictTPOT = func(inFlight int, contextTokens float64, h plan.Header) time.Duration {
		mean := func(tokens int64) float64 { return float64(tokens) / max(float64(h.Requests), 1) }
		return plan.FromSeconds(cost.TPOT(inFlight, contextTokens, mean(h.InputTokens), mean(h.SharedTokens), mean(h.OutputTokens)))
	}
	return nil
}

// catalogName is analysis.CatalogName in the built-in catalogue.
func catalogName(ctx context.Context, served, asked string) (name string) {
	_ = kit.InCatalogue(ctx, func(w *warehouse.Warehouse) (err error) { // an error counts as an unknown name
		name, err = analysis.CatalogName(ctx, w.DB(), served, asked)
		return err
	})
	return name
}

// ChoiceFlagNames are the flags that choose from a source. A plan file has already chosen.
var ChoiceFlagNames = []string{"from", "until", "duration", "spread-ticks", "speed", "thin", "thicken", "lengths", "request-rate", "session-rate", "class", "limit", "max-model-len", "overlong"}

// IsPlanFile looks at the name only, so that a plan that does not exist is reported
// as a missing file.
func IsPlanFile(what string) bool { return strings.HasSuffix(what, ".zst") }

// PlanFor is the plan file itself, or one drawn into a temporary folder. drop
// removes that folder; the run keeps a copy. also, if given, is called while the
// warehouse is open.
func PlanFor(c *cli.Context, what string, also func(context.Context, *warehouse.Warehouse) error) (path string, drop func(), err error) {
	if IsPlanFile(what) {
		for _, flag := range ChoiceFlagNames {
			if c.IsSet(flag) {
				return "", nil, hint.Misuse("%s: --%s chooses from a source; %s is a plan already", c.Command.Name, flag, what)
			}
		}
		return what, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "tidemark-plan-")
	if err != nil {
		return "", nil, err
	}
	drop = func() { os.RemoveAll(folder) }
	path = filepath.Join(folder, "plan.jsonl.zst")
	if _, err := writePlan(c, what, path, also); err != nil {
		drop()
		return "", nil, err
	}
	return path, drop, nil
}
