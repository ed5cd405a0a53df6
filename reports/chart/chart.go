// Package chart draws numbers as SVG: a Chart says what is shown, go-echarts' option types say it to ECharts, and
// ECharts' own server-side renderer draws it inside goja, once loaded per process. chart.go is what a caller writes,
// option.go translates it, bin.go keeps large charts small, engine.go runs ECharts, clean.go lets only plain drawing
// through, merge.go makes one path of lines that look the same.
//
// It knows numbers, not what they are about, and it refuses: text that is anything but text, elements or attributes
// that could load or run something, and output that differs between two drawings of the same data.
package chart

import "math"

// Size of a drawing in CSS pixels.
type Size struct{ Width, Height int }

// Chart is one pair of axes and what is drawn on it.
type Chart struct {
	X, Y   Axis
	Bands  []Band // below everything else
	Series []Series
	Limits []Limit
	Spans  []Span // floating horizontal bars, one row per category of Y
}

// Axis is a scale with its name, which carries the unit. Zero is always on a linear axis.
type Axis struct {
	Name       string
	IsLog      bool // values that are not positive become gaps
	Categories []string
	Ticks      []Tick  // where and how to label; empty: ECharts chooses
	Max        float64 // 0: as the data wants
	IsZoomed   bool    // from near the first value and not from zero; the name should say so
}

// Tick labels one place of an axis.
type Tick struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

// Kind is how the points of a series are joined.
type Kind int

// A Line joins points, a Step holds each value until the next, an Area is a filled Step, Points stand alone.
const (
	Line Kind = iota
	Step
	Area
	Points
)

// Meaning decides between solid and dashed: in every chart what was measured is solid, what was predicted is dashed.
type Meaning int

// What a series or span stands for.
const (
	Measured Meaning = iota
	Predicted
)

// Colour is one of the five Okabe-Ito colours that reach 3:1 on white, or grey.
type Colour string

// The palette.
const (
	Blue       Colour = "#0072B2"
	Vermillion Colour = "#D55E00"
	Green      Colour = "#009E73"
	Purple     Colour = "#CC79A7"
	Black      Colour = "#000000"
	// Grey is for what was before: a line that is there to be compared with.
	Grey Colour = "#6B7785"
)

// Marker is the shape at the points of a series, so that colour is never the only difference.
type Marker string

// The shapes.
const (
	Circle   Marker = "circle"
	Triangle Marker = "triangle"
	Square   Marker = "rect"
	Diamond  Marker = "diamond"
	NoMarker Marker = "none"
)

// Series is one named sequence of points, in the order in which they are joined.
type Series struct {
	Name    string
	Kind    Kind
	Meaning Meaning
	Colour  Colour
	Marker  Marker
	// IsHollow draws the outline of each marker alone: what is shown and not counted.
	IsHollow bool
	Points   []Point
}

// Point is one place. Where X or Y is no finite number the line has a gap. Weight is how many observations the point
// stands for (0 counts as 1); heavier points of Kind Points are drawn larger.
type Point struct {
	X, Y   float64
	Weight float64
}

// Band is an interval that changes along X, such as a prediction's: a pale area with an edge on either side.
type Band struct {
	Name      string
	Colour    Colour
	Low, High []Point // of the same X
}

// Limit is a reference line across the chart at a Y.
type Limit struct {
	At   float64
	Text string
}

// Span is a floating bar from From to To in the row Category, with its label at its right.
type Span struct {
	Category int
	From, To float64
	Meaning  Meaning
	Colour   Colour
	Label    string
}

// Gap is a point that interrupts a line at x.
func Gap(x float64) Point { return Point{X: x, Y: math.NaN()} }

// Nine places a quantile on a scale on which each further nine takes the same room: 0.9 is 1, 0.99 is 2.
func Nine(quantile float64) float64 { return -math.Log10(1 - quantile) }

// SVG draws the chart. Ids inside the drawing begin with id, which must be unique in the page. label is read aloud in
// place of the picture.
func (c Chart) SVG(id, label string, size Size) (string, error) {
	drawn, err := draw(c.option(size), size)
	if err != nil {
		return "", err
	}
	plain, err := clean(drawn, id, label, size)
	return merge(plain), err
}
