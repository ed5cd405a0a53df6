package changepoint

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// drawn are weeks of hours with a rhythm of day and week, noise of days and hours, and what more adds.
func drawn(seed uint64, days int, noise float64, more func(day int) float64) (hours []Hour) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	begin := time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC)
	for day := range days {
		ofDay := noise * rnd.NormFloat64()
		for hour := range 24 {
			at := begin.AddDate(0, 0, day).Add(time.Duration(hour) * time.Hour)
			rhythm := math.Sin(float64(hour)/4) - 0.5*float64(at.Weekday())
			hours = append(hours, Hour{at, 3 + rhythm + ofDay + 0.05*rnd.NormFloat64() + more(day)})
		}
	}
	return hours
}

func step(at int, size float64) func(day int) float64 {
	return func(day int) float64 {
		if day >= at {
			return size
		}
		return 0
	}
}

func TestAStepIsFoundOnItsDay(t *testing.T) {
	for _, days := range []int{14, 21, 28} {
		for _, at := range []int{3, days / 2, days - 3} {
			c, ok := Find(drawn(uint64(days+at), days, 0.01, step(at, 0.1)), 0.01, true)
			want := time.Date(2026, 10, 5+at, 0, 0, 0, 0, time.UTC)
			if !ok || c.P > 0.005 || c.IsGradual || !c.Day.Equal(want) || c.From.After(want) || c.Until.Before(want) || math.Abs(c.Size-0.1) > 0.04 {
				t.Errorf("%d days, step on day %d: got %+v", days, at, c)
			}
		}
	}
}

// By hand: two weeks without noise but for one day. Days 0 to 6 are 0 and 7 to 13 are 1: with weekdays' means of 1/2 the step is all there is.
func TestAStepWithoutNoiseIsExact(t *testing.T) {
	c, ok := Find(drawn(1, 14, 0, func(day int) float64 { return step(7, 1)(day) }), 0.01, true)
	if !ok || math.Abs(c.Size-1) > 0.05 || c.Day.Day() != 12 || !c.From.Equal(c.Day) || !c.Until.Equal(c.Day) {
		t.Errorf("got %+v", c)
	}
}

// What has no rhythm of the week needs no second week, and of two it shows a smaller change.
func TestWithoutARhythmOfTheWeekLessIsEnough(t *testing.T) {
	even := func(hours []Hour) []Hour {
		for i := range hours {
			hours[i].Value += 0.5 * float64(hours[i].At.Weekday())
		}
		return hours
	}
	c, ok := Find(even(drawn(5, 10, 0.01, step(6, 0.1))), 0.01, false)
	if !ok || c.P > 0.002 || c.Day.Day() != 11 {
		t.Errorf("ten days: got %+v", c)
	}
	hours := even(drawn(6, 14, 0.01, step(0, 0)))
	without, _ := Find(hours, 0.01, false)
	with, _ := Find(hours, 0.01, true)
	if without.Visible > with.Visible {
		t.Errorf("visible is %v without a rhythm, %v with one", without.Visible, with.Visible)
	}
}

func TestASlopeHasNoDate(t *testing.T) {
	c, _ := Find(drawn(3, 28, 0.01, func(day int) float64 { return 0.3 * float64(day) / 27 }), 0.01, true)
	if !c.IsGradual || c.P > 0.01 || math.Abs(c.Size-0.3) > 0.05 {
		t.Errorf("got %+v", c)
	}
}

// The p-value is one: of series without a change as many are below a level as it says. 400 of them at 0.1: 40, give or take 3 * 6.
func TestNoiseIsSeldomAChange(t *testing.T) {
	const all = 400
	below, seen := 0, 0
	for seed := range uint64(all) {
		c, ok := Find(drawn(seed, 21, 0.03, step(0, 0)), 0.1, true)
		if !ok {
			t.Fatal("not enough days")
		}
		if c.P <= 0.1 {
			below++
		}
		// A change as large as Visible, at the middle, is seen in nine of ten series, or a few less: the noise of another series is not this one's.
		if c, _ := Find(drawn(seed+1000, 21, 0.03, step(10, c.Visible)), 0.1, true); c.P <= 0.1 {
			seen++
		}
	}
	if below < 22 || below > 58 { // 40 give or take three standard deviations
		t.Errorf("%d of %d series of noise are a change at 0.1", below, all)
	}
	if seen < all*8/10 {
		t.Errorf("a change of the visible size is seen in %d of %d", seen, all)
	}
}

func TestAWeekIsNotEnough(t *testing.T) {
	if _, ok := Find(drawn(1, 7, 0.01, step(4, 1)), 0.01, true); ok {
		t.Error("one week has no other to be compared with")
	}
}
