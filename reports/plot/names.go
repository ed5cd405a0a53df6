package plot

import (
	"math"
	"slices"
)

// A line's name is at its right end, in the margin. Where that has no room, and on a phone, it is above the plot with a piece of its line.

const swatch = 22 // pixels of a line before its name, with the gap after it

// entry is a name with how its line looks.
type entry struct {
	name string
	look Look
	kind Kind
	fill string  // of a band
	y    float64 // pixel of the line's end
}

func (strip Strip) entries() []entry {
	var out []entry
	for _, series := range strip.Series {
		if series.Name != "" {
			out = append(out, entry{name: series.Name, look: series.Look, kind: series.Kind})
		}
	}
	return out
}

// above writes the unit, and below it the names that have no room in the margin; it returns where the plot starts.
func (s *sheet) above(strip Strip, y float64) float64 {
	y += 13
	s.write(1, y, "", "i", strip.Y.Name)
	x := math.Inf(1)
	row := y
	for _, e := range s.keyed(strip) {
		w := swatch + widthOf(e.name, true)
		if x+w > s.width {
			row, x = row+textRow, 1
		}
		s.sample(e, x, row-4.5)
		s.write(x+swatch, row, "", e.look.Class, e.name)
		x += w + 14
	}
	return row + 11
}

// keyed are the names that go above the plot.
func (s *sheet) keyed(strip Strip) []entry {
	var out []entry
	for _, e := range strip.entries() {
		if s.isNarrow || !s.fitsMargin(e) {
			out = append(out, e)
		}
	}
	for _, band := range strip.Bands {
		if band.Name != "" {
			out = append(out, entry{name: band.Name, look: Look{Class: "i"}, fill: band.Look.Colour})
		}
	}
	if s.isNarrow {
		for _, limit := range strip.Limits {
			out = append(out, entry{name: limit.Text, look: limit.Look})
		}
	}
	return out
}

func (s *sheet) fitsMargin(e entry) bool {
	return e.kind != Dots && widthOf(e.name, true) <= s.width-s.right-12
}

func (s *sheet) sample(e entry, x, y float64) {
	switch {
	case e.fill != "":
		s.fill(rectangle(x, y-5, x+16, y+5), e.fill, 1)
	case e.kind == Dots && e.look.IsHollow:
		s.rings([]xy{{x + 8, y}}, 4, e.look.Colour)
	case e.kind == Dots:
		s.dots([]xy{{x + 8, y}}, 4, e.look.Colour, 1)
	case e.kind == Area || e.kind == Hill:
		s.fill(rectangle(x, y-5, x+16, y+5), e.look.Colour, 0.35)
		s.stroke(piece(x, y-5, 16), e.look.Colour, 1, nil)
	default:
		s.stroke(piece(x, y, 16), e.look.Colour, 2, e.look.Dash)
	}
}

// names writes the names of lines and limits in the right margin, moved apart where they would touch.
func (s *sheet) names(strip Strip, across, up scale) {
	if s.isNarrow {
		return
	}
	var ends []entry
	for _, limit := range strip.Limits {
		ends = append(ends, entry{name: limit.Text, look: limit.Look, y: up.at(limit.At)})
	}
	for _, series := range strip.Series {
		e := entry{name: series.Name, look: series.Look, kind: series.Kind}
		last, isThere := lastOf(series.Points)
		if series.Name == "" || !isThere || !s.fitsMargin(e) {
			continue
		}
		e.y = up.at(last.Y)
		ends = append(ends, e)
	}
	slices.SortStableFunc(ends, func(a, b entry) int { return int(math.Copysign(1, a.y-b.y)) * btoi(a.y != b.y) })
	const apart = 16
	at := make([]float64, len(ends))
	for i := range ends {
		at[i] = ends[i].y
		if i > 0 {
			at[i] = math.Max(at[i], at[i-1]+apart)
		}
	}
	lowest := up.start + 4
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = math.Min(at[i], lowest)
		lowest = at[i] - apart
	}
	var leaders path
	for i, e := range ends {
		if math.Abs(at[i]-e.y) > 3 {
			leaders = append(leaders, step{'M', s.right + 1, e.y}, step{'L', s.right + 8, at[i]})
		}
		s.write(s.right+10, at[i]+4.5, "", e.look.Class, e.name)
	}
	s.stroke(leaders, "var(--axis)", 1, nil)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func lastOf(points []Point) (Point, bool) {
	for _, p := range slices.Backward(points) {
		if p.isFinite() {
			return p, true
		}
	}
	return Point{}, false
}
