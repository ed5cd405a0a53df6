package forecast

import (
	"math"
	"slices"
)

// mostNeeds is how many further replicas are listed.
const mostNeeds = 12

// Need says when a number of replicas is needed first.
type Need struct {
	Replicas int    `json:"replicas"`
	Week     string `json:"week"`     // by the centre; empty: not within the weeks ahead
	Earliest string `json:"earliest"` // by the upper edge of the band
}

// needs finds the first week of each number of replicas beyond what is paid for.
func (f *Forecast) needs(asked Asked) {
	if asked.Replicas == nil {
		return
	}
	f.HoldsWeeks = len(f.Ahead)
	for replicas := asked.Paid + 1; replicas <= asked.Paid+mostNeeds; replicas++ {
		need := Need{Replicas: replicas}
		for i, week := range f.Ahead {
			if need.Earliest == "" && asked.Replicas(week.High) >= replicas {
				need.Earliest = week.Week
				f.HoldsWeeks = min(f.HoldsWeeks, i)
			}
			if need.Week == "" && asked.Replicas(week.Value) >= replicas {
				need.Week = week.Week
			}
		}
		if need.Earliest == "" {
			break
		}
		f.Needs = append(f.Needs, need)
	}
	if len(f.Needs) > 0 {
		f.NextReplica, f.EarliestReplica = f.Needs[0].Week, f.Needs[0].Earliest
	}
}

// monthAgo makes the forecast of the last week as it was made four weeks before.
func monthAgo(h history) *Check {
	last := len(h.weeks) - 1
	target := h.weeks[last].at
	if target != h.now {
		return nil // the last week given does not count
	}
	known := 0
	for known < last && h.weeks[known].at <= target-4 {
		known++
	}
	if known < leastWeeks || h.weeks[known-1].at != target-4 {
		return nil
	}
	then := choose(newSeries(h.until(known), peakOf, slices.Max[[]float64]))
	now := newSeries(h, peakOf, slices.Max[[]float64])
	hours := make([][]int, 4)
	for i := range hours {
		hours[i] = now.hours[last]
	}
	forecast := then.ahead(hours)[3]
	return &Check{
		MadeAfter: h.name(target - 4), Forecast: math.Exp(forecast.centre), Low: math.Exp(forecast.low), High: math.Exp(forecast.high),
		Came: math.Exp(now.came(last)),
	}
}
