package draw

import (
	"fmt"
	"math"
	"time"

	"tidemark/analysis/week"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// Forecast draws the weekly peaks that came and those to come, against what the replicas hold.
func Forecast(r *week.Report) (Figure, error) { return forecastPlan(r).drawn() }

func forecastPlan(r *week.Report) plan {
	fc := r.Forecast
	if len(fc.History)+len(fc.Ahead) == 0 {
		return plan{}
	}
	f := Figure{Title: forecastTitle(r), Soft: forecastSoft(fc)}
	f.Label = f.Title + fmt.Sprintf(". The weekly peak of %s so far", show.Things(len(fc.History), "week", "weeks"))
	if len(fc.Ahead) > 0 {
		f.Label += fmt.Sprintf(", and a forecast with a band for the %d weeks after", len(fc.Ahead))
	}
	f.Label += "."
	return plan{f, func(s *sheet) { drawForecast(s, r) }}
}

func replicasNow(r *week.Report) int {
	if len(r.Hours) > 0 {
		return r.Hours[len(r.Hours)-1].PaidReplicas
	}
	if len(r.Replicas) > 0 {
		return r.Replicas[len(r.Replicas)-1].Replicas
	}
	return 0
}

func forecastTitle(r *week.Report) string {
	fc, now := r.Forecast, replicasNow(r)
	if fc.Why != "" || len(fc.Ahead) == 0 {
		return "No forecast after " + show.Things(len(fc.History), "week", "weeks") + " of history"
	}
	if r.Basis.RatePerS == nil {
		at := fc.Ahead[0]
		return claim(fmt.Sprintf("Next week’s peak is forecast at %s%srequests/s%s", rate(at.Peak), thin, bandWords(at)))
	}
	next := show.Ordinal(now + 1)
	switch {
	case thisPeak(fc) > r.Holds(now):
		return claim(fmt.Sprintf("The %s replica is needed now: this week’s peak was %s/s, %s hold %s/s", next, rate(thisPeak(fc)), show.Count(now), rate(r.Holds(now))))
	case fc.NextReplicaWeek != "" && fc.EarliestReplica != "" && fc.EarliestReplica != fc.NextReplicaWeek:
		return claim(fmt.Sprintf("The %s replica is needed in the week of %s, %s at the earliest", next, mondayName(fc.NextReplicaWeek), mondayName(fc.EarliestReplica)))
	case fc.NextReplicaWeek != "":
		return claim(fmt.Sprintf("The %s replica is needed in the week of %s", next, mondayName(fc.NextReplicaWeek)))
	case fc.EarliestReplica != "":
		return claim(fmt.Sprintf("%s at the forecast’s centre; a %s is needed %s at the earliest", holds(now), next, mondayName(fc.EarliestReplica)),
			fmt.Sprintf("A %s replica is needed %s at the earliest", next, mondayName(fc.EarliestReplica)))
	}
	return fmt.Sprintf("%s through all %d weeks of the forecast", holds(now), len(fc.Ahead))
}

// thisPeak is the last weekly peak that was measured.
func thisPeak(fc week.Forecast) float64 {
	if len(fc.History) == 0 {
		return 0
	}
	return fc.History[len(fc.History)-1].Peak
}

func holds(n int) string { return show.Things(n, "replica holds", "replicas hold") }

func bandWords(w week.ForecastWeek) string {
	if w.Low == nil || w.High == nil {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", rate(*w.Low), rate(*w.High))
}

func forecastSoft(fc week.Forecast) string {
	words := "Busiest five minutes of each week, n = " + show.Things(len(fc.History), "week", "weeks")
	if fc.Why != "" {
		return words + "; " + fc.Why
	}
	if len(fc.Ahead) == 0 {
		return words
	}
	if fc.GrowthRatio != nil && fc.LowGrowth != nil && fc.HighGrowth != nil {
		words += fmt.Sprintf("; growth %s%s%% a week (%s to %s)", signed(*fc.GrowthRatio*100), thin, signed(*fc.LowGrowth*100), signed(*fc.HighGrowth*100))
	}
	words += "; dashed: " + fc.Method + ", 90" + thin + "% band"
	if fc.Month != nil {
		words += "; hollow: forecast a month ago"
	}
	return words
}

// weekly places weeks on an axis of days.
type weekly struct{ from time.Time }

func (w weekly) at(f week.ForecastWeek) (float64, bool) {
	day, err := time.Parse(time.DateOnly, f.Monday)
	if err != nil {
		var ok bool
		if day, ok = Monday(f.Week); !ok {
			return 0, false
		}
	}
	if w.from.IsZero() {
		return float64(day.Unix()) / 86400, true
	}
	return day.Sub(w.from).Hours() / 24, true
}

func drawForecast(s *sheet, r *week.Report) {
	fc := r.Forecast
	all := append(append([]week.ForecastWeek{}, fc.History...), fc.Ahead...)
	var axis weekly
	if first, ok := axis.at(all[0]); ok {
		axis.from = time.Unix(int64(first)*86400, 0).UTC()
	}
	end := 7.0
	least, most := math.Inf(1), 0.0
	see := func(v float64) { least, most = math.Min(least, v), math.Max(most, v) }
	for _, w := range all {
		if x, ok := axis.at(w); ok {
			end = math.Max(end, x)
		}
		see(w.Peak)
		if w.Low != nil && w.High != nil {
			see(*w.Low)
			see(*w.High)
		}
	}
	hold := s.holdLines(r, most)
	for _, h := range hold {
		see(h.rate)
	}
	y, ticks, isZoomed := around(least, most)
	apart := 6.0 // pixels between lines that can be told from one another
	if s.isNarrow {
		apart = 24 // their names are between them
	}
	if len(hold) > 1 && (hold[1].rate-hold[0].rate)/(y.To-y.From)*220 < apart {
		hold = hold[:1]
	}
	thousands := ""
	if most >= 2000 {
		thousands = "thousands of "
		for i := range ticks {
			ticks[i].text = show.Plain(ticks[i].at / 1000)
		}
	}
	unit := thousands + "requests/s in the week’s busiest five minutes"
	if isZoomed {
		unit += " (axis from " + ticks[0].text + ")"
	}
	if textWidth(unit, false) > s.width-2*inset {
		unit = thousands + "requests/s, busiest 5 min"
		if isZoomed {
			unit += " (from " + ticks[0].text + ")"
		}
	}
	h := &head{unit: unit}
	g := plot.Grid{Left: s.left, Right: s.right, Top: s.above(h), X: plot.Scale{From: -3.5, To: end + 3.5}, Y: y}
	g.Bottom = g.Top + 220
	s.height = g.Bottom + bottom
	s.ticks(&g, ticks)
	s.weekTicks(g, axis, all)
	history, ahead := axis.line(fc.History), axis.line(fc.Ahead)
	if len(history) > 0 && len(ahead) > 0 { // the forecast starts where the history ends
		ahead = append([]plot.Point{history[len(history)-1]}, ahead...)
	}
	g.Marks = append(g.Marks, axis.band(fc, history))
	for _, edge := range edges(g.Marks[len(g.Marks)-1]) {
		s.avoid(g, edge, false)
	}
	s.avoid(g, history, false)
	s.avoid(g, ahead, false)
	var names []ending
	for _, h := range hold {
		limit := []plot.Point{{X: g.X.From, Y: h.rate}, {X: g.X.To, Y: h.rate}}
		m := line("var(--limit)", 2, limit...)
		if !h.isPaid {
			m.Width, m.Dash = 1.5, []float64{7, 4}
		}
		g.Marks = append(g.Marks, m)
		s.avoid(g, limit, false)
		text := holds(h.replicas)
		if !s.isNarrow { // the margin has no room for the verb
			text = s.roomFor(show.Things(h.replicas, "replica", "replicas"), show.Count(h.replicas))
		}
		names = append(names, ending{g.AtY(h.rate), text, "s", "var(--limit)", limit})
	}
	g.Marks = append(g.Marks, plot.Mark{Points: ahead, Stroke: "var(--predicted)", Width: 2.2, Dash: []float64{6, 4}},
		line("var(--measured)", 2, history...),
		plot.Mark{Shape: plot.Dotted, Points: history, Fill: "var(--ground)", Width: 5.5}, plot.Mark{Shape: plot.Dotted, Points: history, Fill: "var(--measured)", Width: 4})
	at := s.crossings(&g, r, axis, hold)
	s.month(&g, fc, axis)
	s.grids = append(s.grids, g)
	if len(ahead) > 0 {
		names = append(names, ending{g.AtY(ahead[len(ahead)-1].Y), "forecast", "p", "var(--predicted)", ahead})
	}
	s.names(g, names...)
	if len(history) > 1 {
		s.beside(g, history, "m", "measured")
	}
	for _, c := range at {
		var spots []plot.Text
		for d := 16.0; d < 80; d += 12 {
			spots = append(spots, plot.Text{X: c.x - 8, Y: c.y - d + 4, Anchor: "end"}, plot.Text{X: c.x + 8, Y: c.y + d + 4}, plot.Text{X: c.x, Y: c.y - d, Anchor: "middle"}, plot.Text{X: c.x, Y: c.y + d + 8, Anchor: "middle"})
		}
		for _, text := range []string{c.text, c.short} {
			if at, found := s.tryInside(g, "s h", text, spots); found {
				s.lead(c, textBox(at))
				break
			}
		}
	}
}

// tryInside is try with places outside of the plot left out.
func (s *sheet) tryInside(g plot.Grid, class, text string, spots []plot.Text) (at plot.Text, found bool) {
	for _, spot := range spots {
		spot.Class, spot.Text = class, text
		b := textBox(spot)
		if b.left >= g.Left+2 && b.right <= g.Right-2 && b.top >= g.Top && b.bottom <= g.Bottom && s.isFree(spot) {
			s.text(spot.X, spot.Y, spot.Anchor, class, text)
			return spot, true
		}
	}
	return at, false
}

// lead draws a leader from a ring to a text that is not right beside it.
func (s *sheet) lead(c crossing, text box) {
	x, y := math.Min(math.Max(c.x, text.left), text.right), text.bottom+1
	if text.top > c.y {
		y = text.top + 1
	}
	dx, dy := x-c.x, y-c.y
	far := math.Hypot(dx, dy)
	if far < 14 {
		return
	}
	s.leaders = append(s.leaders, plot.Leader{Points: []plot.Point{{X: c.x + dx/far*7, Y: c.y + dy/far*7}, {X: x, Y: y}}, Stroke: "var(--ink)"})
}

// hold is what a number of replicas takes, at the end of the capacity that decides.
type hold struct {
	replicas int
	rate     float64
	isPaid   bool
}

func (s *sheet) holdLines(r *week.Report, most float64) []hold {
	now := replicasNow(r)
	if r.Holds(now) <= 0 {
		return nil
	}
	out := []hold{{now, r.Holds(now), true}}
	for n := now + 1; n <= now+2 && (n == now+1 || r.Holds(n) <= most*1.05); n++ {
		out = append(out, hold{n, r.Holds(n), false})
	}
	return out
}

// around is an axis that starts at 0, or above it where all values lie close together far from it.
func around(least, most float64) (plot.Scale, []tick, bool) {
	from := 0.0
	step := nice(most, 5)
	if least > 0.5*most {
		step = nice(most-least, 4)
		from = math.Max(0, math.Floor((least-0.15*(most-least))/step)*step)
	}
	var ticks []tick
	for k := 0; from+float64(k)*step <= most*1.0001; k++ {
		v := from + float64(k)*step
		ticks = append(ticks, tick{v, show.Plain(v)})
	}
	to := most + 0.06*(most-from)
	if !(to > from) {
		to = from + 1
	}
	return plot.Scale{From: from, To: to}, ticks, from > 0
}

func (w weekly) line(weeks []week.ForecastWeek) []plot.Point {
	var out []plot.Point
	for _, f := range weeks {
		if x, ok := w.at(f); ok {
			out = append(out, plot.Point{X: x, Y: f.Peak})
		}
	}
	return out
}

func (w weekly) band(fc week.Forecast, history []plot.Point) plot.Mark {
	m := plot.Mark{Fill: "var(--predicted-band)"}
	for _, f := range fc.Ahead {
		x, ok := w.at(f)
		if !ok || f.Low == nil || f.High == nil {
			continue
		}
		if len(m.Points) == 0 && len(history) > 0 {
			m.Points, m.Lows = append(m.Points, history[len(history)-1]), append(m.Lows, history[len(history)-1].Y)
		}
		m.Points, m.Lows = append(m.Points, plot.Point{X: x, Y: *f.High}), append(m.Lows, *f.Low)
	}
	return m
}

// edges are the upper and the lower line of an area.
func edges(m plot.Mark) [2][]plot.Point {
	out := [2][]plot.Point{m.Points}
	for i, p := range m.Points {
		out[1] = append(out[1], plot.Point{X: p.X, Y: m.Lows[i]})
	}
	return out
}

// weekTicks writes the Mondays, as many as fit.
func (s *sheet) weekTicks(g plot.Grid, axis weekly, all []week.ForecastWeek) {
	foot := plot.Grid{Left: g.Left, Right: g.Right, Top: g.Bottom, Bottom: g.Bottom + 6, X: g.X, Y: plot.Scale{From: 0, To: 1}}
	var marks []plot.Point
	free := 0.0
	for _, w := range all {
		x, ok := axis.at(w)
		if !ok {
			continue
		}
		marks = append(marks, plot.Point{X: x, Y: 0}, plot.Point{X: x, Y: 1}, gap)
		name := axis.from.AddDate(0, 0, int(math.Round(x))).Format("2 Jan")
		half := textWidth(name, false) / 2
		if at := g.AtX(x); at-half >= free && at+half <= s.width {
			s.text(at, g.Bottom+20, "middle", "", name)
			free = at + half + 14
		}
	}
	foot.Marks = []plot.Mark{line("var(--axis)", 1, marks...)}
	s.grids = append(s.grids, foot)
}

// crossing is where the forecast first needs one replica more.
type crossing struct {
	x, y        float64
	text, short string
}

// crossings rings the weeks in which the next replica is needed, by the centre and by the upper edge.
func (s *sheet) crossings(g *plot.Grid, r *week.Report, axis weekly, hold []hold) []crossing {
	fc := r.Forecast
	if len(hold) == 0 || thisPeak(fc) > hold[0].rate { // it is needed now: no week ahead is the first
		return nil
	}
	var out []crossing
	next := show.Ordinal(hold[0].replicas + 1)
	for _, w := range fc.Ahead {
		x, ok := axis.at(w)
		if !ok {
			continue
		}
		mark := func(y float64, text, short string) {
			g.Marks = append(g.Marks, ring(plot.Point{X: x, Y: y}, "var(--limit)")...)
			c := crossing{g.AtX(x), g.AtY(y), text, short}
			s.marks = append(s.marks, box{c.x - 7, c.y - 7, c.x + 7, c.y + 7})
			out = append(out, c)
		}
		if w.Week == fc.NextReplicaWeek {
			mark(w.Peak, next+" replica: week of "+mondayName(w.Week), mondayName(w.Week))
		}
		if w.Week == fc.EarliestReplica && w.Week != fc.NextReplicaWeek && w.High != nil {
			mark(*w.High, mondayName(w.Week)+" at the earliest", mondayName(w.Week))
		}
	}
	return out
}

// month rings what the forecast of a month ago said of this week, with its interval.
func (s *sheet) month(g *plot.Grid, fc week.Forecast, axis weekly) {
	if fc.Month == nil || len(fc.History) == 0 {
		return
	}
	x, ok := axis.at(fc.History[len(fc.History)-1])
	if !ok {
		return
	}
	x += 1.2 // beside the dot of what came
	in := func(v float64) float64 { return math.Min(math.Max(v, g.Y.From), g.Y.To) }
	at := plot.Point{X: x, Y: in(fc.Month.Forecast)}
	g.Marks = append(g.Marks, line("var(--predicted)", 1.5, plot.Point{X: x, Y: in(fc.Month.Low)}, plot.Point{X: x, Y: in(fc.Month.High)}))
	g.Marks = append(g.Marks, plot.Mark{Shape: plot.Dotted, Points: []plot.Point{at}, Fill: "var(--predicted)", Width: 4.5}, plot.Mark{Shape: plot.Dotted, Points: []plot.Point{at}, Fill: "var(--ground)", Width: 2.5})
	s.marks = append(s.marks, box{g.AtX(x) - 6, g.AtY(in(fc.Month.High)), g.AtX(x) + 6, g.AtY(in(fc.Month.Low))})
}
