package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Plate is a drawing whose places the caller sets: grids of a fixed rectangle, marks in the values of a grid, and texts
// and leaders in pixels. So an hour has the same place in every drawing of a page, and a caller that has measured its
// texts knows that none touches another.
type Plate struct {
	Width, Height float64 // CSS pixels
	Grids         []Grid
	Leaders       []Leader // above every mark
	Texts         []Text   // above every leader
}

// Grid is a rectangle with a linear scale on each axis. A caller that wants logarithms gives them. Nothing is clipped: marks lie in their grid
// by themselves.
type Grid struct {
	Left, Top, Right, Bottom float64 // pixels from the drawing's left and top
	X, Y                     Scale
	Marks                    []Mark // the first is the lowest
}

// Scale holds the values at both ends of an axis: left and right, or bottom and top.
type Scale struct{ From, To float64 }

func (s Scale) isScale() bool {
	return s.From != s.To && isFinite(s.From) && isFinite(s.To)
}

// AtX is the pixel of a value on the X axis.
func (g Grid) AtX(v float64) float64 {
	return g.Left + (v-g.X.From)/(g.X.To-g.X.From)*(g.Right-g.Left)
}

// AtY is the pixel of a value on the Y axis.
func (g Grid) AtY(v float64) float64 {
	return g.Bottom - (v-g.Y.From)/(g.Y.To-g.Y.From)*(g.Bottom-g.Top)
}

// Shape is how the points of a mark become a drawing.
type Shape int

// A Joined mark is a line, a Stepped one holds each value until the next X, a Dotted one has a dot at each point, and a
// Boxed one has a rectangle from each point to the point after it.
const (
	Joined Shape = iota
	Stepped
	Dotted
	Boxed
)

// Mark is one thing drawn in a grid. A point that is not finite interrupts it.
type Mark struct {
	Shape  Shape
	Points []Point
	// Lows, of the same X as Points, makes an area between both of a Joined mark. Without it Fill reaches down to the axis.
	Lows   []float64
	Fill   string // CSS colour; empty: none
	Stroke string
	Width  float64   // of the stroke, or the radius of dots, pixels
	Dash   []float64 // pixels drawn and left out, in turn
	// Alpha of the fill; 0 is 1.
	Alpha float64
}

// Leader is a thin line from a text to what it names.
type Leader struct {
	Points []Point // pixels
	Stroke string
}

// Gap is a point that interrupts a line at x.
func Gap(x float64) Point { return Point{X: x, Y: math.NaN()} }

// SVG draws the plate. label is read aloud in place of the picture.
func (p Plate) SVG(label string) (string, error) {
	s, err := p.sheet()
	if err != nil {
		return "", err
	}
	return s.svg(label), nil
}

// PNG draws the plate so many pixels wide, in the light colours of the pages, in at most MostBytes: for a mail or a chat that shows no SVG.
func (p Plate) PNG(width int) ([]byte, error) {
	s, err := p.sheet()
	if err != nil {
		return nil, err
	}
	return s.png(width)
}

func (p Plate) sheet() (*sheet, error) {
	s := &sheet{width: p.Width, height: p.Height, texts: p.Texts}
	for i, g := range p.Grids {
		if !(g.Right > g.Left && g.Bottom > g.Top) || !g.X.isScale() || !g.Y.isScale() {
			return nil, fmt.Errorf("plot: grid %d has no room or no scale", i)
		}
		for _, m := range g.Marks {
			s.mark(g, m)
		}
	}
	for _, l := range p.Leaders {
		places := make([]xy, len(l.Points))
		for i, at := range l.Points {
			places[i] = xy{at.X, at.Y}
		}
		s.stroke(joined(places), l.Stroke, 1, nil)
	}
	return s, nil
}

// mark draws a fill below its line.
func (s *sheet) mark(g Grid, m Mark) {
	places := g.places(m.Points)
	alpha := m.Alpha
	alpha = cmp.Or(alpha, 1)
	switch {
	case m.Shape == Dotted:
		s.circles(places, m.Width, m.Fill)
		return
	case m.Shape == Boxed:
		d := boxed(places)
		s.fill(d, m.Fill, alpha)
		s.stroke(d, m.Stroke, m.Width, nil)
		return
	case m.Shape == Stepped:
		places = stepped(places)
	}
	if m.Lows != nil {
		s.fill(g.between(m), m.Fill, alpha)
	} else {
		zero := math.Min(math.Max(0, math.Min(g.Y.From, g.Y.To)), math.Max(g.Y.From, g.Y.To))
		s.fill(areas(places, g.AtY(zero)), m.Fill, alpha)
	}
	s.stroke(joined(places), m.Stroke, m.Width, m.Dash)
}

// places are the pixels of points. A gap keeps its X: a step reaches up to it.
func (g Grid) places(points []Point) []xy {
	places := make([]xy, len(points))
	for i, p := range points {
		places[i] = xy{g.AtX(p.X), g.AtY(p.Y)}
		if !p.isFinite() {
			places[i].y = math.NaN()
		}
	}
	return places
}

// boxed has a rectangle from each place to the place after it.
func boxed(places []xy) path {
	var d path
	for i := 0; i+1 < len(places); i += 2 {
		if a, b := places[i], places[i+1]; isFinite(a.y) && isFinite(b.y) {
			d = append(d, rectangle(a.x, a.y, b.x, b.y)...)
		}
	}
	return d
}

// between is the area between the points of a mark and its lows, in pieces where either has a gap.
func (g Grid) between(m Mark) path {
	var d path
	var high, low []xy
	for i := range len(m.Points) + 1 {
		if i < len(m.Points) && m.Points[i].isFinite() && isFinite(m.Lows[i]) {
			x := g.AtX(m.Points[i].X)
			high, low = append(high, xy{x, g.AtY(m.Points[i].Y)}), append(low, xy{x, g.AtY(m.Lows[i])})
			continue
		}
		if len(high) > 1 {
			slices.Reverse(low)
			d = append(d, joined(append(high, low...)).closed()...)
		}
		high, low = nil, nil
	}
	return d
}
