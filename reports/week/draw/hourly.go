package draw

import (
	"math"
	"strconv"

	"tidemark/analysis/week"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// bottom is the room below a plot for the names of days.
const bottom = 26

// span is a stretch of hours, [from, until).
type span struct{ from, until int }

// spans joins neighbours that have a property.
func spans(n int, has func(i int) bool) []span {
	var out []span
	for i := range n {
		switch {
		case !has(i):
		case len(out) > 0 && out[len(out)-1].until == i:
			out[len(out)-1].until++
		default:
			out = append(out, span{i, i + 1})
		}
	}
	return out
}

func missing(hours []week.Hour) []span {
	return spans(len(hours), func(i int) bool { return hours[i].IsMissing })
}

// covered is how many hours have data.
func covered(r *week.Report) int { return len(r.Hours) - r.Sums.MissingHours }

// hourAt finds hours by their start.
func hourAt(hours []week.Hour) map[int64]int {
	out := make(map[int64]int, len(hours))
	for i, h := range hours {
		out[h.Start.Unix()] = i
	}
	return out
}

// busiest is the index of the busiest hour, or -1.
func busiest(r *week.Report) int {
	if r.Sums.BusiestHourStart == nil {
		return -1
	}
	for i, h := range r.Hours {
		if h.Start.Equal(*r.Sums.BusiestHourStart) {
			return i
		}
	}
	return -1
}

// gapWords is 3 h missing, and where the longest gap lies.
func (s *sheet) gapWords(hours []week.Hour) (text string, x, width float64) {
	holes := missing(hours)
	if len(holes) == 0 {
		return "", 0, 0
	}
	all, longest := 0, holes[0]
	for _, hole := range holes {
		all += hole.until - hole.from
		if hole.until-hole.from > longest.until-longest.from {
			longest = hole
		}
	}
	text = strconv.Itoa(all) + thin + "h missing"
	if len(holes) > 1 {
		text += " in " + strconv.Itoa(len(holes)) + " gaps"
	}
	return text, s.hourX(hours, float64(longest.from+longest.until)/2), s.hourX(hours, float64(longest.until)) - s.hourX(hours, float64(longest.from))
}

// hourX is the pixel of an hour, 0 being the week's start.
func (s *sheet) hourX(hours []week.Hour, i float64) float64 {
	return s.left + i/float64(len(hours))*(s.right-s.left)
}

// tick labels one value of the Y axis.
type tick struct {
	at   float64
	text string
}

// strip adds a grid over the hours with what lies below its marks: weekends, lines of days and ticks. Marks are added by
// the caller, then closed by over.
func (s *sheet) strip(hours []week.Hour, top, height float64, y plot.Scale, ticks []tick) plot.Grid {
	g := plot.Grid{Left: s.left, Right: s.right, Top: top, Bottom: top + height, X: plot.Scale{From: 0, To: float64(len(hours))}, Y: y}
	var weekends, midnights []plot.Point
	for _, weekend := range spans(len(hours), func(i int) bool { return hours[i].Day >= 5 }) {
		weekends = append(weekends, rect(g, weekend)...)
	}
	for i := 1; i < len(hours); i++ {
		if hours[i].Day != hours[i-1].Day {
			midnights = append(midnights, plot.Point{X: float64(i), Y: y.From}, plot.Point{X: float64(i), Y: y.To}, gap)
		}
	}
	g.Marks = append(g.Marks, filled(weekends, "var(--shade)"))
	s.ticks(&g, ticks, midnights...)
	return g
}

// gap separates lines that are one mark.
var gap = plot.Gap(math.NaN())

// ticks draws the lines of an axis and writes its labels; the line at its foot is darker.
func (s *sheet) ticks(g *plot.Grid, ticks []tick, more ...plot.Point) {
	for _, t := range ticks {
		if t.at != g.Y.From {
			more = append(more, plot.Point{X: g.X.From, Y: t.at}, plot.Point{X: g.X.To, Y: t.at}, gap)
		}
		if textWidth(t.text, false) <= g.Left-6 {
			s.text(g.Left-6, g.AtY(t.at)+4.5, "end", "", t.text)
		}
	}
	g.Marks = append(g.Marks, line("var(--grid)", 1, more...),
		line("var(--axis)", 1, plot.Point{X: g.X.From, Y: g.Y.From}, plot.Point{X: g.X.To, Y: g.Y.From}))
}

// over draws what lies above the marks, the missing hours, and adds the grid to the drawing.
func (s *sheet) over(hours []week.Hour, g plot.Grid) plot.Grid {
	var holes []plot.Point
	for _, hole := range missing(hours) {
		r := rect(g, hole)
		holes = append(holes, r...)
		s.holes = append(s.holes, box{g.AtX(r[0].X), g.Top, g.AtX(r[1].X), g.Bottom})
	}
	if len(holes) > 0 {
		g.Marks = append(g.Marks, filled(holes, "var(--ground)"), filled(holes, "url(#hatch)"))
	}
	s.grids = append(s.grids, g)
	return g
}

// days writes the names of days below the last strip and ends the drawing there.
func (s *sheet) days(hours []week.Hour, g plot.Grid) {
	s.height = g.Bottom + bottom
	axis := plot.Grid{Left: g.Left, Right: g.Right, Top: g.Bottom, Bottom: g.Bottom + 6, X: g.X, Y: plot.Scale{From: 0, To: 1}}
	month := ""
	var midnights []plot.Point
	for from := 0; from < len(hours); {
		until := from + 1
		for until < len(hours) && hours[until].Day == hours[from].Day {
			until++
		}
		midnights = append(midnights, plot.Point{X: float64(from), Y: 0}, plot.Point{X: float64(from), Y: 1}, gap)
		day, m := dateOf(hours[from])
		name := days[hours[from].Day]
		names := []string{name}
		if !s.isNarrow {
			names = []string{name + " " + strconv.Itoa(day), name}
			if m != month {
				names = append([]string{name + " " + strconv.Itoa(day) + " " + m}, names...)
			}
			month = m
		}
		for _, n := range names {
			if textWidth(n, false)+4 <= g.AtX(float64(until))-g.AtX(float64(from)) {
				s.text(g.AtX(float64(from+until)/2), g.Bottom+19, "middle", "", n)
				break
			}
		}
		from = until
	}
	midnights = append(midnights, plot.Point{X: g.X.To, Y: 0}, plot.Point{X: g.X.To, Y: 1})
	axis.Marks = append(axis.Marks, line("var(--axis)", 1, midnights...))
	s.grids = append(s.grids, axis)
}

// rect is the corners of a stretch of hours over the whole height of a grid.
func rect(g plot.Grid, over span) []plot.Point {
	return []plot.Point{{X: float64(over.from), Y: g.Y.From}, {X: float64(over.until), Y: g.Y.To}}
}

func filled(corners []plot.Point, fill string) plot.Mark {
	return plot.Mark{Shape: plot.Boxed, Points: corners, Fill: fill}
}

func line(stroke string, width float64, points ...plot.Point) plot.Mark {
	return plot.Mark{Points: points, Stroke: stroke, Width: width}
}

// ring marks one place.
func ring(at plot.Point, stroke string) []plot.Mark {
	return []plot.Mark{
		{Shape: plot.Dotted, Points: []plot.Point{at}, Fill: stroke, Width: 6},
		{Shape: plot.Dotted, Points: []plot.Point{at}, Fill: "var(--ground)", Width: 4},
	}
}

// steps is a value of each hour as a line that holds it until the hour's end. NaN breaks it.
func steps(n int, value func(i int) float64) []plot.Point {
	var out []plot.Point
	for i := range n {
		y := value(i)
		// A hole follows: the step still reaches the end of its own hour.
		if i > 0 && math.IsNaN(y) && !math.IsNaN(out[len(out)-1].Y) {
			out = append(out, plot.Point{X: float64(i), Y: out[len(out)-1].Y})
		}
		out = append(out, plot.Point{X: float64(i), Y: y})
	}
	if n > 0 {
		out = append(out, plot.Point{X: float64(n), Y: out[len(out)-1].Y})
	}
	return out
}

// middles is a value of each hour as a line through the middle of the hours.
func middles(n int, value func(i int) float64) []plot.Point {
	out := make([]plot.Point, n)
	for i := range n {
		out[i] = plot.Point{X: float64(i) + 0.5, Y: value(i)}
	}
	return out
}

// lonely are the points that have no neighbour to be joined with.
func lonely(points []plot.Point) []plot.Point {
	var out []plot.Point
	isGap := func(i int) bool { return i < 0 || i >= len(points) || math.IsNaN(points[i].Y) }
	for i, p := range points {
		if !isGap(i) && isGap(i-1) && isGap(i+1) {
			out = append(out, p)
		}
	}
	return out
}

// last is the last value that is known.
func last(points []plot.Point) (plot.Point, bool) {
	for i := len(points) - 1; i >= 0; i-- {
		if !math.IsNaN(points[i].Y) {
			return points[i], true
		}
	}
	return plot.Point{}, false
}

func highest(points []plot.Point) float64 {
	out := 0.0
	for _, p := range points {
		if !math.IsNaN(p.Y) {
			out = math.Max(out, p.Y)
		}
	}
	return out
}

// nice is a step of 1, 2 or 5 times a power of ten that divides top into at most n parts.
func nice(top float64, n int) float64 {
	if !(top > 0) {
		return 1
	}
	step := math.Pow(10, math.Floor(math.Log10(top/float64(n))))
	for _, f := range []float64{1, 2, 5, 10} {
		if top/(step*f) <= float64(n)+1e-9 {
			return step * f
		}
	}
	return step * 10
}

// fromZero is an axis from 0 to top or a little above, with about n ticks. A unit of a thousand or a million is taken where
// labels would be long; its name is returned.
func fromZero(top float64, n int) (y plot.Scale, ticks []tick, factor float64, unit string) {
	factor = 1
	switch {
	case top >= 2e6:
		factor, unit = 1e6, "millions"
	case top >= 2e3:
		factor, unit = 1e3, "thousands"
	}
	step := nice(top/factor, n)
	y = plot.Scale{From: 0, To: top / factor * 1.06}
	if whole := math.Ceil(top/factor/step-1e-9) * step; whole <= top/factor*1.3 { // the axis ends at a tick where that costs little room
		y.To = math.Max(whole, top/factor*1.03)
	}
	for k := 0; float64(k)*step <= y.To; k++ {
		ticks = append(ticks, tick{float64(k) * step, show.Plain(float64(k) * step)})
	}
	if top <= 0 {
		y.To, ticks = 1, []tick{{0, "0"}}
	}
	return y, ticks, factor, unit
}

func unitOf(what, thousands string) string {
	if thousands == "" {
		return what
	}
	return what + ", " + thousands
}

func deref[T int | int64 | float64](v *T) float64 {
	if v == nil {
		return math.NaN()
	}
	return float64(*v)
}
