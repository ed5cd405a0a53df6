package seeded

import (
	"math"
	"math/rand/v2"
	"time"

	"tidemark/internal/splitmix"
)

// Service is made-up traffic. Its rate is constant within each hour of UTC:
//
//	RatePerS x Shape[hour of the week] x (1 + Growth)^weeks x steps x holidays x noise
//
// and requests arrive in it as a Poisson stream. Hours and days are those of Zone, which must differ from UTC by whole hours.
type Service struct {
	Seed     uint64
	Zone     *time.Location
	Begin    time.Time    // the instant at which the rate is RatePerS: growth counts from here, in both directions
	RatePerS float64      // requests per second where Shape is 1
	Shape    [168]float64 // by hour of the week, Monday 00:00 local first; an hour that occurs twice has the same shape twice
	Growth   float64      // a week: 0.03 is 3 % more each week, compounded by the hour
	Noise    float64      // standard deviation of ln rate from hour to hour, independent; its mean factor is 1
	Steps    []Step
	Holidays []Holiday
	Gaps     []Gap
	Classes  []Class // at least one
}

// Step multiplies the rate from an instant on.
type Step struct {
	At     time.Time
	Factor float64
}

// Holiday multiplies the rate on one local day.
type Holiday struct {
	Day    string // 2026-10-03
	Factor float64
}

// Gap is a stretch that was not recorded: the requests occurred, but are not in the trace.
type Gap struct{ From, Until time.Time }

// Class of requests. A class without a name or a model leaves that column empty; where no class has either, the trace has no
// such columns.
type Class struct {
	Name          string
	Model         string
	Share         float64 // of the requests, relative to the other classes
	Input, Output Lengths // tokens
}

// Lengths are lognormal, at least 1 and at most Most tokens.
type Lengths struct {
	Median float64
	Sigma  float64 // of ln tokens
	Most   int64   // 0: 1,000,000
}

// Hour is the truth of one hour.
type Hour struct {
	Start     time.Time // UTC
	RatePerS  float64   // of the requests that occurred
	IsMissing bool      // not recorded, all of it
}

// Hours are the truths of the hours that begin from one instant until another.
func (s Service) Hours(from, until time.Time) []Hour {
	var hours []Hour
	for at := hourOf(from); at.Before(until); at = at.Add(time.Hour) {
		if !at.Before(from) {
			hours = append(hours, Hour{Start: at, RatePerS: s.RateAt(at), IsMissing: s.isMissing(at, at.Add(time.Hour))})
		}
	}
	return hours
}

// RateAt is the rate of requests per second in the hour of an instant, whether it was recorded or not.
func (s Service) RateAt(at time.Time) float64 {
	hour := hourOf(at)
	local := hour.In(s.Zone)
	weeks := hour.Sub(s.Begin).Hours() / (7 * 24)
	rate := s.RatePerS * s.Shape[HourOfWeek(local)] * math.Pow(1+s.Growth, weeks)
	for _, step := range s.Steps {
		if !hour.Before(step.At) {
			rate *= step.Factor
		}
	}
	for _, holiday := range s.Holidays {
		if local.Format(time.DateOnly) == holiday.Day {
			rate *= holiday.Factor
		}
	}
	if s.Noise > 0 {
		rate *= math.Exp(float64(s.Noise*s.drawing(hour, "noise").NormFloat64()) - float64(s.Noise*s.Noise/2))
	}
	return rate
}

// HourOfWeek is 0 for Monday 00:00 and 167 for Sunday 23:00, by the clock of the time's own zone.
func HourOfWeek(local time.Time) int { return (int(local.Weekday())+6)%7*24 + local.Hour() }

// drawing draws for one hour and purpose. Each hour has its own, so that a trace that starts later has the same rows.
func (s Service) drawing(hour time.Time, purpose string) *rand.Rand {
	return rand.New(rand.NewPCG(splitmix.Mix(s.Seed^splitmix.Hash(purpose)), splitmix.Mix(uint64(hour.Unix()))))
}

// isMissing says whether gaps cover a stretch from end to end. Gaps must not overlap.
func (s Service) isMissing(from, until time.Time) bool {
	covered := time.Duration(0)
	for _, gap := range s.Gaps {
		start, end := gap.From, gap.Until
		if start.Before(from) {
			start = from
		}
		if end.After(until) {
			end = until
		}
		covered += max(end.Sub(start), 0)
	}
	return covered >= until.Sub(from)
}

func (s Service) isRecorded(at time.Time) bool {
	for _, gap := range s.Gaps {
		if !at.Before(gap.From) && at.Before(gap.Until) {
			return false
		}
	}
	return true
}

func hourOf(at time.Time) time.Time { return at.UTC().Truncate(time.Hour) }

// OfficeHours is the shape of a service that people use at work: full from 9 to 18 on working days with a dip at noon, a share of
// it in the evening, and least at night and at the weekend, where it has the rate night, a share of the fullest hour.
func OfficeHours(night float64) (shape [168]float64) {
	day := [24]float64{0, 0, 0, 0, 0, 0.05, 0.15, 0.4, 0.7, 0.92, 1, 0.97, 0.82, 0.88, 0.96, 0.95, 0.86, 0.7, 0.52, 0.42, 0.36, 0.28, 0.16, 0.06}
	for i := range shape {
		above := day[i%24]
		if i/24 >= 5 {
			above *= 0.35
		}
		shape[i] = night + float64((1-night)*above) // rounded before the sum, on every processor
	}
	return shape
}

// Even is the shape of a service whose rate does not depend on the hour.
func Even() (shape [168]float64) {
	for i := range shape {
		shape[i] = 1
	}
	return shape
}
