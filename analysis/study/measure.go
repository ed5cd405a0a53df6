//go:build duckdb_arrow

package study

import (
	"context"
	"maps"
	"math"
	"slices"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/tune"
)

// Measure is what one repeat of a configuration says. Rates are requests per second of all replicas, times seconds. What is nil is not known.
type Measure struct {
	Low     float64  `json:"low_per_s"`  // the largest rate within the SLO is at least this
	High    *float64 `json:"high_per_s"` // and below this; nil: no limit was found
	Rate    *float64 `json:"rate_per_s"` // a rehearsal's, between them
	Binding string   `json:"binding_objective,omitempty"`
	Users   *float64 `json:"users"`
	USD     *float64 `json:"usd_per_million_accepted"`
	PerJ    *float64 `json:"token_per_joule"` // output tokens, measured at the largest rate within the SLO that was sent
	TTFT    *float64 `json:"p99_ttft_s"`      // p99 at the study's rate
	TPOT    *float64 `json:"p99_tpot_s"`
	ITL     *float64 `json:"p99_itl_s"`
	Origin  string   `json:"origin"` // rehearsed, simulated, measured or imported
	Why     string   `json:"why,omitempty"`
}

// IsAnswered says that the repeat bounds the largest rate. One whose server died or whose load was used up before a run counted does not:
// it is no measurement, and is in no interval.
func (m Measure) IsAnswered() bool { return m.Low > 0 || m.High != nil }

// OfRehearsal is what an answer of package capacity says, by rehearsal or on a server, and the twin at the study's rate.
func OfRehearsal(ctx context.Context, q capacity.Question, a capacity.Answer, at, usdPerHour float64) (Measure, error) {
	m := Measure{Origin: "rehearsed", Users: a.Users}
	if a.BindingObjective != nil {
		m.Binding = *a.BindingObjective
	}
	switch {
	case (a.Outcome == capacity.Found || a.Outcome == capacity.Undecided) && a.RatePerS != nil: // a search whose load is used up has a wider interval
		m.Rate, m.Low, m.High = a.RatePerS, *a.RatePerS, a.RateHighPerS
		if a.RateLowPerS != nil {
			m.Low = *a.RateLowPerS
		}
		m.USD = tune.AcceptedCost(a, tune.TokensPerRequest(q.Window), *a.RatePerS, usdPerHour)
	case a.Outcome == capacity.AboveMax && a.RateLowPerS != nil:
		m.Low = *a.RateLowPerS
	case a.Outcome == capacity.Undecided || a.Outcome == capacity.Invalid:
		m.Why, m.High = a.Why, a.RateHighPerS
		if a.RateLowPerS != nil {
			m.Low = *a.RateLowPerS
		}
	default:
		m.High, m.Why = new(float64(len(q.Window))/q.Length.Seconds()*leastScale), a.Why
	}
	if at == 0 {
		return m, nil
	}
	tails, err := capacity.TailsAt(ctx, q, at)
	m.TTFT, m.TPOT, m.ITL = known(tails.TTFT), known(tails.TPOT), known(tails.ITL)
	return m, err
}

// leastScale is the smallest multiple that a rehearsal asks about.
const leastScale = 0.05

// DoesNotFit is a configuration that cannot be rehearsed: it takes nothing.
func DoesNotFit(why string) Measure {
	return Measure{Origin: "rehearsed", Why: why, High: new(float64)}
}

func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// Level is a configuration at one rate, of one repeat.
type Level struct {
	RatePerS        float64
	Outcome         string             // of all objectives, as analysis has them
	Observed        map[string]float64 // by the objective's name, over its bound: the largest binds
	TTFT, TPOT, ITL *float64           // p99, seconds
	OutputTokens    float64            // mean of a request; 0: not known
	PerJ            *float64           // output tokens per joule; nil: nobody measured the power
}

// OfLevels is what one repeat over rates says. The largest rate within the SLO lies between the last level that meets it before one does
// not, and that one: a repeat knows no more of it. p99 are those of the level at the study's rate.
func OfLevels(levels []Level, slo analysis.SLO, at, usdPerHour float64, origin string) Measure {
	m := Measure{Origin: origin}
	levels = slices.Clone(levels)
	slices.SortStableFunc(levels, func(a, b Level) int { return int(math.Copysign(1, a.RatePerS-b.RatePerS)) })
	missed := 0.0
	for _, o := range slo.Objectives {
		if o.Percentile > 0 {
			missed += 1 - o.Percentile/100
		}
	}
	isOver := false
	var within map[string]float64 // observed at the last level that met the SLO
	for _, l := range levels {
		if math.Abs(l.RatePerS-at) < 0.005*at {
			m.TTFT, m.TPOT, m.ITL = l.TTFT, l.TPOT, l.ITL
		}
		switch {
		case isOver:
		case l.Outcome == analysis.NotMet:
			isOver, m.High, m.Binding = true, &l.RatePerS, first(within, l.Observed)
		case l.Outcome == analysis.Met:
			m.Low, m.USD, m.PerJ, m.Binding, within = l.RatePerS, nil, l.PerJ, first(nil, l.Observed), l.Observed
			if perS := l.RatePerS * l.OutputTokens * (1 - missed); perS > 0 && usdPerHour > 0 {
				usd := usdPerHour / (perS * 3600 / 1e6)
				m.USD = &usd
			}
		}
	}
	if !isOver && m.Low == 0 {
		m.Why = "no level of it could be judged"
	}
	return m
}

// first is the objective that ends at the smallest rate between a level within the SLO and one beyond, by a straight line between the
// logarithms. Where one of the levels is not known, it is the one that is furthest beyond its bound, or nearest to it.
func first(within, beyond map[string]float64) (name string) {
	least := math.Inf(1)
	for _, one := range slices.Sorted(maps.Keys(beyond)) {
		ends := -beyond[one]
		if before := within[one]; within != nil && before > 0 {
			if beyond[one] <= 1 {
				continue
			}
			ends = max(0, -math.Log(before)) / math.Log(beyond[one]/before)
		}
		if ends < least {
			least, name = ends, one
		}
	}
	return name
}
