package capacity

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tidemark/analysis/metric"
	"tidemark/internal/stat"
	"tidemark/replay/plan"
)

// tally is what one objective reads off a run.
type tally struct {
	n, misses int
	tail      float64 // mean ln of upper quantiles, in ln s; NaN without values
	sum       float64 // of the values, seconds
}

// reading of a run: a tally for each objective, and medians of all requests.
type reading struct {
	tallies    []tally
	ttft, tpot float64 // medians, seconds; NaN without values
}

// read reads the objectives off a run that was cut at an instant (0: it was not). Of a request that had not ended then, only what is
// certain counts: that it had waited longer than its bound.
func (q *Question) read(requests []plan.Request, replies []Reply, cut time.Duration) reading {
	r := reading{tallies: make([]tally, len(q.Objectives)), ttft: math.NaN(), tpot: math.NaN()}
	cut = cmp.Or(cut, math.MaxInt64)
	for i, o := range q.Objectives {
		r.tallies[i] = o.tally(o.values(requests, replies, cut))
	}
	r.ttft = stat.Quantile(Objective{Metric: metric.TTFT, AtMost: math.Inf(1)}.values(requests, replies, cut), 0.5)
	r.tpot = stat.Quantile(Objective{Metric: metric.TPOT, AtMost: math.Inf(1)}.values(requests, replies, cut), 0.5)
	return r
}

// values are the objective's, in seconds and sorted. Those of failure_ratio are 1 for a failure and else 0.
func (o Objective) values(requests []plan.Request, replies []Reply, cut time.Duration) []float64 {
	var values []float64
	for i := range replies {
		r := &replies[i]
		if o.Class != "" && requests[i].Class != o.Class || !r.IsSent || r.Sent > cut {
			continue
		}
		if o.Metric == metric.FailureRatio {
			values = append(values, map[bool]float64{true: 1}[r.IsFailed])
			continue
		}
		if r.IsFailed {
			continue
		}
		if o.Metric == metric.ITL {
			for _, gap := range r.Gaps {
				values = append(values, gap.Seconds())
			}
			continue
		}
		if v, isKnown := o.value(requests[i], r, cut); isKnown {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return values
}

// Of are the values of one request that has ended, in seconds; of failure_ratio 1 for a failure and else 0.
func (o Objective) Of(planned plan.Request, r Reply) []float64 {
	return o.values([]plan.Request{planned}, []Reply{r}, math.MaxInt64)
}

// span says from when to when the latency of one request lasts, and how many tokens share it: 1, but for a latency per token. answered are
// the tokens of its answer. A search refuses a metric that is not here.
func (o Objective) span(planned plan.Request, r *Reply, answered int) (from, to time.Duration, tokens int, isLatency bool) {
	switch o.Metric {
	case metric.TTFT:
		return r.Sent, r.First, 1, true
	case metric.TTFTFromDue:
		return r.Due, r.First, 1, true
	case metric.E2E:
		return r.Sent, r.Last, 1, true
	case metric.E2EFromDue:
		return r.Due, r.Last, 1, true
	case metric.TPOT:
		return r.First, r.Last, answered - 1, true
	}
	return 0, 0, 0, false
}

// Unwaited is a remark on objectives that any load may be within, because none is worse for a request that waits for the server; else empty.
func Unwaited(objectives []Objective) string {
	counting := []string{metric.TTFT, metric.TTFTFromDue, metric.E2E, metric.E2EFromDue}
	if slices.ContainsFunc(objectives, func(o Objective) bool { return slices.Contains(counting, o.Metric) }) {
		return ""
	}
	return "no objective counts how long a request waits for the server, so that a queue without end is within them: add ttft_from_due or e2e_from_due"
}

// value of one request, and whether it is known at the cut.
func (o Objective) value(planned plan.Request, r *Reply, cut time.Duration) (float64, bool) {
	answered := r.Tokens
	if r.Last == 0 || r.Last > cut {
		answered = planned.OutputTokens
	}
	from, to, tokens, _ := o.span(planned, r, answered)
	if tokens < 1 || o.Metric == metric.TPOT && (r.First == 0 || r.First > cut) {
		return 0, false
	}
	if to > 0 && to <= cut {
		return (to - from).Seconds() / float64(tokens), true
	}
	if cut == math.MaxInt64 {
		return 0, false
	}
	v := (cut - from).Seconds() / float64(tokens)
	return v, v > o.AtMost
}

func (o Objective) tally(values []float64) tally {
	t := tally{n: len(values), tail: math.NaN()}
	for _, v := range values {
		t.sum += v
	}
	if t.n == 0 {
		return t
	}
	at, isExact := slices.BinarySearch(values, o.AtMost)
	for isExact && at < len(values) && values[at] == o.AtMost {
		at++
	}
	t.misses = t.n - at
	t.tail = o.tail(values, t.sum)
	return t
}

// tail is the mean ln of the quantiles that speed is fitted by: 90, 95 and 99 % for the usual objectives, around its own quantile for
// one in the middle, and the mean for a mean.
func (o Objective) tail(values []float64, sum float64) float64 {
	if o.Metric == metric.FailureRatio {
		return math.NaN()
	}
	if o.Quantile == 0 {
		return math.Log(max(sum/float64(len(values)), 1e-6))
	}
	at := [3]float64{0.90, 0.95, 0.99}
	if p := o.allowed(); p > 0.1 {
		at = [3]float64{max(1-1.5*p, 0), 1 - p, 1 - p/2}
	}
	total := 0.0
	for _, share := range at {
		total += math.Log(max(stat.Quantile(values, share), 1e-6))
	}
	return total / float64(len(at))
}

// excess is above 0 where the tally is beyond its objective: ln of the odds of a miss over the allowed odds, or of the mean over the
// bound. Half a miss more and less keeps it finite.
func (o Objective) excess(t pooled) float64 {
	if t.n == 0 {
		return math.Inf(-1)
	}
	if o.Quantile == 0 {
		return math.Log(t.sum / t.n / o.AtMost)
	}
	p := o.allowed()
	return math.Log((t.misses+0.5)/(t.n-t.misses+0.5)) - math.Log(p/(1-p))
}

// pooled are tallies of several plays.
type pooled struct{ n, misses, sum float64 }

// isHopeless says that so many misses are certain that the run tells nothing more.
func (q *Question) isHopeless(at time.Duration, requests []plan.Request, replies []Reply) bool {
	for _, o := range q.Objectives {
		if o.Metric == metric.FailureRatio || o.Metric == metric.ITL || o.Quantile == 0 {
			continue
		}
		n := len(requests)
		if o.Class != "" {
			n = 0
			for _, r := range requests {
				if r.Class == o.Class {
					n++
				}
			}
		}
		values := o.values(requests, replies, at)
		share := max(0.15, min(1.5*o.allowed(), (1+o.allowed())/2))
		if float64(o.tally(values).misses) > max(12, share*float64(n)) {
			return true
		}
	}
	return false
}
