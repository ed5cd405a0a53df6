// Durations in a fixed space, as HdrHistogram keeps them: steps grow with the value, so that the relative error is bounded.
// Adding is two atomic operations, cheap enough for each request and each heartbeat.

package host

import (
	"math/bits"
	"sync/atomic"
	"time"

	"tidemark/internal/stat"
)

// Quantiles of seconds, by linear interpolation.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// QuantilesOf are those of sorted numbers; of none they are 0.
func QuantilesOf(sorted []float64) Quantiles {
	if len(sorted) == 0 {
		return Quantiles{}
	}
	return Quantiles{stat.Quantile(sorted, 0.5), stat.Quantile(sorted, 0.99), stat.Quantile(sorted, 1)}
}

// Histogram holds durations in a constant space: 16 steps an octave, so that a quantile is within 3 %, from a
// microsecond on. It may be added to by many goroutines.
type Histogram struct {
	counts [steps]atomic.Int64
	most   atomic.Int64
}

const (
	unit  = 1 << 10 // ns of the first steps
	steps = 16 * 26 // up to 2^25 units of about a microsecond a sixteenth: nine minutes
)

// Add takes a duration; a negative one counts as none.
func (h *Histogram) Add(d time.Duration) {
	d = max(d, 0)
	h.counts[stepOf(d)].Add(1)
	raise(&h.most, int64(d))
}

// stepOf is the duration itself below 16 units; from there on the four bits behind its highest one.
func stepOf(d time.Duration) int {
	units := uint64(d) / unit
	if units < 16 {
		return int(units)
	}
	octave := bits.Len64(units) - 5 // how far it is shifted to leave five bits
	return min(16*octave+int(units>>octave), steps-1)
}

// middleOf is the middle of a step.
func middleOf(step int) time.Duration {
	if step < 16 {
		return unit * time.Duration(2*step+1) / 2
	}
	octave := step/16 - 1
	low := uint64(16+step%16) << octave
	return time.Duration(unit * (low + 1<<octave/2))
}

// snapshot are the steps as they stand, and their sum.
func (h *Histogram) snapshot() (counts [steps]int64, all int64) {
	for i := range h.counts {
		counts[i] = h.counts[i].Load()
		all += counts[i]
	}
	return counts, all
}

// quantile of counts; never above most.
func quantileOf(counts *[steps]int64, all int64, q float64, most time.Duration) time.Duration {
	below := int64(0)
	for step, n := range counts {
		if below += n; n > 0 && float64(below) >= q*float64(all) {
			return min(middleOf(step), most)
		}
	}
	return 0
}

// Quantiles is nil when nothing was added.
func (h *Histogram) Quantiles() *Quantiles {
	most := time.Duration(h.most.Load())
	if most == 0 && h.count() == 0 {
		return nil
	}
	return &Quantiles{h.Quantile(0.5).Seconds(), h.Quantile(0.99).Seconds(), most.Seconds()}
}

// Quantile is 0 when nothing was added.
func (h *Histogram) Quantile(q float64) time.Duration {
	counts, all := h.snapshot()
	return quantileOf(&counts, all, q, time.Duration(h.most.Load()))
}

func (h *Histogram) count() int64 {
	_, all := h.snapshot()
	return all
}

// fewestLags is from how many on a p99 is judged: fewer say nothing of one in a hundred.
const fewestLags = 100

// Judged is the p99 that a run is judged by; 0 where there is too little to judge.
func (h *Histogram) Judged() time.Duration {
	if h.count() < fewestLags {
		return 0
	}
	return h.Quantile(0.99)
}
