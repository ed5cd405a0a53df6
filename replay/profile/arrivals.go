package profile

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"tidemark/internal/splitmix"
)

// arrivalTimes says when sessions start. It draws gaps of mean 1 and stretches
// them by the rate that holds at the time: with Poisson gaps this is the exact
// inhomogeneous Poisson process, by the time change of its integrated rate
// (Cinlar 1975). The other processes keep their unevenness at every rate.
type arrivalTimes struct {
	gap   func() float64 // of mean 1
	rates []rateStep     // of a day, or a single one without an end
	now   float64        // seconds since the start
	day   float64        // when the current day started, seconds
	at    int            // the current rateStep
}

// rateStep is a time of one rate, in seconds since the first one starts.
type rateStep struct{ from, until, perS float64 }

// begin is the time of day at which the plan starts.
func (a *Arrivals) begin() time.Duration {
	if len(a.Windows) > 0 {
		return a.Windows[0].From
	}
	return 0
}

// arrivalTimes prepares the gaps. A rate in sessions per second replaces the
// profile's mean, unless it is 0. Poisson gaps are exponential. Gamma gaps have
// shape `burstiness`, and so a coefficient of variation of 1/sqrt(burstiness),
// as in vllm bench. A trace's gaps are its own, divided by their mean.
func (a *Arrivals) arrivalTimes(seed uint64, rate float64, lengths func(string) (*Lengths, error)) (*arrivalTimes, error) {
	rnd := rand.New(rand.NewPCG(seed, splitmix.Hash("arrivals")))
	r := &arrivalTimes{}
	own := a.RatePerS
	switch a.Process {
	case "at_once":
		if rate > 0 {
			return nil, fmt.Errorf("arrivals at once have no rate to change")
		}
		r.gap, own = func() float64 { return 0 }, 1
	case "constant":
		r.gap = firstAtZero(func() float64 { return 1 })
	case "poisson":
		r.gap = rnd.ExpFloat64
	case "gamma":
		r.gap = func() float64 { return gammaQuantile(a.Burstiness, rnd.Float64()) / a.Burstiness }
	case "trace":
		gaps, mean, err := a.gaps(lengths)
		if err != nil {
			return nil, err
		}
		r.gap = firstAtZero(gaps)
		own = cmp.Or(own, 1/mean)
	}
	if len(a.Windows) == 0 {
		if rate > 0 {
			own = rate
		}
		r.rates = []rateStep{{0, math.Inf(1), own}}
		return r, nil
	}
	scale := 1.0
	if mean := a.windowRate(); rate > 0 {
		scale = rate / mean
	}
	for _, w := range a.Windows {
		r.rates = append(r.rates, rateStep{(w.From - a.begin()).Seconds(), (w.Until - a.begin()).Seconds(), w.RatePerS * scale})
	}
	return r, nil
}

// firstAtZero makes the first session start at once. Random gaps do not need
// it: their first gap is as random as the others.
func firstAtZero(gap func() float64) func() float64 {
	begun := false
	return func() float64 {
		if !begun {
			begun = true
			return 0
		}
		return gap()
	}
}

// gaps plays the source's gaps in their order and starts again after the last.
func (a *Arrivals) gaps(lengths func(string) (*Lengths, error)) (next func() float64, mean float64, err error) {
	l, err := lengths(a.Source)
	if err != nil {
		return nil, 0, err
	}
	for _, gap := range l.GapsS {
		mean += gap / float64(len(l.GapsS))
	}
	if !(mean > 0) {
		return nil, 0, fmt.Errorf("source %s: it has no gaps between arrivals", a.Source)
	}
	i := -1
	return func() float64 {
		i = (i + 1) % len(l.GapsS)
		return l.GapsS[i] / mean
	}, mean, nil
}

// windowRate is the mean rate over the windows' own time, sessions per second.
func (a *Arrivals) windowRate() float64 {
	sessions, seconds := 0.0, 0.0
	for _, w := range a.Windows {
		length := (w.Until - w.From).Seconds()
		sessions += length * w.RatePerS
		seconds += length
	}
	return sessions / seconds
}

// lastDue is where every plan ends, some thirty years on: due times cannot be
// longer.
const lastDue = 999_999_999 * time.Second

// next is when the next session starts, or lastDue. A gap that crosses into a
// time of another rate continues there at that rate.
func (r *arrivalTimes) next() time.Duration {
	left := r.gap()
	for r.now < lastDue.Seconds() {
		s := r.rates[r.at]
		r.now = max(r.now, r.day+s.from)
		if end := r.day + s.until; r.now+left/s.perS >= end {
			left -= (end - r.now) * s.perS
			r.now = end
			if r.at++; r.at == len(r.rates) {
				r.at, r.day = 0, r.day+day.Seconds()
			}
			continue
		}
		r.now = min(r.now+left/s.perS, lastDue.Seconds())
		return time.Duration(math.Round(r.now * 1e9))
	}
	return lastDue
}

// meanRate is sessions per second. It has no meaning when all start at once.
func (r *arrivalTimes) meanRate() float64 {
	if r.rates[0].until == math.Inf(1) {
		return r.rates[0].perS
	}
	sessions, seconds := 0.0, 0.0
	for _, s := range r.rates {
		sessions += (s.until - s.from) * s.perS
		seconds += s.until - s.from
	}
	return sessions / seconds
}
