package plot

import (
	"math"
	"slices"
)

// Heights of the plot of a strip, pixels.
const (
	aloneWide, aloneNarrow = 230, 200
	mostMarked             = 24 // points of a line, above which they are not marked
)

// strips draws the strips of a chart under each other.
func (s *sheet) strips(c Chart) {
	lays := make([]laid, len(c.Strips))
	for i, strip := range c.Strips {
		lays[i] = strip.Y.lay(strip.reachY(), s.yLabels(strip), true)
		for _, t := range lays[i].ticks {
			s.left = math.Max(s.left, widthOf(t.Text, false)+10)
		}
	}
	x := c.X.lay(c.reachX(), s.xLabels(), false)
	across := scale{from: x.from, to: x.to, start: s.left, end: s.right, isLog: c.X.IsLog}
	y := 0.0
	for i, strip := range c.Strips {
		y = s.strip(c, strip, lays[i], x, across, y)
		if i < len(c.Strips)-1 {
			y += 14
		}
	}
	s.labelX(c.X, x, across, y)
}

func (s *sheet) yLabels(strip Strip) int {
	if strip.Height > 0 && strip.Height < 120 {
		return 2
	}
	return 4
}

func (s *sheet) xLabels() int {
	if s.isNarrow {
		return 5
	}
	return 10
}

func (c Chart) reachX() reach {
	r := newReach()
	for _, strip := range c.Strips {
		for _, series := range strip.Series {
			for _, p := range series.Points {
				if isFinite(p.Y) {
					r.add(p.X, c.X)
				}
			}
		}
	}
	return r
}

func (strip Strip) reachY() reach {
	r := newReach()
	for _, series := range strip.Series {
		for _, p := range series.Points {
			r.add(p.Y, strip.Y)
		}
	}
	for _, band := range strip.Bands {
		for _, p := range slices.Concat(band.Low, band.High) {
			r.add(p.Y, strip.Y)
		}
	}
	for _, limit := range strip.Limits {
		r.add(limit.At, strip.Y)
	}
	return r
}

// strip draws one strip below y and returns where it ends.
func (s *sheet) strip(c Chart, strip Strip, l, x laid, across scale, y float64) float64 {
	top := s.above(strip, y)
	if len(c.Shades) > 0 && y == 0 {
		top += textRow
	}
	height := strip.Height
	switch {
	case height == 0 && s.isNarrow:
		height = aloneNarrow
	case height == 0:
		height = aloneWide
	case s.isNarrow:
		height = math.Max(60, height*0.85)
	}
	up := scale{from: l.from, to: l.to, start: top + height, end: top, isLog: strip.Y.IsLog}
	for _, shade := range c.Shades {
		s.fill(rectangle(across.at(shade.From), top, across.at(shade.To), up.start), "var(--bad-ground)", 1)
	}
	s.grid(l, x, across, up, c.X)
	if y == 0 {
		s.nameShades(c.Shades, across, top)
	}
	for _, band := range strip.Bands {
		s.band(band, across, up)
	}
	for _, limit := range strip.Limits {
		at := up.at(limit.At)
		s.stroke(level(s.left, s.right, at), limit.Look.Colour, 2, limit.Look.Dash)
	}
	for _, series := range strip.Series {
		s.series(series, across, up)
	}
	s.names(strip, across, up)
	for _, note := range strip.Notes {
		s.note(note, across, up)
	}
	return up.start
}

// grid draws the lines behind the data, and the labels of Y.
func (s *sheet) grid(l, x laid, across, up scale, of Axis) {
	var lines path
	for _, t := range l.ticks {
		at := up.at(t.At)
		if !isFinite(at) || at < up.end-0.5 || at > up.start+0.5 {
			continue
		}
		if at < up.start-0.5 {
			lines = append(lines, level(s.left, s.right, at)...)
		}
		s.write(s.left-8, at+4.5, "end", "", t.Text)
	}
	if len(of.Ticks) > 0 || of.IsLog {
		for _, t := range x.ticks {
			if at := across.at(t.At); at > s.left+0.5 && at < s.right+0.5 {
				lines = append(lines, upright(at, up.start, up.end)...)
			}
		}
	}
	base := level(s.left, s.right, up.start)
	if l.from < 0 && l.to > 0 { // zero is the axis, and not the edge
		base = append(base, level(s.left, s.right, up.at(0))...)
	}
	s.stroke(lines, "var(--grid)", 1, nil)
	s.stroke(base, "var(--axis)", 1, nil)
}

// labelX writes the labels of X, those first that find room, and the axis's name below their end.
func (s *sheet) labelX(a Axis, x laid, across scale, y float64) {
	var ticks path
	last := math.Inf(-1)
	for _, t := range x.ticks {
		at := across.at(t.At)
		if !isFinite(at) || at < s.left-0.5 || at > s.right+0.5 {
			continue
		}
		w := widthOf(t.Text, false)
		from := math.Min(math.Max(at-w/2, 0), s.width-w)
		if from < last+6 {
			continue
		}
		ticks = append(ticks, tick(at, y, 4)...)
		s.write(from+w/2, y+18, "middle", "", t.Text)
		last = from + w
	}
	s.stroke(ticks, "var(--axis)", 1, nil)
	s.height = y + 24
	if a.Name != "" {
		s.write(s.right, y+36, "end", "", a.Name)
		s.height = y + 42
	}
}

func (s *sheet) nameShades(shades []Shade, across scale, top float64) {
	for _, shade := range shades {
		middle := (across.at(shade.From) + across.at(shade.To)) / 2
		w := widthOf(shade.Text, true)
		at := math.Min(math.Max(middle, w/2), s.width-w/2)
		s.write(at, top-6, "middle", "x", shade.Text)
	}
}

func (s *sheet) band(b Band, across, up scale) {
	var low, high []xy
	for i := range min(len(b.Low), len(b.High)) {
		from, to := b.Low[i], b.High[i]
		if from.isFinite() && to.isFinite() {
			low = append(low, xy{across.at(from.X), up.at(from.Y)})
			high = append(high, xy{across.at(to.X), up.at(to.Y)})
		}
	}
	if len(low) < 2 {
		return
	}
	slices.Reverse(low)
	s.fill(joined(append(high, low...)).closed(), b.Look.Colour, 1)
}

func (s *sheet) series(series Series, across, up scale) {
	places := make([]xy, 0, len(series.Points))
	for _, p := range thin(series, int(s.right-s.left)) {
		at := xy{math.Min(across.at(p.X), s.right), up.at(p.Y)} // the last bin of a run may end after the run
		if !p.isFinite() {
			at = xy{math.NaN(), math.NaN()}
		}
		places = append(places, at)
	}
	if series.Kind == Dots {
		s.cloud(series, across, up)
		return
	}
	line := places
	if series.Kind == Step || series.Kind == Area {
		line = stepped(places)
	}
	if series.Kind == Area || series.Kind == Hill {
		s.fill(areas(line, up.start), series.Look.Colour, 0.35)
		s.stroke(joined(line), series.Look.Colour, 1, nil)
		return
	}
	width := 2.0
	if series.Kind == Step {
		width = 1.5
	}
	s.stroke(joined(line), series.Look.Colour, width, series.Look.Dash)
	s.dots(marked(series, places), 3, series.Look.Colour, 1)
}

// marked are the places of a line that need a dot: those between two gaps, which would not be seen, and all of a line of few points
// that wants it.
func marked(series Series, places []xy) []xy {
	var out []xy
	all := series.Look.IsMarked && len(places) <= mostMarked
	for i, p := range places {
		if !isFinite(p.x) || !isFinite(p.y) {
			continue
		}
		isAlone := (i == 0 || !isFinite(places[i-1].y)) && (i == len(places)-1 || !isFinite(places[i+1].y))
		if all || isAlone {
			out = append(out, p)
		}
	}
	return out
}

// stepped holds each value until the next place.
func stepped(places []xy) []xy {
	var out []xy
	for i, p := range places {
		if i > 0 && isFinite(places[i-1].y) && isFinite(p.x) {
			out = append(out, xy{p.x, places[i-1].y})
		}
		out = append(out, p)
	}
	return out
}

// areas closes a line down to the axis.
func areas(line []xy, base float64) path {
	var d path
	for from := 0; from < len(line); {
		until := from
		for until < len(line) && isFinite(line[until].y) {
			until++
		}
		if until-from > 1 {
			part := append([]xy{{line[from].x, base}}, line[from:until]...)
			d = append(d, joined(append(part, xy{line[until-1].x, base})).closed()...)
		}
		from = until + 1
	}
	return d
}

// cloud draws dots, of which those that stand for more are larger.
func (s *sheet) cloud(series Series, across, up scale) {
	sizes := map[float64][]xy{}
	var radii []float64
	for _, p := range thinCloud(series.Points, int(s.right-s.left)/8, int(up.start-up.end)/6) {
		at := xy{across.at(p.X), up.at(p.Y)}
		if !isFinite(at.x) || !isFinite(at.y) {
			continue
		}
		r := radiusOf(p.Weight)
		if _, isKnown := sizes[r]; !isKnown {
			radii = append(radii, r)
		}
		sizes[r] = append(sizes[r], at)
	}
	slices.Sort(radii)
	slices.Reverse(radii)
	for _, r := range radii {
		if series.Look.IsHollow {
			s.rings(sizes[r], math.Max(r, 4), series.Look.Colour)
			continue
		}
		s.dots(sizes[r], r, series.Look.Colour, 0.65)
	}
}

// radiusOf grows with the logarithm of what a dot stands for, in half pixels.
func radiusOf(weight float64) float64 {
	if !(weight > 1) {
		return 2.5
	}
	return math.Min(7, math.Round(2*(2.5+0.8*math.Log2(weight)))/2)
}

// note writes beside a place.
func (s *sheet) note(n Note, across, up scale) {
	x, y := across.at(n.X), up.at(n.Y)
	if !isFinite(x) || !isFinite(y) {
		return
	}
	s.try(n.Class+" h", n.Text, Text{X: x, Y: y - 10, Anchor: "middle"}, Text{X: x - 8, Y: y - 8, Anchor: "end"}, Text{X: x + 8, Y: y - 8},
		Text{X: x, Y: y + 20, Anchor: "middle"}, Text{X: x + 8, Y: y + 16}, Text{X: x - 8, Y: y + 16, Anchor: "end"})
}
