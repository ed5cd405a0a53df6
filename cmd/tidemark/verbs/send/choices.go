package send

// The flags that choose what is sent: a part of the trace's clock, a speed, a share of
// the sessions, a rate, a limit. plan, replay and what-if share them, so that a plan
// that was looked at is the plan that is sent. replay/plan applies the choices;
// this file reads the flags and refuses what makes no sense.
//
// A flag that was not given must not be checked: 0 is its value then, and 0 is wrong for
// nearly all of them. c.IsSet tells the two apart.

import (
	"math"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/workload"
	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/replay/plan"
)

// ChoiceFlags choose what is sent of a source. plan and replay share them, because
// a replay is a plan that is sent.
func ChoiceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "from", Usage: "start at a `TIME` of the trace's clock: 09:00, 2023-11-16T18:20:00Z or an offset +10m"},
		&cli.StringFlag{Name: "until", Usage: "end before a `TIME`, written like --from"},
		&cli.DurationFlag{Name: "duration", Usage: "send for `10m` at most, as played; of sessions: start them for so long"},
		&cli.BoolFlag{Name: "spread-ticks", Usage: "of a trace whose clock counts in ticks, spread the requests of each tick over it, in their order"},
		&cli.Float64Flag{Name: "speed", Usage: "play `2` times as fast: gaps and think times shrink"},
		&cli.Float64Flag{Name: "thin", Usage: "keep the clock and a `0.5` share of the sessions"},
		&cli.Float64Flag{Name: "thicken", Usage: "keep the clock and clone sessions to `2` times as many"},
		&cli.Float64Flag{Name: "request-rate", Usage: "thin or thicken to a mean of `3.5` requests/s"},
		&cli.Float64Flag{Name: "session-rate", Usage: "start `0.1` sessions a second, of a collection whose sessions have no start of their own"},
		&cli.Int64Flag{Name: "limit", Usage: "send the first `N` requests only"},
		&cli.StringFlag{Name: "lengths", Usage: "send each request with its `own` lengths or, as a control, all with the mean ones", Value: "own"},
		&cli.StringFlag{Name: "lengths-of", Usage: "of a source that has rates and no lengths: take those of `SOURCE`"},
		&cli.StringFlag{Name: "class", Usage: "of a profile, play only the class `NAME`, as alone"},
		&cli.IntFlag{Name: "max-model-len", Usage: "the server's limit in `TOKENS`; what is longer is counted and refused"},
		&cli.StringFlag{Name: "overlong", Usage: "`refuse`, drop or cap what is longer than --max-model-len", Value: "refuse"},
		&cli.StringFlag{Name: "mode", Usage: "`open`, sessions or closed; open: each at its due time; sessions: a turn after the one before and its think time; closed: --max-concurrency in flight (default: as the plan was made, else open)"},
		kit.SeedFlag(new(uint64)),
	}
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

// checkChoices refuses values that make no sense. Flags that were not given are
// skipped, because zero is a value too.
func checkChoices(c *cli.Context) error {
	for _, flag := range []struct {
		name  string
		value float64
		fits  func(float64) bool
		wants string
	}{
		{"speed", c.Float64("speed"), func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }, "above 0"},
		{"thin", c.Float64("thin"), func(v float64) bool { return v > 0 && v <= 1 }, "above 0 and at most 1"},
		{"thicken", c.Float64("thicken"), func(v float64) bool { return v >= 1 && v <= 1000 }, "between 1 and 1000"},
		{"request-rate", c.Float64("request-rate"), func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }, "above 0"},
		{"session-rate", c.Float64("session-rate"), func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }, "above 0"},
		{"duration", c.Duration("duration").Seconds(), func(v float64) bool { return v > 0 }, "above 0"},
		{"limit", float64(c.Int64("limit")), func(v float64) bool { return v > 0 }, "above 0"},
		{"max-model-len", float64(c.Int("max-model-len")), func(v float64) bool { return v > 1 }, "above 1"},
	} {
		if c.IsSet(flag.name) && !flag.fits(flag.value) {
			return hint.Misuse("%s: --%s must be %s", c.Command.Name, flag.name, flag.wants)
		}
	}
	if overlong := c.String("overlong"); overlong != "refuse" && overlong != "drop" && overlong != "cap" {
		return hint.Misuse("%s: --overlong %s: must be refuse, drop or cap", c.Command.Name, overlong)
	}
	if lengths := c.String("lengths"); lengths != "own" && lengths != plan.LengthsMean && lengths != "" {
		return hint.Misuse("%s: --lengths %s: must be own or mean", c.Command.Name, lengths)
	}
	if c.IsSet("overlong") && !c.IsSet("max-model-len") {
		return hint.Misuse("%s: --overlong needs --max-model-len", c.Command.Name)
	}
	return nil
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

// choicesOf turns the flags into the choices of package replay.
func choicesOf(c *cli.Context, stats workload.SourceStats) (plan.Choices, error) {
	choices := plan.Choices{
		Speed: orOne(c, "speed"), Thin: orOne(c, "thin"), Thicken: orOne(c, "thicken"),
		Duration: c.Duration("duration"), Limit: c.Int64("limit"),
		MaxModelLen: c.Int("max-model-len"), Overlong: c.String("overlong"), Seed: c.Uint64("seed"),
	}
	if c.String("mode") == "sessions" {
		choices.Mode = "sessions"
	}
	if c.String("lengths") == plan.LengthsMean {
		choices.Lengths = plan.LengthsMean
	}
	if err := kit.Exclusive(c, "thin", "thicken"); err != nil {
		return choices, err
	}
	if !c.IsSet("request-rate") {
		return choices, nil
	}
	for _, other := range []string{"speed", "thin", "thicken"} {
		if c.IsSet(other) {
			return choices, hint.Misuse("--request-rate and --%s exclude each other", other).
				Hint("--request-rate thins or thickens by itself")
		}
	}
	if stats.SHA256 == "" {
		return choices, nil // a profile is drawn at the requested rate
	}
	return toRate(c, choices, stats)
}

// toRate turns a mean rate into thinning or thickening, and says which.
func toRate(c *cli.Context, choices plan.Choices, stats workload.SourceStats) (plan.Choices, error) {
	rate := c.Float64("request-rate")
	if stats.MeanRatePerS <= 0 {
		return choices, hint.Misuse("source has no mean rate: all its requests arrive at once")
	}
	if share := rate / stats.MeanRatePerS; share <= 1 {
		choices.Thin = share
		kit.Tell(c, "rate: %s/s of the trace's %s/s, by --thin %s", show.Figures(rate), show.Figures(stats.MeanRatePerS), show.Figures(share))
	} else {
		choices.Thicken = share
		kit.Tell(c, "rate: %s/s of the trace's %s/s, by --thicken %s", show.Figures(rate), show.Figures(stats.MeanRatePerS), show.Figures(share))
	}
	return choices, nil
}

// orOne is the factor of a flag; one changes nothing.
func orOne(c *cli.Context, flag string) float64 {
	if c.IsSet(flag) {
		return c.Float64(flag)
	}
	return 1
}
