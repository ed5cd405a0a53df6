package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-echarts/go-echarts/v2/opts"
)

// Plate is a drawing whose places the caller sets: grids of a fixed rectangle, marks in the values of a grid, and texts
// and leaders in pixels. So an hour has the same place in every drawing of a page, and a caller that has measured its
// texts knows that none touches another. Colours are CSS, such as var(--measured) or url(#hatch): the page's stylesheet
// gives them, and one drawing serves light, dark and paper.
type Plate struct {
	Size    Size
	Grids   []Grid
	Leaders []Leader // above every mark
	Texts   []Text   // above every leader
}

// Grid is a rectangle with a linear scale on each axis. A caller that wants logarithms gives them.
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
	// Lows, of the same X as Points, makes an area between both. Without it Fill reaches down to the axis.
	Lows   []float64
	Fill   string // CSS colour; empty: none
	Stroke string
	Width  float64   // of the stroke, or the radius of dots, pixels
	Dash   []float64 // pixels drawn and left out, in turn
	// Alpha of the fill; 0 is 1.
	Alpha float64
}

// Text is one line of text. Class names rules of the page's stylesheet.
type Text struct {
	X, Y   float64 // of the baseline
	Anchor string  // start, middle or end; empty is start
	Class  string
	Text   string
}

// Leader is a thin line from a text to what it names.
type Leader struct {
	Points []Point // pixels
	Stroke string
}

// SVG draws the plate. label is read aloud in place of the picture.
func (p Plate) SVG(label string) (string, error) {
	options, err := p.option()
	if err != nil {
		return "", err
	}
	drawn, err := draw(options, p.Size)
	if err != nil {
		return "", err
	}
	inside, err := clean(drawn)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	// The stylesheet of the page says how texts look, so the root says nothing about them.
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`,
		p.Size.Width, p.Size.Height, p.Size.Width, p.Size.Height, escape(shorten(label, 1000)))
	out.WriteString(flatten(inside))
	for _, l := range p.Leaders {
		out.WriteString(`<path d="M`)
		for i, at := range l.Points {
			if i > 0 {
				out.WriteString("L")
			}
			out.WriteString(pixels(at.X) + " " + pixels(at.Y))
		}
		fmt.Fprintf(&out, `" fill="none" stroke="%s"/>`, escape(shorten(l.Stroke, 40)))
	}
	for _, t := range p.Texts {
		out.WriteString(t.svg())
	}
	out.WriteString("</svg>")
	return out.String(), nil
}

func (t Text) svg() string {
	attributes := fmt.Sprintf(` x="%s" y="%s"`, pixels(t.X), pixels(t.Y))
	if t.Anchor != "" && t.Anchor != "start" {
		attributes += ` text-anchor="` + escape(shorten(t.Anchor, 10)) + `"`
	}
	if t.Class != "" {
		attributes += ` class="` + escape(shorten(t.Class, 40)) + `"`
	}
	return "<text" + attributes + ">" + escape(shorten(t.Text, 200)) + "</text>"
}

// pixels writes a coordinate to a tenth.
func pixels(v float64) string {
	text := fmt.Sprintf("%.1f", v)
	text = strings.TrimSuffix(text, ".0")
	if text == "-0" {
		return "0"
	}
	return text
}

// noEmphasis turns off hover effects, which would add invisible shapes to the SVG.
var noEmphasis = map[string]bool{"disabled": true}

// plateOption is the plate as ECharts takes it, in the types of go-echarts where these have the words for it.
type plateOption struct {
	Animation bool          `json:"animation"`
	Grid      []plateGrid   `json:"grid"`
	XAxis     []plateAxis   `json:"xAxis"`
	YAxis     []plateAxis   `json:"yAxis"`
	Series    []plateSeries `json:"series"`
}

type plateGrid struct {
	opts.Grid
	OuterBoundsMode string `json:"outerBoundsMode"`
}

// px is a length as ECharts reads it from a text.
func px(length float64) string { return strconv.FormatFloat(length, 'f', -1, 64) }

type plateAxis struct {
	Type      string  `json:"type"`
	GridIndex int     `json:"gridIndex"`
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	Show      bool    `json:"show"`
}

type plateSeries struct {
	Type          string          `json:"type"`
	XAxisIndex    int             `json:"xAxisIndex"`
	YAxisIndex    int             `json:"yAxisIndex"`
	Data          []any           `json:"data"`
	Z             int             `json:"z"`
	Silent        bool            `json:"silent"`
	Clip          bool            `json:"clip"`
	Emphasis      map[string]bool `json:"emphasis"`
	ShowSymbol    bool            `json:"showSymbol"`
	Symbol        string          `json:"symbol"`
	SymbolSize    float64         `json:"symbolSize,omitempty"`
	Step          string          `json:"step,omitempty"`
	Stack         string          `json:"stack,omitempty"`
	StackStrategy string          `json:"stackStrategy,omitempty"`
	LineStyle     plateLine       `json:"lineStyle"`
	ItemStyle     *plateFill      `json:"itemStyle,omitempty"`
	AreaStyle     *plateFill      `json:"areaStyle,omitempty"`
	MarkArea      *plateBoxes     `json:"markArea,omitempty"`
}

type plateLine struct {
	Color string  `json:"color,omitempty"`
	Width float64 `json:"width"`
	Type  any     `json:"type,omitempty"`
	Join  string  `json:"join,omitempty"`
}

type plateFill struct {
	Color       string  `json:"color,omitempty"`
	Opacity     float64 `json:"opacity"`
	BorderColor string  `json:"borderColor,omitempty"`
	BorderWidth float64 `json:"borderWidth"`
}

type plateBoxes struct {
	Silent    bool       `json:"silent"`
	Z         int        `json:"z"`
	ItemStyle *plateFill `json:"itemStyle"`
	Data      [][2]any   `json:"data"`
}

func (p Plate) option() (plateOption, error) {
	o := plateOption{Grid: []plateGrid{}, Series: []plateSeries{}}
	stacks := 0
	for i, g := range p.Grids {
		if !(g.Right > g.Left && g.Bottom > g.Top) || !g.X.isScale() || !g.Y.isScale() {
			return o, fmt.Errorf("chart: grid %d has no room or no scale", i)
		}
		o.Grid = append(o.Grid, plateGrid{
			Grid:            opts.Grid{Left: px(g.Left), Top: px(g.Top), Width: px(g.Right - g.Left), Height: px(g.Bottom - g.Top)},
			OuterBoundsMode: "none",
		})
		o.XAxis = append(o.XAxis, plateAxis{Type: "value", GridIndex: i, Min: g.X.From, Max: g.X.To})
		o.YAxis = append(o.YAxis, plateAxis{Type: "value", GridIndex: i, Min: g.Y.From, Max: g.Y.To})
		for _, m := range g.Marks {
			for _, s := range m.series(&stacks) {
				s.XAxisIndex, s.YAxisIndex, s.Z, s.Silent, s.Emphasis = i, i, 2+len(o.Series), true, noEmphasis
				if s.MarkArea != nil {
					s.MarkArea.Z = s.Z
				}
				o.Series = append(o.Series, s)
			}
		}
	}
	return o, nil
}

// series makes one series of a line or of dots, one of each run of an area without a gap, and two of an area between
// lines. A series takes ten milliseconds to draw: what looks the same should be one mark.
func (m Mark) series(stacks *int) []plateSeries {
	if len(m.Points) == 0 {
		return nil
	}
	if m.Shape == Boxed {
		return []plateSeries{m.boxes()}
	}
	if m.Fill == "" && m.Lows == nil || m.Shape == Dotted {
		return m.run(0, len(m.Points), stacks)
	}
	var out []plateSeries
	for from := 0; from < len(m.Points); {
		until := from
		for until < len(m.Points) && m.Points[until].isFinite() && (m.Lows == nil || !math.IsNaN(m.Lows[until])) {
			until++
		}
		if until > from {
			out = append(out, m.run(from, until, stacks)...)
		}
		from = until + 1
	}
	return out
}

// run draws the points of [from, until).
func (m Mark) run(from, until int, stacks *int) []plateSeries {
	s := plateSeries{Type: "line", Symbol: "none", LineStyle: plateLine{Color: m.Stroke, Width: m.Width, Join: "round"}}
	if m.Stroke == "" {
		s.LineStyle.Width = 0
	}
	if m.Dash != nil {
		s.LineStyle.Type = m.Dash
	}
	if m.Shape == Stepped {
		s.Step = "end"
	}
	data := func(y func(i int) float64) []any {
		var out []any
		for i := from; i < until; i++ {
			out = append(out, []any{orNull(m.Points[i].X), orNull(y(i))})
		}
		return out
	}
	if m.Shape == Dotted {
		s.Type, s.ShowSymbol, s.Symbol, s.SymbolSize = "scatter", true, "circle", 2*m.Width
		s.ItemStyle = &plateFill{Color: m.Fill, Opacity: 1}
		s.Data = data(func(i int) float64 { return m.Points[i].Y })
		return []plateSeries{s}
	}
	if m.Lows == nil {
		s.AreaStyle = m.fill()
		s.Data = data(func(i int) float64 { return m.Points[i].Y })
		return []plateSeries{s}
	}
	*stacks++
	s.Stack, s.StackStrategy = fmt.Sprint("between", *stacks), "all"
	low := s
	low.LineStyle = plateLine{}
	low.Data = data(func(i int) float64 { return m.Lows[i] })
	s.AreaStyle = m.fill()
	s.Data = data(func(i int) float64 { return m.Points[i].Y - m.Lows[i] })
	return []plateSeries{low, s}
}

func (m Mark) fill() *plateFill {
	if m.Fill == "" {
		return nil
	}
	f := &plateFill{Color: m.Fill, Opacity: 1}
	if m.Alpha > 0 {
		f.Opacity = m.Alpha
	}
	return f
}

func (m Mark) boxes() plateSeries {
	f := m.fill()
	if f == nil {
		f = &plateFill{Color: "none", Opacity: 1}
	}
	if m.Stroke != "" {
		f.BorderColor, f.BorderWidth = m.Stroke, m.Width
	}
	s := plateSeries{Type: "line", Symbol: "none", Data: []any{}, MarkArea: &plateBoxes{Silent: true, ItemStyle: f, Data: [][2]any{}}}
	for i := 0; i+1 < len(m.Points); i += 2 {
		corner := func(p Point) any { return map[string]any{"coord": [2]float64{p.X, p.Y}} }
		s.MarkArea.Data = append(s.MarkArea.Data, [2]any{corner(m.Points[i]), corner(m.Points[i+1])})
	}
	return s
}
