package draw

import (
	"fmt"
	"math"
	"strconv"

	"tidemark/analysis/week"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// Capacity draws the share of requests within the SLO over the rate of one replica, on an axis on which each halving of
// the misses takes the same room.
func Capacity(r *week.Report) (Figure, error) { return capacityPlan(r).drawn() }

func capacityPlan(r *week.Report) plan {
	b := r.Basis
	if b.RatePerS == nil || len(b.Curve)+len(b.Points) == 0 {
		return plan{}
	}
	f := Figure{Title: capacityTitle(b), Soft: capacitySoft(r)}
	f.Label = f.Title + ". The share of requests within the SLO falls as the rate of one replica grows."
	return plan{f, func(s *sheet) { drawCapacity(s, r) }}
}

func interval(centre float64, low, high *float64) string {
	if low == nil || high == nil {
		return rate(centre)
	}
	return fmt.Sprintf("%s (%s to %s)", rate(centre), rate(*low), rate(*high))
}

func capacityTitle(b week.Basis) string {
	takes := fmt.Sprintf("A replica handles %s%srequests/s%s", rate(*b.RatePerS), thin, intervalOnly(b))
	if b.Kind == "predicted" || b.Kind == "rehearsed" {
		takes = fmt.Sprintf("Rehearsed, a replica handles %s%srequests/s%s", rate(*b.RatePerS), thin, intervalOnly(b))
	}
	if b.Binding == "" {
		return claim(takes)
	}
	return claim(takes+"; "+binds(b.Binding)+" binds", takes)
}

func intervalOnly(b week.Basis) string {
	if b.LowRatePerS == nil || b.HighRatePerS == nil {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", rate(*b.LowRatePerS), rate(*b.HighRatePerS))
}

func capacitySoft(r *week.Report) string {
	b := r.Basis
	words := "Share of requests within the SLO"
	if b.Binding != "" {
		words = "Share of requests within " + bound(r.SLO, b.Binding)
	}
	words += ", over the rate of one replica; misses on a logarithmic axis."
	invalid := 0
	for _, p := range b.Points {
		if !p.IsValid {
			invalid++
		}
	}
	if n := len(b.Points); n > 0 {
		words += fmt.Sprintf(" Points: n = %d runs of the search with 90%s%% intervals", n, thin)
		if invalid > 0 {
			words += fmt.Sprintf(", hollow: %d invalid, not counted", invalid)
		}
		words += "."
	} else {
		words += " No run measured it."
	}
	if len(b.Curve) > 0 {
		words += " Dashed, with band: rehearsed."
	}
	return words
}

// bound writes an objective with its limit: p99 TTFT 1 s.
func bound(slo week.SLO, name string) string {
	for _, o := range slo.Objectives {
		if o.Name == name {
			return fmt.Sprintf("%s %s %s", show.Percentile(o.Percent), show.Words(o.Metric), seconds(o.AtMost))
		}
	}
	return name
}

// missTicks are shares of misses that the axis may name.
var missTicks = []float64{0.5, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001, 0.00003, 0.00001}

// weekRate is the rate of one replica in the busiest five minutes of the week.
func weekRate(r *week.Report) float64 {
	b := busiest(r)
	if b < 0 || r.Sums.PeakRatePerS == nil || r.Hours[b].PaidReplicas == 0 {
		return math.NaN()
	}
	return *r.Sums.PeakRatePerS / float64(r.Hours[b].PaidReplicas)
}

// missScale maps shares of misses to an axis that ends at best and worst.
type missScale struct{ best, worst float64 }

func (m missScale) at(missed float64) float64 {
	return -math.Log10(math.Min(math.Max(missed, m.best), m.worst))
}

func missScaleOf(b week.Basis, from, to float64) missScale {
	allowed := 0.01
	if b.AllowedRatio != nil && *b.AllowedRatio > 0 {
		allowed = *b.AllowedRatio
	}
	m := missScale{best: allowed / 8, worst: math.Min(allowed*8, 1)}
	for _, p := range b.Points {
		if p.Missed > 0 {
			m.best = math.Min(m.best, p.Missed*0.7)
		}
		m.worst = math.Max(m.worst, math.Min(p.High*1.2, 1))
	}
	for _, c := range b.Curve {
		if c.RatePerS >= from && c.RatePerS <= to {
			m.worst = math.Max(m.worst, math.Min(c.Missed*1.2, 1))
		}
	}
	m.best = math.Max(m.best, allowed/100)
	return m
}

func drawCapacity(s *sheet, r *week.Report) {
	b, now := r.Basis, weekRate(r)
	low, high := *b.RatePerS, *b.RatePerS
	if b.LowRatePerS != nil && b.HighRatePerS != nil {
		low, high = *b.LowRatePerS, *b.HighRatePerS
	}
	from, to := low, high
	for _, p := range b.Points {
		from, to = math.Min(from, p.RatePerS), math.Max(to, p.RatePerS)
	}
	isNear := now > 0.35*low && now < 3*high // far off it would squeeze everything else into a corner
	if isNear {
		from, to = math.Min(from, now), math.Max(to, now)
	}
	from, to = from-0.12*(to-from)-0.02*to, to+0.08*(to-from)+0.02*to
	from = math.Max(from, 0)
	misses := missScaleOf(b, from, to)
	h := &head{unit: "% within the SLO"}
	middle := s.left + (math.Sqrt(low*high)-from)/(to-from)*(s.right-s.left)
	holds := "holds up to " + interval(*b.RatePerS, b.LowRatePerS, b.HighRatePerS) + "/s"
	top := 26.0
	s.text(inset, 13, "", "i", h.unit)
	half := textWidth(holds, true) / 2
	if !s.isNarrow && middle-half > textWidth(h.unit, false)+14 {
		s.text(math.Min(middle, s.width-half), 13, "middle", "p", holds)
	} else {
		top += rowHeight
		s.text(math.Min(math.Max(middle, half), s.width-half), 13+rowHeight, "middle", "p", holds)
	}
	for range s.keys {
		top += rowHeight
	}
	for i, k := range s.keys {
		s.text(inset, top-13-float64(len(s.keys)-1-i)*rowHeight, "", k.class, fit(k.text, plot.IsBold(k.class), s.width))
	}
	g := plot.Grid{Left: s.left, Right: s.right, Top: top, Bottom: top + 220, X: plot.Scale{From: from, To: to},
		Y: plot.Scale{From: -math.Log10(misses.worst), To: -math.Log10(misses.best)}}
	s.height = g.Bottom + 44
	// No text is put beyond the axes: only the plot itself is free.
	if low < high {
		g.Marks = append(g.Marks, plot.Mark{Shape: plot.Boxed, Points: []plot.Point{{X: low, Y: g.Y.From}, {X: high, Y: g.Y.To}}, Fill: "var(--predicted-band)", Alpha: 0.5})
	}
	s.missTicks(&g, misses)
	s.rateTicks(&g)
	curve := s.curve(&g, b, misses)
	s.slo(&g, b, misses)
	if isNear {
		g.Marks = append(g.Marks, line("var(--measured)", 2, plot.Point{X: now, Y: g.Y.From}, plot.Point{X: now, Y: g.Y.To}))
		s.mark(g, now, g.Y.From, now, g.Y.To)
	}
	s.probes(&g, b, misses)
	s.grids = append(s.grids, g)
	switch {
	case isNear:
		var spots []plot.Text
		for y := g.Bottom - 12; y > g.Top+14; y -= 20 {
			spots = append(spots, plot.Text{X: g.AtX(now) - 8, Y: y, Anchor: "end"}, plot.Text{X: g.AtX(now) + 8, Y: y})
		}
		k := key{"this week’s busiest: " + rate(now) + "/s", "m"}
		s.tryOrKey(k, g, spots)
	case now > 0:
		s.tryOrKey(key{"this week’s busiest, off the axis: " + rate(now) + "/s", "m"}, g, []plot.Text{{X: g.Left + 5, Y: g.Bottom - 8}, {X: g.Right - 5, Y: g.Top + 16, Anchor: "end"}})
	}
	if len(curve) > 0 {
		var spots []plot.Text
		for i := range curve {
			at := curve[len(curve)-1-i]
			if !math.IsNaN(at.Y) {
				for d := 14.0; d < 90; d += 12 {
					spots = append(spots, plot.Text{X: g.AtX(at.X), Y: g.AtY(at.Y) + d + 6, Anchor: "end"}, plot.Text{X: g.AtX(at.X), Y: g.AtY(at.Y) - d})
				}
			}
		}
		s.tryOrKey(key{"dashed: rehearsed", "p"}, g, spots)
	}
}

// tryOrKey writes inside the plot, or above it where there is no room.
func (s *sheet) tryOrKey(k key, g plot.Grid, spots []plot.Text) {
	for _, known := range s.keys {
		if known == k {
			return
		}
	}
	for _, spot := range spots {
		spot.Class, spot.Text = k.class+" h", k.text
		b := textBox(spot)
		if b.left >= g.Left+3 && b.right <= g.Right-3 && b.top >= g.Top && b.bottom <= g.Bottom-1 && s.isFree(spot) {
			s.text(spot.X, spot.Y, spot.Anchor, spot.Class, spot.Text)
			return
		}
	}
	s.failed = append(s.failed, k)
}

func (s *sheet) missTicks(g *plot.Grid, misses missScale) {
	var ticks []tick
	for _, m := range missTicks {
		if m >= misses.best*0.999 && m <= misses.worst*1.001 {
			ticks = append(ticks, tick{misses.at(m), show.Plain(math.Round((1-m)*1e7) / 1e5)})
		}
	}
	s.ticks(g, ticks)
}

// rateTicks writes the X axis.
func (s *sheet) rateTicks(g *plot.Grid) {
	n := 8
	if s.isNarrow {
		n = 4
	}
	step := nice(g.X.To-g.X.From, n)
	axis := plot.Grid{Left: g.Left, Right: g.Right, Top: g.Bottom, Bottom: g.Bottom + 5, X: g.X, Y: plot.Scale{From: 0, To: 1}}
	var marks []plot.Point
	places := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	for k := math.Ceil(g.X.From / step); k*step <= g.X.To+1e-9; k++ {
		text := strconv.FormatFloat(k*step, 'f', places, 64)
		if x := g.AtX(k * step); x+textWidth(text, false)/2 <= s.width {
			s.text(x, g.Bottom+18, "middle", "", text)
		}
		marks = append(marks, plot.Point{X: k * step, Y: 0}, plot.Point{X: k * step, Y: 1}, gap)
	}
	axis.Marks = []plot.Mark{line("var(--axis)", 1, marks...)}
	s.grids = append(s.grids, axis)
	s.text(g.Right, g.Bottom+37, "end", "", "requests/s of one replica")
}

// curve draws what was rehearsed and returns its centre.
func (s *sheet) curve(g *plot.Grid, b week.Basis, misses missScale) []plot.Point {
	band := plot.Mark{Fill: "var(--predicted-band)"}
	centre := plot.Mark{Stroke: "var(--predicted)", Width: s.strokes(2), Dash: []float64{6, 4}}
	for _, c := range b.Curve {
		if c.RatePerS < g.X.From || c.RatePerS > g.X.To {
			continue
		}
		if c.High > misses.best && c.Low < misses.worst {
			band.Points, band.Lows = append(band.Points, plot.Point{X: c.RatePerS, Y: misses.at(c.Low)}), append(band.Lows, misses.at(c.High))
		}
		y := misses.at(c.Missed)
		if c.Missed < misses.best || c.Missed > misses.worst {
			y = math.NaN()
		}
		centre.Points = append(centre.Points, plot.Point{X: c.RatePerS, Y: y})
	}
	g.Marks = append(g.Marks, band, centre)
	for i := 0; i+1 < len(band.Points); i++ { // neither across the band nor across its edges
		s.mark(*g, band.Points[i].X, band.Points[i].Y, band.Points[i+1].X, band.Lows[i])
	}
	s.avoid(*g, centre.Points, false)
	return centre.Points
}

func (s *sheet) slo(g *plot.Grid, b week.Basis, misses missScale) {
	if b.AllowedRatio == nil {
		return
	}
	y := misses.at(*b.AllowedRatio)
	limit := []plot.Point{{X: g.X.From, Y: y}, {X: g.X.To, Y: y}}
	g.Marks = append(g.Marks, line("var(--limit)", 2, limit...))
	s.avoid(*g, limit, false)
	s.names(*g, ending{g.AtY(y), show.Plain((1-*b.AllowedRatio)*100) + thin + "%, the SLO", "s", "var(--limit)", limit})
}

// probes draws the runs of the search.
func (s *sheet) probes(g *plot.Grid, b week.Basis, misses missScale) {
	colour := "var(--measured)"
	if b.Kind == "predicted" || b.Kind == "rehearsed" || b.Kind == "simulated" {
		colour = "var(--predicted)"
	}
	var bars, all, hollow []plot.Point
	cap := 4 / (g.Right - g.Left) * (g.X.To - g.X.From)
	for _, p := range b.Points {
		low, high := misses.at(p.High), misses.at(p.Low)
		bars = append(bars, plot.Point{X: p.RatePerS, Y: low}, plot.Point{X: p.RatePerS, Y: high}, gap)
		for _, y := range []float64{low, high} {
			bars = append(bars, plot.Point{X: p.RatePerS - cap, Y: y}, plot.Point{X: p.RatePerS + cap, Y: y}, gap)
		}
		at := plot.Point{X: p.RatePerS, Y: misses.at(p.Missed)}
		all = append(all, at)
		if !p.IsValid {
			hollow = append(hollow, at)
		}
		s.marks = append(s.marks, box{g.AtX(p.RatePerS) - 6, g.AtY(high) - 2, g.AtX(p.RatePerS) + 6, g.AtY(low) + 2})
	}
	dots := func(points []plot.Point, fill string, radius float64) plot.Mark {
		return plot.Mark{Shape: plot.Dotted, Points: points, Fill: fill, Width: radius}
	}
	g.Marks = append(g.Marks, line(colour, 1.5, bars...), dots(all, "var(--ground)", 6), dots(all, colour, 4.5), dots(hollow, "var(--ground)", 3))
}
