package week

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"tidemark/internal/proof"
)

// seededWeek is a week whose hours are known, with noise of days, of hours and of the requests themselves.
type seededWeek struct {
	factor, daily, hourly float64 // of the rate; spreads in ln
	within, slow          float64 // share within the SLO; time per token over the prediction
	longer                float64 // factor of the lengths
}

var monday = time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)

func (w seededWeek) side(r *rand.Rand, week int, isWhole bool) Side {
	s := Side{Within: map[time.Time]float64{}}
	for day := range 7 {
		ofDay, missOfDay, slowOfDay, lengthOfDay := w.daily*r.NormFloat64(), 0.3*r.NormFloat64(), 0.02*r.NormFloat64(), 0.02*r.NormFloat64()
		for hour := range 24 {
			start := monday.AddDate(0, 0, 7*week+day).Add(time.Duration(hour) * time.Hour)
			h := Hour{Start: start, Day: day, HourOfDay: hour}
			rate := 5 * w.factor * (0.3 + math.Exp(-math.Pow(float64(hour)-14, 2)/32)) * math.Exp(ofDay+w.hourly*r.NormFloat64())
			peak, total := 0.0, 0.0
			for range 12 {
				count := math.Max(0, math.Round(300*rate+math.Sqrt(900*rate)*r.NormFloat64()))
				peak, total = max(peak, count/300), total+count
			}
			h.PeakRatePerS, h.Requests = &peak, new(int64(total))
			h.InputTokens, h.OutputTokens, h.NeededReplicas = new(int64(1000*total)), new(int64(200*total)), new(int(math.Ceil(peak/2)))
			s.Hours = append(s.Hours, h)
			s.Within[start] = 1 - (1-w.within)*math.Exp(missOfDay+0.5*r.NormFloat64())
			s.Steps = append(s.Steps, StepTime{Start: start, Measured: 0.02 * w.slow * math.Exp(slowOfDay+0.03*r.NormFloat64()), Predicted: 0.02})
			if isWhole {
				s.Input = append(s.Input, HourLengths{start, drawLengths(r, 500*w.longer*math.Exp(lengthOfDay+0.1*math.Sin(float64(hour)/4)))})
			}
		}
	}
	return s
}

func drawLengths(r *rand.Rand, middle float64) (out []LengthCount) {
	for range 60 {
		out = append(out, LengthCount{math.Round(middle * math.Exp(0.8*r.NormFloat64())), 1})
	}
	return out
}

var usualWeek = seededWeek{factor: 1, daily: 0.05, hourly: 0.1, within: 0.99, slow: 1, longer: 1}

func changesByName(changes []Change) map[string]Change {
	out := map[string]Change{}
	for _, c := range changes {
		out[c.Figure] = c
	}
	return out
}

// Where nothing changed, one in ten should be told as a change by mistake. A proof counts them; every day they are not half of all.
func TestFalseAlarmsOfAWeek(t *testing.T) {
	seeds := proof.Many(16, 240)
	told := map[string]int{}
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 47))
		for _, c := range Changes(usualWeek.side(r, 0, false), usualWeek.side(r, -1, false), 2) {
			if c.Ratio == nil || c.Low == nil || *c.Low > *c.Ratio || *c.High < *c.Ratio {
				t.Fatalf("seed %d: %+v", seed, c)
			}
			if c.IsTold {
				told[c.Figure]++
			}
		}
	}
	t.Log("false alarms, of", seeds, told)
	for figure := range changesByName(Changes(Side{}, Side{}, 1)) {
		if share := float64(told[figure]) / float64(seeds); share > 0.5 || proof.IsFull() && (share > 0.18 || share < 0.04) {
			t.Errorf("%s: false alarms in %.0f %%, want about 10", figure, 100*share)
		}
	}
}

func TestFalseAlarmsOfLengths(t *testing.T) {
	seeds := proof.Many(4, 40)
	told, n := 0, 0
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 48))
		for _, q := range LengthChanges(usualWeek.side(r, 0, true), usualWeek.side(r, -1, true))[:3] {
			if n++; *q.Low > 0 || *q.High < 0 {
				told++
			}
		}
	}
	t.Logf("false alarms: %d of %d", told, n)
	if share := float64(told) / float64(n); share > 0.5 || proof.IsFull() && (share > 0.18 || share < 0.02) {
		t.Errorf("false alarms in %d of %d, want about a tenth", told, n)
	}
}

// The hour of most need had 8 requests a second this week and 4 in the last, though others had 9: the page shows the peak of that hour.
func TestTheChangeOfThePeakIsThatOfTheBusiestHour(t *testing.T) {
	side := func(week int, peaks ...float64) (s Side) {
		for i, peak := range peaks {
			s.Hours = append(s.Hours, Hour{Start: monday.AddDate(0, 0, 7*week).Add(time.Duration(i) * time.Hour), HourOfDay: i, PeakRatePerS: new(peak), NeededReplicas: new([]int{2, 3, 2}[i])})
		}
		return s
	}
	got := changesByName(Changes(side(0, 9, 8, 1), side(-1, 2, 4, 9), 1))["peak_rate_per_s"]
	if got.Before == nil || *got.Before != 4 || *got.Ratio != 1 {
		t.Errorf("got %+v, want 4 doubled", got)
	}
}

func TestChangesAreTold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 49))
	this := seededWeek{factor: 1.3, daily: 0.05, hourly: 0.1, within: 0.9, slow: 1.2, longer: 1.25}.side(r, 0, true)
	last := usualWeek.side(r, -1, true)
	got := changesByName(Changes(this, last, 2))
	for figure, want := range map[string]float64{"requests": 0.3, "tokens": 0.3, "input_tokens": 0.3, "output_tokens": 0.3, "peak_rate_per_s": 0.3,
		"gpu_hours_needed": 0.27, "within_slo_ratio": -0.09, "tpot_over_predicted_ratio": 0.2} {
		c := got[figure]
		if figure == "peak_rate_per_s" { // the greatest of 2,016 noisy values is itself noisy
			if math.Abs(*c.Ratio-want) > 0.2 || *c.High < want {
				t.Errorf("%s: %v (%v to %v), want %v", figure, *c.Ratio, *c.Low, *c.High, want)
			}
			continue
		}
		if !c.IsTold || math.Abs(*c.Ratio-want) > 0.1 || want > 0 != (*c.Low > 0) {
			t.Errorf("%s: got %+v (%v, %v to %v), want %v", figure, c, *c.Ratio, *c.Low, *c.High, want)
		}
	}
	for _, q := range LengthChanges(this, last)[:3] {
		if math.Abs(*q.Ratio-0.25) > 0.1 || *q.Low <= 0 {
			t.Errorf("%s: %v (%v to %v), want 0.25", q.Name, *q.Ratio, *q.Low, *q.High)
		}
	}
	if again := Changes(this, last, 2); !reflect.DeepEqual(Changes(this, last, 2), again) {
		t.Error("the same weeks give other changes")
	}
}

// plainWeek has 100 requests in each hour of Monday to Sunday, times 1 + its day of the week.
func plainWeek(week int) Side {
	var s Side
	for day := range 7 {
		for hour := range 24 {
			n := int64(100 * (1 + day))
			s.Hours = append(s.Hours, Hour{Start: monday.AddDate(0, 0, 7*week+day).Add(time.Duration(hour) * time.Hour), Day: day, HourOfDay: hour,
				Requests: &n, InputTokens: &n, OutputTokens: &n, PeakRatePerS: new(float64(n) / 3000)})
		}
	}
	return s
}

// Saturday and Sunday are missing, the two busiest days: 24*(100+200+300+400+500) = 36,000 requests remain in both weeks.
func TestAWeekWithAGapHasNotFallen(t *testing.T) {
	this, last := plainWeek(0), plainWeek(-1)
	for i := 5 * 24; i < 7*24; i++ {
		this.Hours[i] = Hour{Start: this.Hours[i].Start, Day: this.Hours[i].Day, HourOfDay: this.Hours[i].HourOfDay, IsMissing: true}
	}
	got := changesByName(Changes(this, last, 2))
	for figure, before := range map[string]float64{"requests": 36_000, "tokens": 72_000, "peak_rate_per_s": 500.0 / 3000} {
		if c := got[figure]; c.IsTold || *c.Ratio != 0 || *c.Before != before {
			t.Errorf("%s: %v of %v, told %v", figure, *c.Ratio, *c.Before, c.IsTold)
		}
	}
}

func TestTooLittleToCompare(t *testing.T) {
	this, last := plainWeek(0), plainWeek(-1)
	for i := range this.Hours {
		if i >= 2*24 {
			this.Hours[i].IsMissing = true
		}
	}
	c := changesByName(Changes(this, last, 2))["requests"]
	if c.Ratio == nil || c.Low != nil || c.IsTold {
		t.Errorf("two days: %+v, want a ratio without an interval", c)
	}
	for _, c := range Changes(this, Side{}, 2) {
		if c.Ratio != nil || c.Before != nil || c.IsTold {
			t.Errorf("no last week: %+v", c)
		}
	}
	for _, q := range LengthChanges(this, last) {
		if q.This != nil || q.Ratio != nil || q.Low != nil {
			t.Errorf("no lengths: %+v", q)
		}
	}
	none := plainWeek(-1)
	for i := range none.Hours {
		none.Hours[i].Requests = new(int64)
	}
	if c := changesByName(Changes(plainWeek(0), none, 2))["requests"]; c.Ratio != nil || *c.Before != 0 {
		t.Errorf("from nothing: %+v", c)
	}
	if c := changesByName(Changes(none, plainWeek(0), 2))["requests"]; *c.Ratio != -1 || c.Low != nil {
		t.Errorf("to nothing: %+v", c)
	}
}

// The second 02:00 of an autumn Sunday has no hour in the week before; the week has not grown by it.
func TestTheHourThatOccursTwice(t *testing.T) {
	this, last := plainWeek(0), plainWeek(-1)
	twice := this.Hours[6*24+2]
	twice.Start = twice.Start.Add(30 * time.Minute)
	this.Hours = append(this.Hours, twice)
	if c := changesByName(Changes(this, last, 2))["requests"]; *c.Ratio != 0 || len(newComparison(this, last).pairs) != 168 {
		t.Errorf("with an hour more: %v", *c.Ratio)
	}
}

// Ten requests an hour in 24 hours of seven days: the p50 of 10, 20, ..., 100 tokens is 50, and the p99 is 100.
func TestQuantilesOfLengths(t *testing.T) {
	this, last := plainWeek(0), plainWeek(-1)
	for _, s := range []*Side{&this, &last} {
		for _, h := range s.Hours {
			var l []LengthCount
			for n := 1; n <= 10; n++ {
				l = append(l, LengthCount{float64(10 * n), 1})
			}
			s.Output = append(s.Output, HourLengths{h.Start, l})
		}
	}
	got := LengthChanges(this, last)
	if len(got) != 6 || got[3].Name != "p50 output_tokens" || *got[3].This != 50 || *got[5].This != 100 || *got[3].Ratio != 0 || *got[3].Low > 1e-9 || *got[3].High < -1e-9 {
		t.Errorf("got %+v", got)
	}
}
