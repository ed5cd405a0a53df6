//go:build duckdb_arrow

package analysis

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis/metric"
	"tidemark/internal/hint"
	"tidemark/replay/plan"
)

// HeadOfLine is what one class does to all others: their p99 of the time to the first token from due, with that class in the traffic and without it. The
// others are the same requests at the same instants both times.
type HeadOfLine struct {
	Class   string
	Others  int   // requests of other classes
	With    Range // their p99 TTFT from due, seconds, in the 90 % band of the steps' times
	Without Range
	Factor  Range // With over Without
}

// fewestOfP99 is how many requests a p99 wants.
const fewestOfP99 = 100

// HeadOfLine rehearses the requests on the scenario's servers with and without a class.
func (s Scenario) HeadOfLine(ctx context.Context, answers *Answers, o *Outlook, requests []plan.Request, choice MixChoice, class string) (h HeadOfLine, err error) {
	settings, cost, err := s.rehearsed(ctx, answers.DB, choice)
	if err != nil {
		return h, err
	}
	if settings.MaxConcurrency > 0 {
		return h, hint.Misuse("what-if: --without-class %s: a closed loop sends a request when one ends, so that without a class the others come faster", class).
			Hint("give a rate with --request-rate")
	}
	all, err := s.traffic(requests, choice)
	if err != nil {
		return h, err
	}
	others := slices.DeleteFunc(slices.Clone(all), func(r plan.Request) bool { return r.Class == class })
	h = HeadOfLine{Class: class, Others: len(others)}
	switch {
	case len(others) == len(all):
		return h, hint.Misuse("what-if: --without-class %s: no request is of that class", class).Hint("known are %s", knownClasses(all))
	case len(others) < fewestOfP99:
		return h, hint.Misuse("what-if: --without-class %s: %d other requests are too few for a p99, which wants %d", class, len(others), fewestOfP99)
	}
	p99 := func(sent []plan.Request) (at Range, err error) {
		for _, end := range []struct {
			slower float64
			to     *float64
		}{{o.TPOT.Low / o.TPOT.Value, &at.Low}, {1, &at.Value}, {o.TPOT.High / o.TPOT.Value, &at.High}} {
			settings.Engine.StepTime = cost.StepTime(end.slower)
			played, err := play(ctx, settings, sent)
			if err != nil {
				return at, fmt.Errorf("what-if: %w", err)
			}
			*end.to = figureOf(slices.DeleteFunc(played, func(a answered) bool { return a.class == class }), metric.TTFTFromDue, "", 0.99)
		}
		return at, nil
	}
	if h.With, err = p99(all); err != nil {
		return h, err
	}
	if h.Without, err = p99(others); err != nil {
		return h, err
	}
	low, high := h.With.Low/h.Without.Low, h.With.High/h.Without.High
	h.Factor = Range{Low: math.Min(low, high), Value: h.With.Value / h.Without.Value, High: math.Max(low, high)}
	return h, nil
}

// knownClasses names the classes of requests, for a hint.
func knownClasses(requests []plan.Request) (text string) {
	var names []string
	for _, r := range requests {
		if r.Class != "" && !slices.Contains(names, r.Class) {
			names = append(names, r.Class)
		}
	}
	if len(names) == 0 {
		return "none: these requests have no classes"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
