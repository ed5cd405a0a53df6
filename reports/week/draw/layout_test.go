package draw

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"tidemark/analysis/week"
	"tidemark/internal/show"
	"tidemark/reports/plot"
	"tidemark/reports/week/sample"
)

var plans = map[string]func(*week.Report) plan{
	"need": needPlan, "demand": demandPlan, "heat map": heatMapPlan, "capacity": capacityPlan, "felt": feltPlan, "steps": stepsPlan, "cost": costPlan, "forecast": forecastPlan,
}

// allWeeks are the samples and the odd ones.
func allWeeks() map[string]*week.Report {
	weeks := sample.All()
	maps.Copy(weeks, odd())
	return weeks
}

// odd are weeks that a page seldom shows and that a drawing has to bear.
func odd() map[string]*week.Report {
	lonely := sample.Report()
	for i := range lonely.Hours {
		if i != 40 {
			empty(&lonely.Hours[i])
		}
	}
	lonely.Sums.MissingHours, lonely.Sums.BusiestHourStart = len(lonely.Hours)-1, &lonely.Hours[40].Start

	one := sample.Report()
	one.Hours, one.Sums.Hours, one.Sums.MissingHours, one.Sums.BusiestHourStart = one.Hours[38:39], 1, 0, &one.Hours[38].Start

	idle := sample.NoMetrics()
	for i := range idle.Hours {
		h := &idle.Hours[i]
		if !h.IsMissing {
			h.Requests, h.InputTokens, h.OutputTokens, h.PeakRatePerS = new(int64), new(int64), new(int64), new(float64)
			h.NeededReplicas, h.LowNeeded, h.HighNeeded = new(int), new(int), new(int)
		}
	}
	idle.Sums.Requests, idle.Sums.PeakRatePerS, idle.Changes, idle.Shape.Cells = 0, new(float64), nil, nil
	for i := range idle.Forecast.History {
		idle.Forecast.History[i].Peak = 0
	}
	idle.Forecast.Ahead = nil
	idle.Forecast.Why = "no week had traffic"

	holes := sample.Report()
	for i := range holes.Hours {
		if i%7 == 3 {
			if !holes.Hours[i].IsMissing {
				holes.Sums.MissingHours++
			}
			empty(&holes.Hours[i])
		}
	}

	huge := sample.Report()
	for i := range huge.Hours {
		h := &huge.Hours[i]
		h.PaidReplicas *= 500
		for _, n := range []*int{h.NeededReplicas, h.LowNeeded, h.HighNeeded} {
			if n != nil {
				*n *= 500
			}
		}
		for _, n := range []*int64{h.Requests, h.InputTokens, h.OutputTokens} {
			if n != nil {
				*n *= 500
			}
		}
		for _, u := range []*week.Usual{h.UsualRequests, h.UsualInputTokens, h.UsualOutputTokens} {
			u.Median, u.Low, u.High = u.Median*500, u.Low*500, u.High*500
		}
		*h.CostUSD *= 500
	}
	for _, weeks := range [][]week.ForecastWeek{huge.Forecast.History, huge.Forecast.Ahead} {
		for i := range weeks {
			weeks[i].Peak *= 500
			if weeks[i].Low != nil {
				*weeks[i].Low *= 500
				*weeks[i].High *= 500
			}
		}
	}
	huge.Forecast.Month = nil
	huge.Deployment.GPUsPerReplica = 16

	long := sample.Report()
	for i := range long.Steps {
		for k := range long.Steps[i].Terms {
			long.Steps[i].Terms[k].Name += " and everything else that a server does while it decodes"
		}
	}
	long.Symptoms[0].Name = strings.Repeat("very long ", 30)
	long.SLO.Objectives[0].Name, long.Basis.Binding = strings.Repeat("long ", 40), strings.Repeat("long ", 40)
	long.Price.Source = strings.Repeat("contract ", 20)

	open := sample.Report()
	for i := range open.Felt {
		open.Felt[i].P99 = &week.Bounds{Low: 5}
		open.Felt[i].P50 = &week.Bounds{Low: 0, High: ptr(0.02)}
	}

	scattered := sample.Report()
	for i := range scattered.Felt {
		scattered.Felt[i].IsBroken = scattered.Felt[i].Metric == "ttft" && i%60 == 0
	}
	for i := range scattered.Steps {
		scattered.Steps[i].IsOut = i%5 == 0
	}
	late := sample.Report()
	late.Sums.BusiestHourStart = &late.Hours[167].Start

	noPoints := sample.Report()
	noPoints.Basis.Points, noPoints.Basis.AllowedRatio, noPoints.Sums.PeakRatePerS = nil, nil, nil
	zeroMiss := sample.Report()
	for i := range zeroMiss.Basis.Points {
		zeroMiss.Basis.Points[i].Missed, zeroMiss.Basis.Points[i].Low = 0, 0
	}
	zeroMiss.Basis.Curve = nil
	return map[string]*week.Report{"all missing but one": lonely, "one hour": one, "zero traffic": idle, "many holes": holes, "huge": huge, "long names": long,
		"open buckets": open, "scattered": scattered, "busiest last": late, "no points": noPoints, "no misses": zeroMiss, "empty": {}}
}

func empty(h *week.Hour) {
	*h = week.Hour{Start: h.Start, Local: h.Local, Day: h.Day, HourOfDay: h.HourOfDay, IsMissing: true, PaidReplicas: h.PaidReplicas, CostUSD: h.CostUSD,
		UsualRequests: h.UsualRequests, UsualInputTokens: h.UsualInputTokens, UsualOutputTokens: h.UsualOutputTokens}
}

func ptr[T any](v T) *T { return &v }

// eachLayout lays out every figure of every week at both widths.
func eachLayout(t *testing.T, look func(t *testing.T, figure string, p plan, s *sheet)) {
	for name, r := range allWeeks() {
		for figure, make := range plans {
			p := make(r)
			if p.on == nil {
				continue
			}
			for _, width := range []float64{wide, narrow} {
				t.Run(fmt.Sprintf("%s/%s/%.0f", name, figure, width), func(t *testing.T) { look(t, figure, p, laidOut(width, p.on)) })
			}
		}
	}
}

func TestTextsTouchNothing(t *testing.T) {
	eachLayout(t, func(t *testing.T, figure string, p plan, s *sheet) {
		for i, a := range s.texts {
			at := textBox(a)
			if at.left < -0.5 || at.top < -0.5 || at.right > s.width+0.5 || at.bottom > s.height+0.5 {
				t.Errorf("%q leaves the drawing: %+v of %v × %v", a.Text, at, s.width, s.height)
			}
			for _, b := range s.texts[i+1:] {
				if at.meets(textBox(b)) {
					t.Errorf("%q at %+v and %q at %+v overlap", a.Text, at, b.Text, textBox(b))
				}
			}
			for _, hole := range s.holes {
				if at.meets(hole) {
					t.Errorf("%q lies across missing hours", a.Text)
				}
			}
		}
	})
}

// Nothing is clipped, so each mark has to lie in its grid by itself.
func TestMarksLieInTheirGrid(t *testing.T) {
	eachLayout(t, func(t *testing.T, figure string, p plan, s *sheet) {
		for k, g := range s.grids {
			if g.Bottom > s.height+0.5 || g.Right > s.width+0.5 || g.Left < 0 || g.Top < 0 {
				t.Errorf("grid %d leaves the drawing: %+v", k, g)
			}
			inside := func(v float64, on plot.Scale) bool {
				slack := 0.02 * math.Abs(on.To-on.From)
				return math.IsNaN(v) || v >= math.Min(on.From, on.To)-slack && v <= math.Max(on.From, on.To)+slack
			}
			for _, m := range g.Marks {
				for i, at := range m.Points {
					if !inside(at.X, g.X) || !inside(at.Y, g.Y) || m.Lows != nil && !inside(m.Lows[i], g.Y) {
						t.Fatalf("grid %d: %+v leaves %v × %v (%s %s)", k, at, g.X, g.Y, m.Fill, m.Stroke)
					}
				}
			}
		}
	})
}

func TestAnHourHasTheSamePlaceInEveryChart(t *testing.T) {
	eachLayout(t, func(t *testing.T, figure string, p plan, s *sheet) {
		if figure == "heat map" {
			return
		}
		left, right := 40.0, 848.0
		if s.isNarrow {
			left, right = 36, 356
		}
		for _, g := range s.grids {
			if g.Left != left || g.Right != right {
				t.Errorf("a grid lies from %v to %v, want %v to %v", g.Left, g.Right, left, right)
			}
		}
	})
}

func TestTitlesAreFindings(t *testing.T) {
	for name, r := range allWeeks() {
		for figure, make := range plans {
			p := make(r)
			if p.on == nil {
				continue
			}
			if n := utf8.RuneCountInString(p.Title); n == 0 || n > 90 {
				t.Errorf("%s of %s: the title has %d characters: %s", figure, name, n, p.Title)
			}
			if strings.HasSuffix(p.Title, ".") || strings.Contains(p.Title, "over time") || strings.Contains(p.Title, "NaN") {
				t.Errorf("%s of %s: %s", figure, name, p.Title)
			}
			if !strings.ContainsAny(p.Title, "0123456789") {
				t.Errorf("%s of %s: no number: %s", figure, name, p.Title)
			}
			if p.Soft == "" || !strings.HasPrefix(p.Label, p.Title) || strings.Contains(p.Soft+p.Label, "NaN") {
				t.Errorf("%s of %s: soft %q, label %q", figure, name, p.Soft, p.Label)
			}
		}
	}
}

func TestTitles(t *testing.T) {
	for _, c := range []struct {
		figure string
		r      *week.Report
		want   string
	}{
		{"need", sample.Report(), "One hour touches what is paid for; in 109 of 165 hours half of it would do"},
		{"need", sample.DoesNotFit(), "29 of 165 hours need more than the 12 GPUs paid for, up to 16"},
		{"need", sample.NoCapacity(), "How many of the 12 GPUs paid for were needed is not known"},
		{"demand", sample.Report(), "Traffic grew by 3.5\u202f% on last week (2.3 to 4.7)"},
		{"demand", sample.Falling(), "Traffic fell by 9.6\u202f% on last week (8.4 to 10.8)"},
		{"capacity", sample.Report(), "A replica handles 8.41\u202frequests/s (7.98 to 8.86); time to first token from due binds"},
		{"felt", sample.Report(), "p99 TTFT broke its limit of 1\u202fs in 2 of 165 hours: Fri 10:00 and 11:00"},
		{"forecast", sample.Report(), "The 7th replica is needed in the week of 18 January, 21 December at the earliest"},
		{"forecast", sample.Falling(), "6 replicas hold through all 12 weeks of the forecast"},
	} {
		if got := plans[c.figure](c.r).Title; got != c.want {
			t.Errorf("%s: got %q, want %q", c.figure, got, c.want)
		}
	}
}

func TestReportsWithoutTheFiguresHaveNoDrawing(t *testing.T) {
	for figure, r := range map[string]*week.Report{"felt": sample.NoMetrics(), "steps": sample.NoMetrics(), "capacity": sample.NoCapacity(), "need": {}, "heat map": {}, "cost": {}, "forecast": {}, "demand": {}} {
		if p := plans[figure](r); p.on != nil || p.Title != "" {
			t.Errorf("%s: got %q, want nothing", figure, p.Title)
		}
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		show.Ordinal(1): "1st", show.Ordinal(12): "12th", show.Ordinal(23): "23rd", mondayName("2026-W47"): "16 November", mondayName("2027-W01"): "4 January", mondayName("2026-W53"): "28 December",
		signed(-0.6): "−0.6", signed(2.24): "+2.2", signed(-0.01): "0.0", seconds(0.05): "50\u202fms", seconds(2.5): "2.5\u202fs",
		Lower("A GPU runs slow"): "a GPU runs slow", Lower("KV cache is full"): "KV cache is full", claim(strings.Repeat("x", 91), "short"): "short",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	autumn := sample.Autumn()
	twice := autumn.Hours[6*24+2 : 6*24+4]
	if got := [2]string{hourName(autumn.Hours, 6*24+2), hourName(autumn.Hours, 6*24+3)}; got != [2]string{"Sun 02:00+02:00", "Sun 02:00+01:00"} {
		t.Errorf("the hour that occurs twice: got %v of %v", got, twice)
	}
}

// A day has the width of its hours: 25 on the Sunday on which the clocks go back.
func TestDayTicksAreAtMidnight(t *testing.T) {
	s := laidOut(wide, needPlan(sample.Autumn()).on)
	var at []float64
	for _, p := range s.grids[len(s.grids)-1].Marks[0].Points {
		if !math.IsNaN(p.X) && p.Y == 0 {
			at = append(at, p.X)
		}
	}
	if want := []float64{0, 24, 48, 72, 96, 120, 144, 169}; fmt.Sprint(at) != fmt.Sprint(want) {
		t.Errorf("got ticks at %v, want %v", at, want)
	}
}
