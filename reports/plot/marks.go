package plot

import "strings"

// mark is one thing that a sheet records. A new kind of mark is a type here, with how it is written in svg.go and painted in paint.go.
type mark interface {
	svg(out *strings.Builder)
	png(p *painter) error
}

// area is a filled path; alpha 1 is opaque.
type area struct {
	path   path
	colour string
	alpha  float64
}

// line is a stroked path.
type line struct {
	path   path
	colour string
	width  float64
	dash   []float64
}

// dots are round dots that look the same.
type dots struct {
	places     []xy
	radius     float64
	fill, edge string // an edge is 2 pixels wide; empty: none
	alpha      float64
	isPath     bool // SVG has one path for all of them, and else a circle for each
}

// fill draws an area.
func (s *sheet) fill(d path, colour string, alpha float64) {
	if len(d) > 0 && colour != "" && colour != "none" {
		s.marks = append(s.marks, area{d, colour, alpha})
	}
}

// stroke draws a line.
func (s *sheet) stroke(d path, colour string, width float64, dash []float64) {
	if len(d) > 0 && colour != "" {
		s.marks = append(s.marks, line{d, colour, width, dash})
	}
}

// dots draws round dots of one size as one path, a fifth of the bytes of circles.
func (s *sheet) dots(places []xy, radius float64, colour string, alpha float64) {
	if len(places) > 0 {
		s.marks = append(s.marks, dots{places: places, radius: radius, fill: colour, alpha: alpha, isPath: true})
	}
}

// circles draws round dots as circles, which every reader of SVG knows.
func (s *sheet) circles(places []xy, radius float64, colour string) {
	s.marks = append(s.marks, dots{places: places, radius: radius, fill: colour, alpha: 1})
}

// rings draws dots of which only the outline is seen.
func (s *sheet) rings(places []xy, radius float64, colour string) {
	s.marks = append(s.marks, dots{places: places, radius: radius, fill: "var(--ground)", edge: colour, alpha: 1})
}

// path is a line, an outline, or many of them, in the commands of SVG.
type path []step

// step is one command: M and L go to x and y, H to x, V to y, h and v as far as x or y say, and Z back to the last M.
type step struct {
	command byte
	x, y    float64
}

func level(left, right, y float64) path { return path{{'M', left, y}, {'H', right, y}} }

func upright(x, from, to float64) path { return path{{'M', x, from}, {'V', x, to}} }

// piece is a level line of a length, and tick an upright one.
func piece(x, y, length float64) path { return path{{'M', x, y}, {'h', length, 0}} }

func tick(x, y, length float64) path { return path{{'M', x, y}, {'v', 0, length}} }

func rectangle(left, top, right, bottom float64) path {
	return path{{'M', left, top}, {'H', right, top}, {'V', right, bottom}, {'H', left, bottom}, {'Z', 0, 0}}
}

func (d path) closed() path { return append(d, step{command: 'Z'}) }

// joined joins places; a place that is not finite begins anew. A level stretch is one line, however many places lie on it.
func joined(places []xy) path {
	var d path
	isOpen := false
	var last xy
	for i, p := range places {
		if !isFinite(p.x) || !isFinite(p.y) {
			isOpen = false
			continue
		}
		if 0 < i && i+1 < len(places) && isOnLevel(places[i-1], p, places[i+1]) {
			continue
		}
		at := xy{tenth(p.x), tenth(p.y)}
		switch {
		case !isOpen:
			d = append(d, step{'M', at.x, at.y})
		case at == last:
		case at.y == last.y:
			d = append(d, step{'H', at.x, at.y})
		case at.x == last.x:
			d = append(d, step{'V', at.x, at.y})
		default:
			d = append(d, step{'L', at.x, at.y})
		}
		isOpen, last = true, at
	}
	return d
}

// isOnLevel says that p lies on a level line between its neighbours.
func isOnLevel(before, p, after xy) bool {
	y := tenth(p.y)
	return tenth(before.y) == y && tenth(after.y) == y && (p.x-before.x)*(after.x-p.x) >= 0
}
