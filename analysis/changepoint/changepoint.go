// Package changepoint finds the day on which a quantity that is known by the hour changed, and says with which confidence.
//
// Hours are compared with the same hour of the week in the other weeks, and days are the unit, because the hours of a day are alike and days are not:
//
//		y(d) = level of its day of the week + size * [d >= day] + noise(d)
//
//	  - Whether: the largest F of that model over all days against no change (Quandt 1960; Andrews 1993, "Tests for parameter instability and structural change
//	    with unknown change point", Econometrica 61). Under no change it does not depend on the noise's size, so that its p-value is the share of series of
//	    noise on the same days that reach it (Dufour 2006, "Monte Carlo tests with nuisance parameters", J. Econometrics 133).
//	  - When: the posterior of the day under flat priors, proportional to Sxx^(-1/2) * SSE^(-df/2) (Smith 1975, "A Bayesian approach to inference about a
//	    change-point in a sequence of random variables", Biometrika 62). Its mode is the day; the likeliest days that have 90 % of it give the interval.
//	  - A slope instead of a step fits better where something changes bit by bit: then there is no date.
//
// It supposes that the noise of one day says nothing of the next, and that it is normal. It looks for one change; of two it finds the larger.
package changepoint

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"tidemark/analysis/regression"
	"tidemark/internal/stat"
)

// Hour is what was measured in an hour. Its instant is in the zone whose days count.
type Hour struct {
	At    time.Time
	Value float64 // ln of a ratio scale, so that a change is a factor
}

// Change is the likeliest change of a series.
type Change struct {
	Day, From, Until time.Time // first day of the new level, and the days that have 90 % of the posterior
	Size, Low, High  float64   // of Value, with its 90 % interval given the day
	P                float64   // of a change as large by chance
	IsGradual        bool      // a slope fits better; Size is then of the whole time, from the first day to the last
	Visible          float64   // size that is seen nine times of ten at the chosen level, on the day on which a change is seen best
}

// A day counts with so many hours that another week has too, and a change has so many days on each side.
const (
	LeastHours = 6
	leastDays  = 2
	draws      = 2999
	nineOfTen  = 1.2816 // standard errors
	odds       = 10     // for a slope: over two weeks the days of the week leave no difference between it and a step
)

// Find looks for a change at a level of significance. isWeekly says that days of the week differ. ok is false below ten days, and of what is weekly below
// twelve: weekdays cannot be told from a change then.
func Find(hours []Hour, level float64, isWeekly bool) (c Change, ok bool) {
	s := byDay(hours, isWeekly)
	n := len(s.days)
	if n < 10 || s.freedom() < 4 {
		return c, false
	}
	syy := stat.Dot(s.values, s.values)
	steps := s.steps()
	fits := s.fit(steps, s.values)
	best := slices.MaxFunc(fits, func(a, b fit) int { return cmp.Compare(a.size*a.size*a.sxx, b.size*b.size*b.sxx) })
	df := s.freedom()
	f := func(sse float64) float64 { return (syy - sse) * df / math.Max(sse, 1e-12*syy+1e-300) }
	limits := s.chance(steps)
	c.P = float64(1+len(limits)-sort.SearchFloat64s(limits, f(best.sse))) / float64(1+len(limits))
	c.Day = s.days[best.at]
	c.From, c.Until = s.interval(fits, df)
	half := regression.StudentT(0.95, df) * math.Sqrt(best.sse/df/best.sxx)
	c.Size, c.Low, c.High = best.size, best.size-half, best.size+half
	most := slices.MaxFunc(fits, func(a, b fit) int { return cmp.Compare(a.sxx, b.sxx) })
	c.Visible = (math.Sqrt(limits[int(float64(len(limits))*(1-level))]) + nineOfTen) * math.Sqrt(best.sse/df/most.sxx)
	if slope := s.fit([]regressor{s.slope()}, s.values)[0]; df/2*math.Log(best.sse/slope.sse) > math.Log(odds) {
		half := regression.StudentT(0.95, df) * math.Sqrt(slope.sse/df/slope.sxx)
		c.IsGradual, c.Size, c.Low, c.High = true, slope.size, slope.size-half, slope.size+half
		c.From, c.Until = s.days[0], s.days[n-1]
	}
	return c, true
}

// series are the days' means, free of the level of each day of the week.
type series struct {
	days     []time.Time
	values   []float64
	isWeekly bool
}

// season is what days have in common: the day of the week, or nothing.
func (s *series) season(day time.Time) int {
	if s.isWeekly {
		return int(day.Weekday())
	}
	return 0
}

// byDay leaves out hours whose hour of the week only one week has: they say nothing of a change.
func byDay(hours []Hour, isWeekly bool) (s series) {
	s.isWeekly = isWeekly
	type sum struct {
		value float64
		n     int
	}
	usual := map[int]sum{}
	hourOfWeek := func(at time.Time) int { return s.season(at)*24 + at.Hour() }
	for _, h := range hours {
		u := usual[hourOfWeek(h.At)]
		usual[hourOfWeek(h.At)] = sum{u.value + h.Value, u.n + 1}
	}
	days := map[time.Time]sum{}
	for _, h := range hours {
		u := usual[hourOfWeek(h.At)]
		if u.n < 2 {
			continue
		}
		day := time.Date(h.At.Year(), h.At.Month(), h.At.Day(), 0, 0, 0, 0, h.At.Location())
		d := days[day]
		days[day] = sum{d.value + h.Value - u.value/float64(u.n), d.n + 1}
	}
	ofSeason := [7]int{}
	for day, d := range days {
		if d.n >= LeastHours {
			ofSeason[s.season(day)]++
		}
	}
	for day, d := range days {
		if d.n >= LeastHours && ofSeason[s.season(day)] > 1 {
			s.days = append(s.days, day)
		}
	}
	slices.SortFunc(s.days, time.Time.Compare)
	for _, day := range s.days {
		s.values = append(s.values, days[day].value/float64(days[day].n))
	}
	s.level(s.values)
	return s
}

// level subtracts the level of each season.
func (s *series) level(values []float64) {
	var sum, n [7]float64
	for i, day := range s.days {
		sum[s.season(day)] += values[i]
		n[s.season(day)]++
	}
	for i, day := range s.days {
		values[i] -= sum[s.season(day)] / n[s.season(day)]
	}
}

// freedom is what days leave beside the levels of the days of the week and one change.
func (s *series) freedom() float64 {
	seen := map[int]bool{}
	for _, day := range s.days {
		seen[s.season(day)] = true
	}
	return float64(len(s.days) - len(seen) - 1)
}

// regressor is what a change looks like beside the levels of the days of the week.
type regressor struct {
	at  int // the first day of the new level
	x   []float64
	sxx float64
}

func (s *series) regressor(at int, of func(day int) float64) regressor {
	r := regressor{at: at, x: make([]float64, len(s.days))}
	for i := range r.x {
		r.x[i] = of(i)
	}
	s.level(r.x)
	r.sxx = stat.Dot(r.x, r.x)
	return r
}

// steps are those that the days of the week do not explain.
func (s *series) steps() (all []regressor) {
	for at := leastDays; at <= len(s.days)-leastDays; at++ {
		r := s.regressor(at, func(day int) float64 {
			if day >= at {
				return 1
			}
			return 0
		})
		if r.sxx > 1e-9 {
			all = append(all, r)
		}
	}
	return all
}

// slope grows from 0 on the first day to 1 on the last.
func (s *series) slope() regressor {
	whole := s.days[len(s.days)-1].Sub(s.days[0]).Hours()
	return s.regressor(0, func(day int) float64 { return s.days[day].Sub(s.days[0]).Hours() / whole })
}

type fit struct {
	at             int
	size, sse, sxx float64
}

func (s *series) fit(regressors []regressor, values []float64) []fit {
	fits, syy := make([]fit, len(regressors)), stat.Dot(values, values)
	for i, r := range regressors {
		sxy := stat.Dot(r.x, values)
		fits[i] = fit{r.at, sxy / r.sxx, math.Max(0, syy-sxy*sxy/r.sxx), r.sxx}
	}
	return fits
}

// chance are the largest F of series of noise on the same days, ascending. The same days give the same noise.
func (s *series) chance(steps []regressor) []float64 {
	rnd, df := rand.New(rand.NewPCG(1, uint64(len(s.days)))), s.freedom()
	most, noise := make([]float64, draws), make([]float64, len(s.days))
	for i := range most {
		for d := range noise {
			noise[d] = rnd.NormFloat64()
		}
		s.level(noise)
		syy, explained := stat.Dot(noise, noise), 0.0
		for _, r := range steps {
			sxy := stat.Dot(r.x, noise)
			explained = max(explained, sxy*sxy/r.sxx)
		}
		most[i] = explained * df / (syy - explained)
	}
	slices.Sort(most)
	return most
}

// interval is from the first to the last of the likeliest days that have 90 % of the posterior.
func (s *series) interval(fits []fit, df float64) (from, until time.Time) {
	ln := func(f fit) float64 { return -math.Log(f.sxx)/2 - df/2*math.Log(math.Max(f.sse, 1e-300)) }
	likely := slices.Clone(fits)
	slices.SortFunc(likely, func(a, b fit) int { return cmp.Compare(ln(b), ln(a)) })
	whole, sum := 0.0, 0.0
	for _, f := range likely {
		whole += math.Exp(ln(f) - ln(likely[0]))
	}
	first, last := likely[0].at, likely[0].at
	for _, f := range likely {
		if sum >= 0.9*whole {
			break
		}
		sum += math.Exp(ln(f) - ln(likely[0]))
		first, last = min(first, f.at), max(last, f.at)
	}
	return s.days[first], s.days[last]
}
