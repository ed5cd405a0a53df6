package draw

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis/week"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// latency is one metric of production, hour by hour. A quantile is known to the bucket that holds it.
type latency struct {
	name   string // TTFT
	rank   string // p99: the quantile of the objective, or 99 without one
	rows   []*week.Felt
	upper  []*week.Bounds // of rank
	limit  float64        // seconds; NaN without one
	broken []int
	count  int // hours with that quantile
}

// Felt draws latencies in production, and what failed.
func Felt(r *week.Report) (Figure, error) { return feltPlan(r).drawn() }

func feltPlan(r *week.Report) plan {
	ttft, tpot := latencyOf(r, "ttft"), latencyOf(r, "tpot")
	if ttft.count+tpot.count == 0 || len(r.Hours) == 0 {
		return plan{}
	}
	failed := failures(r)
	f := Figure{Title: feltTitle(r, ttft, tpot), Soft: "Production histograms by hour: a quantile is known to its bucket only, so the bucket is drawn."}
	if failed != nil && slices.Max(failed) == 0 {
		f.Soft += " No request failed or was rejected."
	}
	if r.Sums.MissingHours > 0 {
		f.Soft += " Hatched: no data."
	}
	f.Label = f.Title + ". Buckets of time to first token and of time per token by hour, with their limits."
	return plan{f, func(s *sheet) { drawFelt(s, r, ttft, tpot, failed) }}
}

func latencyOf(r *week.Report, metric string) latency {
	l := latency{name: show.Words(metric), rank: "p99", rows: make([]*week.Felt, len(r.Hours)), upper: make([]*week.Bounds, len(r.Hours)), limit: math.NaN()}
	for _, o := range r.SLO.Objectives {
		if strings.HasPrefix(o.Metric, metric) && (o.Percent == 50 || o.Percent == 95) {
			l.rank = show.Percentile(o.Percent)
		}
	}
	at := hourAt(r.Hours)
	for k := range r.Felt {
		f := &r.Felt[k]
		i, known := at[f.Start.Unix()]
		if f.Metric != metric || !known || r.Hours[i].IsMissing {
			continue
		}
		l.rows[i] = f
		l.upper[i] = map[string]*week.Bounds{"p50": f.P50, "p95": f.P95, "p99": f.P99}[l.rank]
		if l.upper[i] != nil {
			l.count++
		}
		if f.Limit != nil {
			l.limit = *f.Limit
		}
		if f.IsBroken {
			l.broken = append(l.broken, i)
		}
	}
	slices.Sort(l.broken)
	return l
}

func feltTitle(r *week.Report, ttft, tpot latency) string {
	for _, l := range []latency{ttft, tpot} {
		if n := len(l.broken); n > 0 {
			what := fmt.Sprintf("%s %s broke its limit of %s in %d of %d hours", l.rank, l.name, seconds(l.limit), n, l.count)
			if math.IsNaN(l.limit) {
				what = fmt.Sprintf("%s %s broke its limit in %d of %d hours", l.rank, l.name, n, l.count)
			}
			where := ": " + hourList(r.Hours, l.broken)
			if n > 2 && l.broken[n-1]-l.broken[0] != n-1 {
				where = ", first on " + hourName(r.Hours, l.broken[0])
			}
			return claim(what+where, what)
		}
	}
	l := ttft
	if l.count == 0 {
		l = tpot
	}
	if math.IsNaN(l.limit) {
		worst := l.highest()
		return claim(fmt.Sprintf("%s %s was highest on %s, between %s and %s", l.rank, l.name, hourName(r.Hours, worst), seconds(l.upper[worst].Low), seconds(ceiling(l.upper[worst]))))
	}
	doubtful := where(len(l.upper), func(i int) bool { return l.upper[i] != nil && ceiling(l.upper[i]) > l.limit })
	if len(doubtful) == 0 {
		return claim(fmt.Sprintf("%s %s kept its limit of %s in all %d hours with data", l.rank, l.name, seconds(l.limit), l.count))
	}
	return claim(fmt.Sprintf("No hour broke %s %s %s for certain; in %d of %d it may have", l.rank, l.name, seconds(l.limit), len(doubtful), l.count))
}

// highest is the hour with the highest bucket.
func (l latency) highest() int {
	at := -1
	for i, b := range l.upper {
		if b != nil && (at < 0 || b.Low > l.upper[at].Low) {
			at = i
		}
	}
	return at
}

// ceiling is the upper bound of a bucket; an open one is drawn to twice its lower bound.
func ceiling(b *week.Bounds) float64 {
	if b.High != nil {
		return *b.High
	}
	return 2 * b.Low
}

// failures are the errors and rejections of each hour; nil where nothing is known of them.
func failures(r *week.Report) []float64 {
	out := make([]float64, len(r.Hours))
	at, known := hourAt(r.Hours), false
	for _, f := range r.Felt {
		i, isHour := at[f.Start.Unix()]
		if f.Metric != "ttft" || !isHour {
			continue
		}
		for _, perS := range []*float64{f.Errors, f.Rejected} {
			if perS != nil {
				known = true
				out[i] += *perS * 3600
			}
		}
	}
	if !known {
		return nil
	}
	return out
}

func drawFelt(s *sheet, r *week.Report, ttft, tpot latency, failed []float64) {
	var shown []latency
	for _, l := range []latency{ttft, tpot} {
		if l.count > 0 {
			shown = append(shown, l)
		}
	}
	h := &head{unit: shown[0].unit()}
	h.gap, h.gapX, h.gapW = s.gapWords(r.Hours)
	if n := len(shown[0].broken); n > 0 {
		i := shown[0].broken[0]
		b := shown[0].upper[i]
		text := hourList(r.Hours, shown[0].broken) + ": limit broken"
		if b != nil {
			text = fmt.Sprintf("%s, %s: above %s", hourList(r.Hours, shown[0].broken), shown[0].rank, seconds(b.Low))
		}
		short := hourList(r.Hours, shown[0].broken) + " broke it"
		if !s.isNarrow {
			text, short = "✕ "+text, "✕ "+short
		}
		h.notes = []note{{x: s.hourX(r.Hours, float64(i)+0.5), text: text, short: short, class: "x", sign: "✕ "}}
	}
	if s.isNarrow {
		h.lines = []string{"full: " + shown[0].rank + ", pale: p50"}
	}
	y := s.above(h)
	var g plot.Grid
	for k, l := range shown {
		height := 150.0
		if k > 0 {
			s.text(inset, y+13, "", "i", l.unit())
			if s.isNarrow && !math.IsNaN(l.limit) { // the line is too near the buckets for a name beside it
				s.text(s.width-inset, y+13, "end", "s", "limit "+seconds(l.limit))
			}
			y, height = y+26, 96
		}
		g = l.draw(s, r, y, height)
		if k == 0 {
			var ys []float64
			if n := len(l.broken); n > 0 {
				ys = []float64{g.AtY(l.at(ceilingOr(l.upper[l.broken[0]], l.limit)))}
			}
			s.pin(h, ys)
		}
		y = g.Bottom + 8
	}
	if failed != nil && slices.Max(failed) > 0 {
		g = s.failures(r, y, failed)
	}
	s.days(r.Hours, g)
}

func ceilingOr(b *week.Bounds, otherwise float64) float64 {
	if b == nil {
		return otherwise
	}
	return ceiling(b)
}

// isMs says whether the metric is written in milliseconds.
func (l latency) isMs() bool {
	top := 0.0
	if !math.IsNaN(l.limit) {
		top = l.limit
	}
	for _, b := range l.upper {
		if b != nil {
			top = math.Max(top, ceiling(b))
		}
	}
	return top < 1
}

func (l latency) unit() string {
	unit := "s"
	if l.isMs() {
		unit = "ms"
	}
	if l.rank == "p50" {
		return l.name + ", " + unit + ": the bucket of p50"
	}
	return l.name + ", " + unit + ": buckets of p50 and " + l.rank
}

// at is the place of a time on the axis: each doubling takes the same room.
func (l latency) at(seconds float64) float64 { return math.Log2(math.Max(seconds, 1e-9)) }

// edges are the bounds of the buckets that are drawn, and the limit.
func (l latency) edges() []float64 {
	var out []float64
	add := func(v float64) {
		if v > 0 && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	for i, f := range l.rows {
		for _, b := range []*week.Bounds{l.upper[i], p50(f)} {
			if b != nil {
				add(b.Low)
				add(ceiling(b))
			}
		}
	}
	if !math.IsNaN(l.limit) {
		add(l.limit)
	}
	slices.Sort(out)
	return out
}

func p50(f *week.Felt) *week.Bounds {
	if f == nil {
		return nil
	}
	return f.P50
}

// draw makes the strip of one metric.
func (l latency) draw(s *sheet, r *week.Report, top, height float64) plot.Grid {
	edges := l.edges()
	least, most := edges[0], edges[len(edges)-1]
	if l.startsAtZero() || least == most {
		least /= 2 // a bucket from 0 is drawn half a doubling deep
	}
	y := plot.Scale{From: l.at(least), To: l.at(most) + 0.15}
	factor := 1.0
	if l.isMs() {
		factor = 1e3
	}
	var ticks []tick
	taken := math.Inf(1)
	for _, e := range edges {
		text := show.Plain(e * factor)
		pixel := top + height - (l.at(e)-y.From)/(y.To-y.From)*height
		if taken-pixel < 16 && e != l.limit {
			text = ""
		} else if e == l.limit && len(ticks) > 0 && taken-pixel < 16 {
			ticks[len(ticks)-1].text = ""
		}
		if text != "" {
			taken = pixel
		}
		ticks = append(ticks, tick{l.at(e), text})
	}
	g := s.strip(r.Hours, top, height, y, ticks)
	low := func(b *week.Bounds) float64 { return l.at(math.Max(b.Low, least)) }
	n := len(r.Hours)
	bounds := func(get func(i int) *week.Bounds) (lows, highs []float64) {
		for i := range n {
			b := get(i)
			if b == nil {
				lows, highs = append(lows, math.NaN()), append(highs, math.NaN())
				continue
			}
			lows, highs = append(lows, low(b)), append(highs, l.at(ceiling(b)))
		}
		return lows, highs
	}
	box := func(fill, stroke string, lows, highs []float64) plot.Mark {
		return plot.Mark{Shape: plot.Boxed, Points: boxes(lows, highs), Fill: fill, Stroke: stroke, Width: 1}
	}
	isBroken := func(i int) bool { return slices.Contains(l.broken, i) }
	upperLow, upperHigh := bounds(func(i int) *week.Bounds {
		if isBroken(i) {
			return nil
		}
		return l.upper[i]
	})
	brokenLow, brokenHigh := bounds(func(i int) *week.Bounds {
		if !isBroken(i) {
			return nil
		}
		return l.upper[i]
	})
	medianLow, medianHigh := bounds(func(i int) *week.Bounds { return p50(l.rows[i]) })
	sameLow, sameHigh := make([]float64, n), make([]float64, n)
	for i := range n { // both in one bucket: the median is drawn inside of it
		sameLow[i], sameHigh[i] = math.NaN(), math.NaN()
		if medianLow[i] == upperLow[i] && medianHigh[i] == upperHigh[i] {
			room := (medianHigh[i] - medianLow[i]) * 0.3
			sameLow[i], sameHigh[i] = medianLow[i]+room, medianHigh[i]-room
			medianLow[i] = math.NaN()
		}
	}
	if l.rank != "p50" {
		g.Marks = append(g.Marks, box("var(--measured-band)", "var(--measured-edge)", medianLow, medianHigh))
	}
	g.Marks = append(g.Marks, box("var(--measured)", "", upperLow, upperHigh), box("var(--bad)", "", brokenLow, brokenHigh))
	if l.rank != "p50" {
		g.Marks = append(g.Marks, box("var(--measured-band)", "", sameLow, sameHigh))
	}
	var names []ending
	if !math.IsNaN(l.limit) {
		limit := []plot.Point{{X: 0, Y: l.at(l.limit)}, {X: float64(n), Y: l.at(l.limit)}}
		g.Marks = append(g.Marks, line("var(--limit)", 2, limit...))
		s.avoid(g, limit, false)
		if s.isNarrow && len(s.grids) > 0 {
			limit = nil
		}
		names = append(names, ending{g.AtY(l.at(l.limit)), "limit " + seconds(l.limit), "s", "var(--limit)", limit})
	}
	for _, b := range boxesOf(upperLow, upperHigh, medianLow, medianHigh, brokenLow, brokenHigh) {
		s.mark(g, b[0].X, b[0].Y, b[1].X, b[1].Y)
	}
	g = s.over(r.Hours, g)
	if !s.isNarrow {
		names = append(names, l.quantileNames(g)...)
	}
	s.names(g, names...)
	return g
}

// boxesOf are the boxes of several pairs of bounds.
func boxesOf(pairs ...[]float64) [][2]plot.Point {
	var out [][2]plot.Point
	for k := 0; k+1 < len(pairs); k += 2 {
		corners := boxes(pairs[k], pairs[k+1])
		for i := 0; i+1 < len(corners); i += 2 {
			out = append(out, [2]plot.Point{corners[i], corners[i+1]})
		}
	}
	return out
}

// startsAtZero says that the lowest bucket that is drawn begins at 0.
func (l latency) startsAtZero() bool {
	return slices.ContainsFunc(l.upper, func(b *week.Bounds) bool { return b != nil && b.Low <= 0 }) ||
		slices.ContainsFunc(l.rows, func(f *week.Felt) bool { b := p50(f); return b != nil && b.Low <= 0 })
}

// quantileNames are the names at the right, beside the last buckets.
func (l latency) quantileNames(g plot.Grid) []ending {
	var names []ending
	middle := func(b *week.Bounds) float64 {
		low := math.Max(l.at(b.Low), g.Y.From)
		return g.AtY((low + l.at(ceiling(b))) / 2)
	}
	for i := len(l.rows) - 1; i >= 0; i-- {
		if l.rows[i] == nil || l.upper[i] == nil {
			continue
		}
		names = append(names, ending{middle(l.upper[i]), l.rank, "m", "var(--measured)", nil})
		if b := p50(l.rows[i]); b != nil && l.rank != "p50" {
			names = append(names, ending{middle(b) + 1, "p50, pale", "m", "var(--measured)", nil})
		}
		break
	}
	return names
}

// failures draws errors and rejections as bars.
func (s *sheet) failures(r *week.Report, top float64, failed []float64) plot.Grid {
	y, ticks, factor, thousands := fromZero(slices.Max(failed), 2)
	s.text(inset, top+13, "", "i", unitOf("Errors and rejections, requests an hour", thousands))
	g := s.strip(r.Hours, top+26, 64, y, ticks)
	zeros, bars := make([]float64, len(failed)), make([]float64, len(failed))
	most, sum := 0, 0.0
	for i, v := range failed {
		bars[i] = v / factor
		sum += v
		if v > failed[most] {
			most = i
		}
		if v > 0 {
			s.mark(g, float64(i), 0, float64(i+1), bars[i])
		}
	}
	g.Marks = append(g.Marks, plot.Mark{Shape: plot.Boxed, Points: boxes(zeros, bars), Fill: "var(--bad)"})
	g = s.over(r.Hours, g)
	text := fmt.Sprintf("✕ %s in all, most on %s", show.Count(sum), hourName(r.Hours, most))
	isNamed := false
	x, right := g.AtX(float64(most)), g.AtX(float64(most+1))
	short := "✕ " + show.Count(sum) + " in all"
	for _, t := range []string{text, short} {
		var spots []plot.Text
		for _, y := range []float64{g.Top + 14, g.Top + 30, g.Top + 46} {
			for d := 6.0; d < 160; d += 16 {
				spots = append(spots, plot.Text{X: right + d, Y: y}, plot.Text{X: x - d, Y: y, Anchor: "end"})
			}
		}
		if s.try("x h", t, slices.DeleteFunc(spots, func(t2 plot.Text) bool {
			t2.Text, t2.Class = t, "x"
			b := textBox(t2)
			return b.left < g.Left || b.right > g.Right
		})...) {
			isNamed = true
			break
		}
	}
	for _, t := range []string{text, short, "✕ " + show.Count(sum)} { // beside the name of the strip, where there is no room inside
		if isNamed = isNamed || s.try("x", t, plot.Text{X: s.width - inset, Y: top + 13, Anchor: "end"}); isNamed {
			break
		}
	}
	return g
}
