package kit

// The flags that choose what is sent: a part of the trace's clock, a speed, a share of
// the sessions, a rate, a limit. plan, replay, rehearse, capacity and what-if share them, so that a plan
// that was looked at is the plan that is sent. replay/plan applies the choices.

import (
	"math"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/internal/hint"
	"tidemark/replay/plan"
)

// Choices choose what is sent of a source. A factor, rate or bound of zero was not given: zero itself is refused.
type Choices struct {
	plan.Choices                  // as said: Made settles them
	From, Until, Class, LengthsOf string
	IsSpread                      bool // each tick's requests over the tick
	RequestRate, SessionRate      float64
}

// Flags are those that plan and replay share, because a replay is a plan that is sent.
func (o *Choices) Flags() []cli.Flag {
	isPositive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	return []cli.Flag{
		&cli.StringFlag{Name: "from", Usage: "start at a `TIME` of the trace's clock: 09:00, 2023-11-16T18:20:00Z or an offset +10m", Destination: &o.From},
		&cli.StringFlag{Name: "until", Usage: "end before a `TIME`, written like --from", Destination: &o.Until},
		&cli.DurationFlag{Name: "duration", Usage: "send for `10m` at most, as played; of sessions: start them for so long", Destination: &o.Duration,
			Action: Fits("duration", "above 0", func(v time.Duration) bool { return v > 0 })},
		&cli.BoolFlag{Name: "spread-ticks", Usage: "of a trace whose clock counts in ticks, spread the requests of each tick over it, in their order", Destination: &o.IsSpread},
		&cli.Float64Flag{Name: "speed", Usage: "play `2` times as fast: gaps and think times shrink", Destination: &o.Speed, Action: Fits("speed", "above 0", isPositive)},
		&cli.Float64Flag{Name: "thin", Usage: "keep the clock and a `0.5` share of the sessions", Destination: &o.Thin,
			Action: Fits("thin", "above 0 and at most 1", func(v float64) bool { return v > 0 && v <= 1 })},
		&cli.Float64Flag{Name: "thicken", Usage: "keep the clock and clone sessions to `2` times as many", Destination: &o.Thicken,
			Action: Fits("thicken", "between 1 and 1000", func(v float64) bool { return v >= 1 && v <= 1000 })},
		&cli.Float64Flag{Name: "request-rate", Usage: "thin or thicken to a mean of `3.5` requests/s", Destination: &o.RequestRate, Action: Fits("request-rate", "above 0", isPositive)},
		&cli.Float64Flag{Name: "session-rate", Usage: "start `0.1` sessions a second, of a collection whose sessions have no start of their own", Destination: &o.SessionRate, Action: Fits("session-rate", "above 0", isPositive)},
		&cli.Int64Flag{Name: "limit", Usage: "send the first `N` requests only", Destination: &o.Limit, Action: Fits("limit", "above 0", func(n int64) bool { return n > 0 })},
		&cli.StringFlag{Name: "lengths", Usage: "send each request with its `own` lengths or, as a control, all with the mean ones", Value: "own", Destination: &o.Lengths, Action: OneOf("lengths", "own", plan.LengthsMean)},
		&cli.StringFlag{Name: "lengths-of", Usage: "of a source that has rates and no lengths: take those of `SOURCE`", Destination: &o.LengthsOf},
		&cli.StringFlag{Name: "class", Usage: "of a profile, play only the class `NAME`, as alone", Destination: &o.Class},
		&cli.StringFlag{Name: "without-class", Usage: "leave out the requests of `CLASS`; the others stay where they are", Destination: &o.WithoutClass},
		&cli.IntFlag{Name: "max-model-len", Usage: "the server's limit in `TOKENS`; what is longer is counted and refused", Destination: &o.MaxModelLen, Action: Fits("max-model-len", "above 1", func(n int) bool { return n > 1 })},
		&cli.StringFlag{Name: "overlong", Usage: "`refuse`, drop or cap what is longer than --max-model-len", Value: "refuse", Destination: &o.Overlong, Action: OneOf("overlong", "refuse", "drop", "cap")},
		&cli.StringFlag{Name: "mode", Usage: "`open`, sessions or closed; open: each at its due time; sessions: a turn after the one before and its think time; closed: --max-concurrency in flight (default: as the plan was made, else open)", Destination: &o.Mode, Action: OneOf("mode", "open", "sessions", "closed")},
		SeedFlag(&o.Seed),
	}
}

// ofSources are the flags that choose from a source. A plan file has already chosen.
var ofSources = []string{"from", "until", "duration", "spread-ticks", "speed", "thin", "thicken", "lengths", "lengths-of", "request-rate", "session-rate", "class", "without-class", "limit", "max-model-len", "overlong", "seed"}

// GivenOf is the first flag that the user gave to choose from a source; empty: none.
func (o *Choices) GivenOf(c *Call, except ...string) string {
	return c.Given(slices.DeleteFunc(slices.Clone(ofSources), func(flag string) bool { return slices.Contains(except, flag) })...)
}

// Check refuses choices that contradict each other.
func (o *Choices) Check(c *Call) error {
	if c.IsGiven("overlong") && o.MaxModelLen == 0 {
		return hint.Misuse("%s: --overlong needs --max-model-len", c.Verb)
	}
	if other := c.Given("speed", "thin", "thicken"); o.RequestRate > 0 && other != "" {
		return hint.Misuse("--request-rate and --%s exclude each other", other).
			Hint("--request-rate thins or thickens by itself")
	}
	if o.RequestRate > 0 && o.WithoutClass != "" {
		return hint.Misuse("--request-rate and --without-class exclude each other: the other classes would come faster").
			Hint("thin or thicken by a factor, the same with the class and without it")
	}
	return c.Exclusive("thin", "thicken")
}

// SettleHistory has turns that repeat what was answered wait for that answer: --mode sessions is the only one in which they do.
func (o *Choices) SettleHistory(c *Call, history string) error {
	if history != "answered" {
		return nil
	}
	if o.Mode != "" && o.Mode != "sessions" {
		return hint.Misuse("%s: --history answered: with --mode %s no turn waits for the answer before it", c.Verb, o.Mode).
			Hint("take --mode sessions, or leave --mode out")
	}
	o.Mode = "sessions"
	return nil
}

// Made are the choices as a plan is made of them, but for the rate.
func (o *Choices) Made() plan.Choices {
	made := o.Choices
	if made.Mode != "sessions" {
		made.Mode = ""
	}
	if made.Lengths != plan.LengthsMean {
		made.Lengths = ""
	}
	return made
}
