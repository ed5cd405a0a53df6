// Package plot draws every chart of a page. A Chart, of a run, a comparison, an experiment or results, is laid out here: lines, bands
// and dots on strips that share one axis (strips.go), and rows of bars (rows.go). A Plate (plate.go) has its places from the caller: the charts of
// a week, in reports/week/draw. Both are drawn for a width, so that texts have the size of the page's, on a sheet that records marks and texts
// (sheet.go, marks.go). The sheet has two back ends: svg.go writes it for a page, and png.go paints it for a mail, with paint.go and letters.go.
//
// Colours are CSS, such as var(--measured) or url(#hatch): the page's stylesheet gives them, and one drawing serves light, dark and paper. A picture
// has those of the light page.
// Every text of a Chart is placed where it touches no other; sheet.go knows what is taken.
//
// It knows numbers, not what they are about, and it refuses: text that is anything but text, elements that load or run something, values that
// are not finite, and output that differs between two drawings of the same data.
package plot

import "math"

// Chart is one X axis with strips above it, or rows of bars.
type Chart struct {
	X      Axis
	Strips []Strip
	Shades []Shade // through all strips, below everything
	Rows   []Row   // instead of strips
}

// Strip is one Y axis and what is drawn on it.
type Strip struct {
	Y      Axis
	Height float64 // of the plot, pixels; 0: as a chart of one strip
	Bands  []Band  // below the lines
	Series []Series
	Limits []Limit
	Notes  []Note
}

// Axis is a scale with its name, which carries the unit. It starts at 0 unless it is logarithmic or says From.
type Axis struct {
	Name     string
	Ticks    []Tick  // where and how to label; empty: round numbers
	From, To float64 // To 0: as far as the data reach
	Per      float64 // labels are values divided by it: 60 labels seconds in minutes; 0 is 1
	IsLog    bool    // values that are not positive become gaps
	IsZoomed bool    // from near the first value and not from 0; the name should say so
	IsWhole  bool    // no labels between whole numbers
}

// Tick labels one place of an axis.
type Tick struct {
	At   float64
	Text string
}

// Kind is how the points of a series are joined.
type Kind int

// A Line joins points, a Step holds each value until the next, an Area is a filled Step and a Hill a filled Line, Dots stand alone.
const (
	Line Kind = iota
	Step
	Area
	Hill
	Dots
)

// Look is a colour with a way to draw in it. In every chart what was measured is solid and what was predicted is dashed.
type Look struct {
	Colour   string    // CSS
	Class    string    // of the name's text
	Dash     []float64 // pixels drawn and left out, in turn
	IsHollow bool      // outlines alone: what is shown and not counted
	IsMarked bool      // a dot at each point of a line that has few
}

// Series is one named sequence of points, in the order in which they are joined.
type Series struct {
	Name   string
	Kind   Kind
	Look   Look
	Points []Point
}

// Point is one place. Where X or Y is not finite the line has a gap. Weight is how many observations a dot stands for; 0 counts as 1.
type Point struct{ X, Y, Weight float64 }

func (p Point) isFinite() bool { return isFinite(p.X) && isFinite(p.Y) }

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Band is an interval that changes along X.
type Band struct {
	Name      string
	Look      Look
	Low, High []Point // of the same X
}

// Limit is a reference line across a strip.
type Limit struct {
	At   float64
	Text string
	Look Look
}

// Note names one place of a strip.
type Note struct {
	X, Y  float64
	Text  string
	Class string
}

// Shade is a stretch of X in which something happened.
type Shade struct {
	From, To float64
	Text     string
}

// Nine places a quantile on a scale on which each further nine takes the same room: 0.9 is 1, 0.99 is 2.
func Nine(quantile float64) float64 { return math.Log10(1 / (1 - quantile)) }

// The widths of the two drawings of a chart, pixels: for screens and paper, and for a phone.
const (
	Wide   = 960
	Narrow = 358
)

// SVG draws the chart for a width. label is read aloud in place of the picture.
func (c Chart) SVG(label string, width float64) string {
	s := newSheet(width)
	if len(c.Rows) > 0 {
		s.rows(c)
	} else {
		s.strips(c)
	}
	return s.svg(label)
}

// IsEmpty says that there is nothing to draw.
func (c Chart) IsEmpty() bool {
	for _, strip := range c.Strips {
		for _, s := range strip.Series {
			for _, p := range s.Points {
				if p.isFinite() {
					return false
				}
			}
		}
	}
	return len(c.Rows) == 0
}
