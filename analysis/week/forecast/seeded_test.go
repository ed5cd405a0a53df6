package forecast

import (
	"hash/crc32"
	"math"
	"math/rand/v2"
	"time"
)

// kind is a kind of service: what it does in its weeks of history and after.
type kind struct {
	name  string
	weeks int // of history
	// weekly, daily and hourly are the spreads of the noise, in ln; the weekly one is of a week, walk of a level that moves and stays.
	weekly, daily, hourly, walk float64
	growth                      func(r *rand.Rand) float64 // of ln, in the first week
	keeps                       float64                    // of the growth from week to week
	spoil                       func(r *rand.Rand, s *service)
}

// service is what a seeded one does: the factor of each of its days, and the hours that are missing.
type service struct {
	weeks, history int
	days           []float64 // ln
	missing        map[int]bool
}

func none(*rand.Rand) float64 { return 0 }

// kinds of services. Nothing here knows the model of the package: growth fades at another speed or not at all, noise is of weeks, days, hours
// and of the requests themselves.
func kinds() []kind {
	calm := kind{weeks: 8, weekly: 0.02, daily: 0.03, hourly: 0.08, walk: 0.01, growth: none, keeps: 1}
	with := func(name string, change func(k *kind)) kind {
		k := calm
		k.name = name
		change(&k)
		return k
	}
	between := func(low, high float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return low + (high-low)*r.Float64() }
	}
	return []kind{
		with("nothing changes", func(k *kind) { k.walk = 0 }),
		with("growth of 1 to 5 % a week", func(k *kind) { k.growth = between(0.01, 0.05) }),
		with("growth that fades by 8 % a week", func(k *kind) { k.growth, k.keeps = between(0.03, 0.08), 0.92 }),
		with("decline of 1 to 4 % a week", func(k *kind) { k.growth = between(-0.04, -0.01) }),
		with("a step two to six weeks before", func(k *kind) { k.spoil = step }),
		with("a step in the last week", func(k *kind) { k.spoil = lateStep }),
		with("a holiday of one to nine days", func(k *kind) { k.spoil = holiday }),
		with("growth and a holiday", func(k *kind) { k.growth, k.spoil = between(0.01, 0.04), holiday }),
		with("gaps of 3 to 100 hours", func(k *kind) { k.spoil = gaps }),
		with("growth and gaps", func(k *kind) { k.growth, k.spoil = between(0.01, 0.04), gaps }),
		with("quiet", func(k *kind) { k.weekly, k.daily, k.hourly, k.walk = 0.005, 0.01, 0.03, 0.005 }),
		with("loud", func(k *kind) { k.weekly, k.daily, k.hourly, k.walk = 0.05, 0.10, 0.25, 0.04 }),
		with("new: 3 to 5 weeks, growth that fades", func(k *kind) { k.weeks, k.growth, k.keeps = 0, between(0.05, 0.15), 0.85 }),
		with("13 weeks of history", func(k *kind) { k.weeks = 13 }),
		with("26 weeks of history, slow growth", func(k *kind) { k.weeks, k.growth = 26, between(0, 0.015) }),
		with("a step ahead, which nobody can foresee", func(k *kind) { k.spoil = stepAhead }),
	}
}

const weeksAfter = 8

func step(r *rand.Rand, s *service) {
	s.step(r, 2+r.IntN(5))
}

func lateStep(r *rand.Rand, s *service) { s.step(r, 1) }

func stepAhead(r *rand.Rand, s *service) { s.step(r, 0) }

func (s *service) step(r *rand.Rand, weeksBefore int) {
	size := 0.2 + 0.3*r.Float64()
	if r.IntN(3) == 0 {
		size = -size
	}
	for day := (s.history - weeksBefore) * 7; day < len(s.days); day++ {
		s.days[day] += size
	}
}

func holiday(r *rand.Rand, s *service) {
	from := r.IntN(s.history*7 - 9)
	size := 0.2 + 0.6*r.Float64()
	for day := from; day < from+1+r.IntN(9); day++ {
		s.days[day] -= size
	}
}

func gaps(r *rand.Rand, s *service) {
	for range 3 {
		from := r.IntN((s.history)*HoursOfWeek - 100)
		for hour := from; hour < from+3+r.IntN(98); hour++ {
			s.missing[hour] = true
		}
	}
}

// truth is what came after the history; those weeks are complete.
type truth struct {
	peaks, requests []float64
	growth          float64 // of ln, of the first week ahead over the last
}

// make makes the weeks of history and what comes after.
func (k kind) make(seed uint64) (weeks []Week, ahead truth) {
	r := rand.New(rand.NewPCG(seed, uint64(crc32.ChecksumIEEE([]byte(k.name)))))
	history := k.weeks
	if history == 0 {
		history = 3 + r.IntN(3)
	}
	s := &service{weeks: history + weeksAfter, history: history, missing: map[int]bool{}}
	s.days = make([]float64, s.weeks*7)
	growth, level := k.growth(r), 0.0
	for week := range s.weeks {
		own := k.weekly * r.NormFloat64()
		for day := range 7 {
			s.days[week*7+day] = level + own + growth*float64(day)/7 + k.daily*r.NormFloat64()
		}
		if week == history-1 {
			ahead.growth = growth
		}
		level += growth + k.walk*r.NormFloat64()
		growth *= k.keeps
	}
	if k.spoil != nil {
		k.spoil(r, s)
	}
	shape, base := shapeOf(r), math.Exp(1+2*r.Float64()) // a mean of 3 to 20 requests a second
	monday := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for week := range s.weeks {
		out := Week{Monday: monday.AddDate(0, 0, 7*week).Format(time.DateOnly)}
		peak, total := 0.0, 0.0
		for hour := range HoursOfWeek {
			rate := base * shape[hour] * math.Exp(s.days[week*7+hour/24]+k.hourly*r.NormFloat64())
			made := draw(r, hour, rate)
			peak, total = max(peak, made.PeakRatePerS), total+made.Requests
			if !s.missing[week*HoursOfWeek+hour] {
				out.Hours = append(out.Hours, made)
			}
		}
		if week < history {
			weeks = append(weeks, out)
		} else {
			ahead.peaks, ahead.requests = append(ahead.peaks, peak), append(ahead.requests, total)
		}
	}
	return weeks, ahead
}

// shapeOf is a usual week: nights at a tenth to a third, two humps a day, weekends at 30 to 90 %.
func shapeOf(r *rand.Rand) (out [HoursOfWeek]float64) {
	night, weekend, lunch := 0.1+0.2*r.Float64(), 0.3+0.6*r.Float64(), 0.05+0.2*r.Float64()
	for hour := range out {
		h := float64(hour%24) + 0.5
		day := math.Exp(-math.Pow((h-11)/3, 2)/2) + math.Exp(-math.Pow((h-16)/3.5, 2)/2) - lunch*math.Exp(-math.Pow(h-13, 2))
		out[hour] = night + day
		if hour >= 5*24 {
			out[hour] *= weekend
		}
	}
	return out
}

// draw counts the requests of the twelve times five minutes of an hour; they come in bursts: their variance is three times the mean.
func draw(r *rand.Rand, hour int, rate float64) Hour {
	out := Hour{OfWeek: hour}
	for range 12 {
		mean := rate * 300
		count := math.Max(0, math.Round(mean+math.Sqrt(3*mean)*r.NormFloat64()))
		out.Requests += count
		out.PeakRatePerS = max(out.PeakRatePerS, count/300)
	}
	return out
}
