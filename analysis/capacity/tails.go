package capacity

import (
	"context"
	"errors"
	"math"
	"slices"

	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/internal/stat"
)

// tailRequests are played for a tail: a hundred of them lie beyond a p99.
const tailRequests = 10_000

// Tails are the p99 of the twin at one rate, seconds; NaN: too few requests.
type Tails struct{ TTFT, TPOT, ITL float64 }

// TailsAt plays the twin at a rate, requests per second.
func TailsAt(ctx context.Context, q Question, ratePerS float64) (Tails, error) {
	q, err := q.settled()
	if err != nil {
		return Tails{}, err
	}
	if q.isClosed() {
		return Tails{}, errors.New("capacity: a closed loop has no rate")
	}
	q.Objectives = []Objective{{Metric: metric.ITL, AtMost: 1}} // so that tokens are kept
	t, plans, scale := newTwin(ctx, &q, Settings{}), newPlans(&q), ratePerS/q.meanRate()
	values := map[string][]float64{}
	for n, played := 0, 0; n < leastSeeds || played < tailRequests && n < mostSeeds; n++ {
		requests, err := plans.whole(scale, q.curveSeed(n))
		if err != nil {
			return Tails{}, err
		}
		replies, err := t.play(requests, scale, Shift{}, engine.Noise{StepSD: 0.05, Seed: q.curveSeed(n)})
		if err != nil {
			return Tails{}, err
		}
		played += len(requests)
		for _, name := range []string{metric.TTFT, metric.TPOT, metric.ITL} {
			values[name] = append(values[name], Objective{Metric: name, AtMost: math.Inf(1)}.values(requests, replies, math.MaxInt64)...)
		}
	}
	p99 := func(name string) float64 {
		slices.Sort(values[name])
		if len(values[name]) < 100 {
			return math.NaN()
		}
		return stat.Quantile(values[name], 0.99)
	}
	return Tails{p99(metric.TTFT), p99(metric.TPOT), p99(metric.ITL)}, nil
}
