package draw

import (
	"fmt"
	"math"

	"tidemark/analysis/week"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// flow is one measure of the demand, a second.
type flow struct {
	what  string
	value []float64
	usual []*week.Usual // an hour
}

// Demand draws requests and tokens by hour against the same hour of the weeks before.
func Demand(r *week.Report) (Figure, error) { return demandPlan(r).drawn() }

func demandPlan(r *week.Report) plan {
	if len(r.Hours) == 0 {
		return plan{}
	}
	flows := flowsOf(r)
	f := Figure{Title: demandTitle(r, flows[0].value), Soft: demandSoft(r)}
	f.Label = f.Title + ". Requests, input tokens and output tokens a second by hour"
	if weeksBefore(r) > 0 {
		f.Label += fmt.Sprintf(", against the range of the %s", before(r))
	}
	f.Label += "."
	return plan{f, func(s *sheet) { drawDemand(s, r, flows) }}
}

func flowsOf(r *week.Report) []flow {
	flows := []flow{{what: "Requests/s"}, {what: "Input tokens/s"}, {what: "Output tokens/s"}}
	for _, h := range r.Hours {
		values := []float64{deref(h.Requests), deref(h.InputTokens), deref(h.OutputTokens)}
		usual := []*week.Usual{h.UsualRequests, h.UsualInputTokens, h.UsualOutputTokens}
		for i := range flows {
			v := values[i] / 3600
			if h.IsMissing {
				v = math.NaN()
			}
			flows[i].value, flows[i].usual = append(flows[i].value, v), append(flows[i].usual, usual[i])
		}
	}
	return flows
}

// weeksBefore is how many weeks the usual rests on.
func weeksBefore(r *week.Report) int {
	most := 0
	for _, h := range r.Hours {
		if h.UsualRequests != nil {
			most = max(most, h.UsualRequests.Weeks)
		}
	}
	return most
}

func before(r *week.Report) string {
	if n := weeksBefore(r); n > 1 {
		return fmt.Sprintf("%d weeks before", n)
	}
	return "week before"
}

func demandTitle(r *week.Report, rates []float64) string {
	for _, c := range r.Changes {
		if c.Figure != "requests" || c.Ratio == nil || c.Low == nil || c.High == nil {
			continue
		}
		grown := *c.Ratio * 100
		interval := fmt.Sprintf("(%s to %s)", tenths(*c.Low*100), tenths(*c.High*100))
		switch {
		case c.IsTold && grown > 0:
			return fmt.Sprintf("Traffic grew by %s%s%% on last week %s", tenths(grown), thin, interval)
		case c.IsTold:
			return fmt.Sprintf("Traffic fell by %s%s%% on last week (%s to %s)", tenths(-grown), thin, tenths(-*c.High*100), tenths(-*c.Low*100))
		}
		return fmt.Sprintf("Traffic differs from last week’s by no more than chance: %s%s%% (%s to %s)", signed(grown), thin, signed(*c.Low*100), signed(*c.High*100))
	}
	if r.Sums.Requests == 0 {
		return fmt.Sprintf("No request came in %s", show.Things(covered(r), "covered hour", "covered hours"))
	}
	at := top(rates)
	return claim(fmt.Sprintf("%s came, at most %s/s, on %s", show.Things(r.Sums.Requests, "request", "requests"), rate(rates[at]), hourName(r.Hours, at)))
}

// top is the index of the largest value, 0 without any.
func top(values []float64) int {
	at := 0
	for i, v := range values {
		if !math.IsNaN(v) && !(v <= values[at]) {
			at = i
		}
	}
	return at
}

func demandSoft(r *week.Report) string {
	words := fmt.Sprintf("Hourly means, local time. Blue: this week, n = %s.", show.Things(r.Sums.Requests, "request", "requests"))
	if weeksBefore(r) > 0 {
		words += " Grey: median and range of the " + before(r) + " at the same hour."
	} else {
		words += " There is no week before to compare with."
	}
	if r.Sums.MissingHours > 0 {
		words += " Hatched: no source covers it."
	}
	return words
}

func drawDemand(s *sheet, r *week.Report, flows []flow) {
	n := len(r.Hours)
	peak := top(flows[0].value)
	_, _, factor, thousands := fromZero(flows[0].highest(), 3)
	h := &head{unit: unitOf(flows[0].what, thousands)}
	h.gap, h.gapX, h.gapW = s.gapWords(r.Hours)
	if v := flows[0].value[peak]; v > 0 {
		name := fmt.Sprintf("%s: %s", hourName(r.Hours, peak), rate(v/factor))
		h.notes = []note{{x: s.hourX(r.Hours, float64(peak)+0.5), text: name, class: "m", sign: "○ "}}
	}
	y := s.above(h)
	for k, f := range flows {
		height := 96.0
		if k == 0 {
			height = 176
		}
		scale, ticks, factor, thousands := fromZero(f.highest(), 3)
		if k > 0 {
			s.text(inset, y+13, "", "i", unitOf(f.what, thousands))
			y += 26
		}
		g := s.strip(r.Hours, y, height, scale, ticks)
		this := middles(n, func(i int) float64 { return f.value[i] / factor })
		median := middles(n, func(i int) float64 { return f.of(i, factor, func(u *week.Usual) float64 { return u.Median }) })
		highs := middles(n, func(i int) float64 { return f.of(i, factor, func(u *week.Usual) float64 { return u.High }) })
		lows := make([]float64, n)
		for i := range lows {
			lows[i] = f.of(i, factor, func(u *week.Usual) float64 { return u.Low })
		}
		g.Marks = append(g.Marks, plot.Mark{Points: highs, Lows: lows, Fill: "var(--history)"}, line("var(--axis)", 1, median...),
			plot.Mark{Points: this, Stroke: "var(--measured)", Width: s.strokes(2)}, plot.Mark{Shape: plot.Dotted, Points: lonely(this), Fill: "var(--measured)", Width: 2})
		if k == 0 && len(h.notes) > 0 {
			at := this[peak]
			g.Marks = append(g.Marks, ring(at, "var(--measured)")...)
			g = s.over(r.Hours, g)
			s.pin(h, []float64{g.AtY(at.Y) - 6})
		} else {
			g = s.over(r.Hours, g)
			if k == 0 {
				s.pin(h, nil)
			}
		}
		s.avoid(g, this, false)
		s.avoid(g, median, false)
		if k == 0 {
			s.demandNames(g, r, this, median)
		}
		y = g.Bottom + 8
		if k == len(flows)-1 {
			s.days(r.Hours, g)
		}
	}
}

func (s *sheet) demandNames(g plot.Grid, r *week.Report, this, median []plot.Point) {
	var names []ending
	if at, known := last(this); known {
		names = append(names, ending{g.AtY(at.Y), "this week", "m", "var(--measured)", this})
	}
	if at, known := last(median); known {
		names = append(names, ending{g.AtY(at.Y) + 1, before(r), "", "var(--axis)", median})
	}
	s.names(g, names...)
}

// of is a figure of the weeks before, a second.
func (f flow) of(i int, factor float64, get func(u *week.Usual) float64) float64 {
	if f.usual[i] == nil {
		return math.NaN()
	}
	return get(f.usual[i]) / 3600 / factor
}

func (f flow) highest() float64 {
	out := 0.0
	for i, v := range f.value {
		if !math.IsNaN(v) {
			out = math.Max(out, v)
		}
		if f.usual[i] != nil {
			out = math.Max(out, f.usual[i].High/3600)
		}
	}
	return out
}
