package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-echarts/go-echarts/v2/opts"
)

// The option types of go-echarts leave out what ECharts 6 added; these carry the rest.
type option struct {
	Animation bool           `json:"animation"`
	TextStyle opts.TextStyle `json:"textStyle"`
	Legend    legendOption   `json:"legend"`
	Grid      grid           `json:"grid"`
	XAxis     axis           `json:"xAxis"`
	YAxis     axis           `json:"yAxis"`
	Series    []series       `json:"series"`
}

// grid keeps labels inside of the drawing (ECharts 6): without it long labels are cut off at the edge.
type grid struct {
	opts.Grid
	OuterBoundsMode    string `json:"outerBoundsMode"`
	OuterBoundsContain string `json:"outerBoundsContain"`
}

// axis serves as both x and y axis.
type axis struct {
	opts.XAxis
	NameTextStyle nameStyle `json:"nameTextStyle"`
	Ticks         []Tick    `json:"ticks,omitempty"` // read by render.js, which hands ECharts a formatter
}

// nameStyle adds the padding of an axis name.
type nameStyle struct {
	opts.TextStyle
	Padding []int `json:"padding,omitempty"`
}

// series has only the fields that are used here: what is not set must not appear in the JSON, because ECharts' defaults depend on that.
type series struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Data       []any           `json:"data"`
	Step       string          `json:"step,omitempty"`
	Symbol     string          `json:"symbol,omitempty"`
	SymbolSize float64         `json:"symbolSize,omitempty"`
	ShowSymbol bool            `json:"showSymbol"`
	Silent     bool            `json:"silent"`
	Emphasis   map[string]bool `json:"emphasis"`
	Stack      string          `json:"stack,omitempty"`
	Z          int             `json:"z,omitempty"` // what has more is drawn above; 2 where it is not said
	BarWidth   string          `json:"barWidth,omitempty"`
	LineStyle  *opts.LineStyle `json:"lineStyle,omitempty"`
	ItemStyle  *opts.ItemStyle `json:"itemStyle,omitempty"`
	AreaStyle  *opts.AreaStyle `json:"areaStyle,omitempty"`
	MarkLine   *markLines      `json:"markLine,omitempty"`
}

// markLines are limits. They are silent: an SVG has no mouse.
type markLines struct {
	opts.MarkLines
	Silent bool `json:"silent"`
}

// datum is a point with a style of its own.
type datum struct {
	Value      []any       `json:"value"`
	Symbol     string      `json:"symbol,omitempty"`
	SymbolSize float64     `json:"symbolSize,omitempty"`
	ItemStyle  *itemStyle  `json:"itemStyle,omitempty"`
	Label      *opts.Label `json:"label,omitempty"`
}

// itemStyle adds the dashed border of predicted bars.
type itemStyle struct {
	opts.ItemStyle
	BorderType string `json:"borderType,omitempty"`
}

// Sizes are pixels of a drawing as wide as Size says; the page scales it.
const (
	font      = "system-ui,sans-serif"
	fontSize  = 13
	ink       = "#1f2933"
	tickSize  = "12px" // fontSize - 1, as most texts have it
	gridLine  = "#e3e7eb"
	axisLine  = "#7b8794"
	legendRow = 29 // height of one row of the legend, pixels
)

// noEmphasis turns off hover effects, which would add invisible shapes to the SVG.
var noEmphasis = map[string]bool{"disabled": true}

// option is the chart as ECharts takes it.
func (c Chart) option(size Size) option {
	named := c.named()
	entries := named
	for _, band := range c.Bands {
		entries = append(slices.Clip(entries), Series{Name: shorten(band.Name, 60), Colour: band.Colour, Marker: NoMarker, Kind: Area})
	}
	top := 6
	if len(entries) > 1 {
		top += legendRow*legendRows(entries, size.Width) - legendRow/4
	}
	o := option{
		TextStyle: opts.TextStyle{FontFamily: font, FontSize: fontSize, Color: ink},
		Legend:    legend(entries, len(named)),
		Grid: grid{
			Grid:            opts.Grid{Left: "6", Right: "14", Top: strconv.Itoa(top), Bottom: "6"},
			OuterBoundsMode: "same", OuterBoundsContain: "all",
		},
		XAxis: c.X.option(), YAxis: c.Y.option(), Series: []series{},
	}
	o.XAxis.NameLocation, o.XAxis.NameGap = "middle", 28
	o.YAxis.NameLocation, o.YAxis.NameGap = "end", 12
	o.YAxis.NameTextStyle.Align, o.YAxis.NameTextStyle.Padding = "left", []int{0, 0, 0, -30}
	if len(c.Spans) > 0 {
		o.YAxis.Inverse = opts.Bool(true)
		o.YAxis.SplitLine = nil
		o.Grid.Right = "70" // room for the labels beside the bars
	}
	for i, band := range c.Bands {
		o.Series = append(o.Series, band.series(i, c.Y)...)
	}
	for _, s := range named {
		o.Series = append(o.Series, s.option(c.X, c.Y, size))
	}
	o.Series = append(o.Series, spanSeries(c.Spans)...)
	if len(c.Limits) > 0 && len(o.Series) > 0 {
		o.Series[0].MarkLine = limitLines(c.Limits)
		o.Series = append(o.Series, reach(c.Limits))
	}
	return o
}

// named gives every series a name of its own: ECharts takes two series of one name for one.
func (c Chart) named() []Series {
	seen := map[string]int{}
	out := make([]Series, len(c.Series))
	for i, s := range c.Series {
		s.Name = shorten(s.Name, 60)
		seen[s.Name]++
		if n := seen[s.Name]; n > 1 {
			s.Name += " (" + strconv.Itoa(n) + ")"
		}
		out[i] = s
	}
	return out
}

// shorten keeps at most n characters of text, so that one long name cannot push a chart off its page. Control
// characters, which XML cannot hold, become spaces.
func shorten(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// legendOption adds the gap between entries.
type legendOption struct {
	opts.Legend
	ItemGap int `json:"itemGap"`
}

// legendEntry is a name with the style of its icon.
type legendEntry struct {
	Name      string          `json:"name"`
	Icon      string          `json:"icon,omitempty"`
	ItemStyle *opts.ItemStyle `json:"itemStyle,omitempty"`
}

// legend has an entry for each series, then for each band, and is shown if there are two or more.
func legend(named []Series, bandsFrom int) legendOption {
	entries := make([]legendEntry, len(named))
	for i, s := range named {
		entries[i].Name = s.Name
		if i >= bandsFrom {
			entries[i].Icon, entries[i].ItemStyle = "rect", &opts.ItemStyle{Color: pale(s.Colour), BorderColor: string(s.Colour), BorderWidth: 1}
		} else if s.Marker == NoMarker {
			entries[i].ItemStyle = &opts.ItemStyle{Opacity: opts.Float(0)}
		}
	}
	return legendOption{ItemGap: 15, Legend: opts.Legend{
		Show: opts.Bool(len(named) > 1), Left: "0", Top: "0", Padding: 0, ItemWidth: 30, SelectedMode: "false",
		Data: entries, TextStyle: &opts.TextStyle{Color: ink, FontSize: fontSize},
	}}
}

// legendRows estimates the rows of a legend from the width of its names: eight pixels a character, the icon and the gap.
func legendRows(named []Series, width int) int {
	rows, used := 1, 0
	for _, s := range named {
		wide := 53 + 8*utf8.RuneCountInString(s.Name)
		if used > 0 && used+wide > width {
			rows, used = rows+1, 0
		}
		used += wide
	}
	return rows
}

// option is the axis as ECharts takes it: numbers, logarithms or categories. Names of categories come from users and are cut.
func (a Axis) option() axis {
	out := axis{
		XAxis: opts.XAxis{
			Name: shorten(a.Name, 80), Type: "value",
			SplitLine: &opts.SplitLine{Show: opts.Bool(true), LineStyle: &opts.LineStyle{Color: gridLine}},
			AxisLine:  &opts.AxisLine{Show: opts.Bool(true), LineStyle: &opts.LineStyle{Color: axisLine}},
			AxisLabel: &opts.AxisLabel{Color: ink, FontSize: fontSize - 1, HideOverlap: opts.Bool(true)},
		},
		NameTextStyle: nameStyle{TextStyle: opts.TextStyle{Color: ink, FontSize: fontSize}},
		Ticks:         a.Ticks,
	}
	if a.IsLog {
		out.Type = "log"
	}
	if a.Categories != nil {
		out.Type = "category"
		names := make([]string, len(a.Categories))
		for i, name := range a.Categories {
			names[i] = shorten(name, 40)
		}
		out.Data = names
		out.AxisLabel.Interval = "0"
	}
	if a.Max > 0 {
		out.Max = a.Max
	}
	if a.IsZoomed {
		out.Scale = opts.Bool(true)
	}
	return out
}

// option is the series as ECharts takes it. Too many points for the size are thinned; a line has markers only every so many points, at its
// end, and where a point stands alone between gaps.
func (s Series) option(x, y Axis, size Size) series {
	points := thin(s, size)
	out := series{
		Type: "line", Name: s.Name, Silent: true, ShowSymbol: true, Emphasis: noEmphasis,
		Symbol: string(s.Marker), SymbolSize: 7,
		ItemStyle: &opts.ItemStyle{Color: string(s.Colour)},
		LineStyle: &opts.LineStyle{Color: string(s.Colour), Width: 2, Type: s.Meaning.dash()},
	}
	if out.Symbol == "" {
		out.Symbol = string(Circle)
	}
	if s.IsHollow && out.Symbol != string(NoMarker) {
		out.Symbol = hollow(out.Symbol)
	}
	switch s.Kind {
	case Step:
		out.Step = "end"
	case Area:
		out.Step = "end"
		out.AreaStyle = &opts.AreaStyle{Color: string(s.Colour), Opacity: opts.Float(0.15)}
	case Points:
		out.Type, out.LineStyle = "scatter", nil
		out.ItemStyle.Opacity = opts.Float(0.6) // many dots may lie on one another
		if s.IsHollow {
			out.ItemStyle.Opacity = opts.Float(1)
		}
	}
	every := markEvery(len(points), size)
	for i, p := range points {
		d := datum{Value: []any{finite(p.X, x), finite(p.Y, y)}}
		switch {
		case s.Kind == Points && s.IsHollow:
			d.SymbolSize = 9
		case s.Kind == Points:
			d.SymbolSize = dotSize(p.Weight)
		case i%every != 0 && i != len(points)-1 && !isAlone(points, i, y):
			d.Symbol = string(NoMarker)
		}
		out.Data = append(out.Data, d)
	}
	return out
}

// series makes of a band two stacked lines, its low edge and what is between the edges.
func (b Band) series(i int, y Axis) []series {
	edge := func(name string) series {
		return series{
			Type: "line", Name: name, Silent: true, Emphasis: noEmphasis, Stack: "band" + strconv.Itoa(i), Z: 1, Symbol: string(NoMarker),
			ItemStyle: &opts.ItemStyle{Color: string(b.Colour)}, LineStyle: &opts.LineStyle{Color: string(b.Colour), Width: 1},
		}
	}
	low, between := edge("edge of band "+strconv.Itoa(i)), edge(shorten(b.Name, 60))
	between.AreaStyle = &opts.AreaStyle{Color: pale(b.Colour), Opacity: opts.Float(1)}
	for n := range min(len(b.Low), len(b.High)) {
		at := b.Low[n]
		from, to := finite(at.Y, y), finite(b.High[n].Y-at.Y, Axis{})
		low.Data = append(low.Data, datum{Value: []any{finite(at.X, Axis{}), from}})
		between.Data = append(between.Data, datum{Value: []any{finite(at.X, Axis{}), to}})
	}
	return []series{low, between}
}

// hollow is the outline of a shape, as ECharts names it: emptyCircle.
func hollow(symbol string) string { return "empty" + strings.ToUpper(symbol[:1]) + symbol[1:] }

// dash is the line style of a meaning: measured is solid, predicted is dashed.
func (m Meaning) dash() string {
	if m == Predicted {
		return "dashed"
	}
	return "solid"
}

// markEvery spreads about one marker per 60 pixels over a line.
func markEvery(points int, size Size) int {
	return max(1, points*60/max(size.Width, 1))
}

// isAlone says whether a point has a gap on both sides: without a marker it would not be seen.
func isAlone(points []Point, i int, y Axis) bool {
	isGap := func(i int) bool { return i < 0 || i >= len(points) || finite(points[i].Y, y) == nil }
	return isGap(i-1) && isGap(i+1)
}

// dotSize grows with the logarithm of what a point stands for, pixels.
func dotSize(weight float64) float64 {
	if !(weight > 1) {
		return 5
	}
	return math.Min(16, 5+2.2*math.Log2(weight))
}

// finite is the value, or null where the axis cannot show it.
func finite(v float64, on Axis) any {
	if math.IsNaN(v) || math.IsInf(v, 0) || on.IsLog && v <= 0 {
		return nil
	}
	return v
}

// limitLines are the horizontal lines of limits with their texts.
func limitLines(limits []Limit) *markLines {
	out := &markLines{Silent: true}
	out.Symbol = []string{"none", "none"}
	out.Label = &opts.Label{Position: "insideEndTop", Color: ink, FontSize: fontSize - 1}
	out.LineStyle = &opts.LineStyle{Color: string(Black), Width: 1.5, Type: "dotted"}
	for _, limit := range limits {
		out.Data = append(out.Data, opts.MarkLineNameYAxisItem{Name: shorten(limit.Text, 60), YAxis: limit.At})
	}
	return out
}

// reach is a series that is not seen and makes the axes include the limits.
func reach(limits []Limit) series {
	out := series{Type: "scatter", Name: "reach", Silent: true, Emphasis: noEmphasis, Symbol: string(NoMarker)}
	for _, limit := range limits {
		out.Data = append(out.Data, datum{Value: []any{nil, limit.At}})
	}
	return out
}

// spanSeries makes each span of two stacked bars: one that is not seen up to where it begins, then itself.
func spanSeries(spans []Span) []series {
	if len(spans) == 0 {
		return nil
	}
	base := series{Type: "bar", Name: "base", Silent: true, Emphasis: noEmphasis, Stack: "span", BarWidth: "62%",
		ItemStyle: &opts.ItemStyle{Color: "transparent"}}
	bars := series{Type: "bar", Name: "span", Silent: true, Emphasis: noEmphasis, Stack: "span", BarWidth: "62%"}
	for _, s := range spans {
		from, to := math.Min(s.From, s.To), math.Max(s.From, s.To)
		base.Data = append(base.Data, datum{Value: []any{from, s.Category}})
		bars.Data = append(bars.Data, datum{
			Value:     []any{to - from, s.Category},
			ItemStyle: s.style(),
			Label:     &opts.Label{Show: opts.Bool(s.Label != ""), Position: "right", Color: ink, FontSize: fontSize - 1, Formatter: shorten(s.Label, 60)},
		})
	}
	return []series{base, bars}
}

// style is a bar in full colour if it was measured, pale with a dashed border if it is predicted.
func (s Span) style() *itemStyle {
	style := &itemStyle{BorderType: s.Meaning.dash()}
	style.Color, style.BorderColor, style.BorderWidth = string(s.Colour), string(s.Colour), 1.5
	if s.Meaning == Predicted {
		style.Color = pale(s.Colour)
	}
	return style
}

// pale mixes a colour with three times as much white; its outline in full colour keeps the contrast.
func pale(c Colour) string {
	var red, green, blue int
	if _, err := fmt.Sscanf(string(c), "#%02X%02X%02X", &red, &green, &blue); err != nil {
		return string(c)
	}
	mix := func(v int) int { return (v + 3*255) / 4 }
	return fmt.Sprintf("#%02X%02X%02X", mix(red), mix(green), mix(blue))
}
