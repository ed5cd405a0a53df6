package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"tidemark/internal/hint"
	"tidemark/internal/show"
)

const (
	MostRows   = 10_000 // of a plot: more marks make a browser slow
	mostSeries = 15     // five colours with three strokes: each looks different
	mostMarked = 60     // points of a line that each have a mark
)

// Kinds of plots.
var Kinds = []string{"line", "scatter", "bar", "heatmap"}

// Rows are the columns of an answer that a plot is made of.
type Rows struct {
	X, Y   Column
	Series *Column // one line, or one colour of points or bars, for each of its values
	Value  *Column // the colour in a heatmap
}

// Plot is what the browser gets.
type Plot struct {
	Options map[string]any `json:"options"`
	Label   string         `json:"label"`  // what the plot shows, in words
	Points  int            `json:"points"` // marks that are drawn
}

// point is one row. A nil y is a gap.
type point struct{ x, y any }

// New makes a plot of one of Kinds.
func New(kind string, rows Rows) (Plot, error) {
	if kind == "heatmap" {
		return heatmap(rows)
	}
	if rows.Y.measure() != numbers {
		return Plot{}, notNumbers("y", rows.Y)
	}
	x := axisOf(kind, rows)
	groups, names, err := grouped(rows, x)
	if err != nil {
		return Plot{}, err
	}
	chart := charts.NewLine()
	points, withoutX := 0, len(rows.X.Values)
	for i, name := range names {
		group := groups[name]
		withoutX -= len(group)
		if kind == "bar" {
			if err := checkPlaces(group, rows, name); err != nil {
				return Plot{}, err
			}
		}
		if kind == "line" && x.words == nil {
			slices.SortStableFunc(group, func(a, b point) int { return cmp.Compare(a.x.(float64), b.x.(float64)) })
		}
		data, count := marks(kind, group)
		points += count
		chart.MultiSeries = append(chart.MultiSeries, charts.SingleSeries{
			Name: name, Type: kind, Data: data, Symbol: symbolOf(kind, i, len(group)), SymbolSize: 6,
			LineStyle: &opts.LineStyle{Width: 2, Type: []string{"solid", "dashed", "dotted"}[i/5%3]},
		})
	}
	label := fmt.Sprintf("%s by %s", rows.Y.title(), rows.X.title())
	if rows.Series != nil {
		label += ", for each " + rows.Series.Name
	}
	label += ", n = " + show.Count(int64(points))
	if withoutX > 0 {
		label += fmt.Sprintf("; %s without %s", show.Things(int64(withoutX), "row", "rows"), rows.X.Name)
	}
	chart.XAxisList[0] = opts.XAxis{Name: rows.X.title(), Type: x.kind, Data: x.data(), Scale: opts.Bool(true)}
	chart.YAxisList[0] = opts.YAxis{Name: rows.Y.title(), Type: "value"}
	chart.Legend.Show = opts.Bool(rows.Series != nil)
	chart.Legend.Type = "scroll"
	chart.Tooltip.Trigger = map[string]string{"line": "axis", "bar": "axis", "scatter": "item"}[kind]
	return Plot{options(&chart.BaseConfiguration), label, points}, nil
}

func notNumbers(role string, c Column) error {
	return hint.Misuse("%s: %q holds no numbers", role, c.Name).Hint("name a column of numbers, or cast it in the query")
}

// across is the horizontal axis. A column of texts, and bars, have a place for each value; without series each row has its own, also
// where a text comes again.
type across struct {
	kind  string // as ECharts calls it
	words []string
	place map[string]int // nil: each row has its own
}

func axisOf(kind string, rows Rows) across {
	switch measure := rows.X.measure(); {
	case kind != "bar" && measure == numbers:
		return across{kind: "value"}
	case kind != "bar" && measure == times:
		return across{kind: "time"}
	case rows.Series != nil:
		words, places := categories(rows.X)
		return across{"category", words, places}
	}
	own := across{kind: "category", words: make([]string, 0, len(rows.X.Values))}
	for _, value := range rows.X.Values {
		if value != nil {
			own.words = append(own.words, word(value))
		}
	}
	return own
}

// data is nil for an axis without categories, so that the options have none.
func (a across) data() any {
	if a.words == nil {
		return nil
	}
	return a.words
}

// grouped are the rows of each series that have an x, and the series in the order of the rows.
func grouped(rows Rows, axis across) (groups map[string][]point, names []string, err error) {
	groups = map[string][]point{}
	own := 0 // the place of a row that shares it with no other
	for i, value := range rows.X.Values {
		var x any
		switch at, has := number(value); {
		case value == nil:
			continue
		case axis.place != nil:
			x = axis.place[word(value)]
		case axis.words != nil:
			x = own
			own++
		case has:
			x = at
		default:
			continue
		}
		name := rows.Y.Name
		if rows.Series != nil {
			name = word(rows.Series.Values[i])
		}
		if _, known := groups[name]; !known {
			names = append(names, name)
		}
		p := point{x: x}
		if y, has := number(rows.Y.Values[i]); has {
			p.y = y
		}
		groups[name] = append(groups[name], p)
	}
	if len(names) > mostSeries {
		return nil, nil, hint.Misuse("series: %q has %d values, more than %d", rows.Series.Name, len(names), mostSeries).Hint("ask for fewer in the query, or leave series out")
	}
	return groups, names, nil
}

// checkPlaces refuses two bars in one place, of which one would hide the other.
func checkPlaces(group []point, rows Rows, name string) error {
	seen := map[any]bool{}
	for _, p := range group {
		if seen[p.x] {
			return hint.Misuse("two rows of %s %q have the same %s", rows.Series.Name, name, rows.X.Name).Hint("aggregate in the query, so that each bar is one row")
		}
		seen[p.x] = true
	}
	return nil
}

// marks are the data of a series. A point between two gaps has no line, so it has a mark of its own.
func marks(kind string, group []point) (data []opts.LineData, count int) {
	isGap := func(i int) bool { return i < 0 || i >= len(group) || group[i].y == nil }
	for i, p := range group {
		mark := opts.LineData{Value: [2]any{p.x, p.y}}
		if kind == "line" && !isGap(i) && isGap(i-1) && isGap(i+1) {
			mark.Symbol = "circle"
		}
		if !isGap(i) {
			count++
		}
		data = append(data, mark)
	}
	return data, count
}

func symbolOf(kind string, series, points int) string {
	if kind == "line" && points > mostMarked {
		return "none"
	}
	return []string{"circle", "rect", "triangle"}[series/5%3]
}

// heatmap has a cell for each pair of x and y, and the colour by the value.
func heatmap(rows Rows) (Plot, error) {
	if rows.Value.measure() != numbers {
		return Plot{}, notNumbers("value", *rows.Value)
	}
	across, atX := categories(rows.X)
	up, atY := categories(rows.Y)
	data, seen := []opts.HeatMapData{}, map[[2]int]bool{}
	low, high := math.Inf(1), math.Inf(-1)
	for i, value := range rows.Value.Values {
		v, has := number(value)
		x, y := rows.X.Values[i], rows.Y.Values[i]
		if !has || x == nil || y == nil {
			continue // the ground shows where there is nothing
		}
		cell := [2]int{atX[word(x)], atY[word(y)]}
		if seen[cell] {
			return Plot{}, hint.Misuse("two rows have %s %q and %s %q", rows.X.Name, word(x), rows.Y.Name, word(y)).Hint("aggregate in the query, so that each cell is one row")
		}
		seen[cell] = true
		low, high = math.Min(low, v), math.Max(high, v)
		data = append(data, opts.HeatMapData{Value: [3]any{cell[0], cell[1], v}})
	}
	if len(data) == 0 {
		low, high = 0, 1
	}
	chart := charts.NewHeatMap()
	chart.XAxisList[0] = opts.XAxis{Name: rows.X.title(), Type: "category", Data: across}
	chart.YAxisList[0] = opts.YAxis{Name: rows.Y.title(), Type: "category", Data: up}
	chart.AddSeries(rows.Value.title(), data)
	chart.Tooltip.Trigger = "item"
	chart.Legend.Show = opts.Bool(false)
	chart.VisualMapList = []opts.VisualMap{{Type: "continuous", Orient: "horizontal", Left: "center", Top: "0", Calculable: opts.Bool(true)}}
	shown := options(&chart.BaseConfiguration)
	// go-echarts has the bounds in 32 bits and leaves a 0 out, for which ECharts takes 200.
	shown["visualMap"] = struct {
		opts.VisualMap
		Min float64 `json:"min"`
		Max float64 `json:"max"`
	}{chart.VisualMapList[0], low, high}
	label := fmt.Sprintf("%s by %s and %s, n = %s", rows.Value.title(), rows.X.title(), rows.Y.title(), show.Count(int64(len(data))))
	return Plot{shown, label, len(data)}, nil
}

// options are go-echarts' with what it has no words for, and without what it would set by itself.
func options(chart *charts.BaseConfiguration) map[string]any {
	all := chart.JSON()
	for _, name := range []string{"color", "title", "toolbox"} {
		delete(all, name)
	}
	all["useUTC"] = true
	all["animation"] = false
	all["tooltip"] = struct {
		opts.Tooltip
		RenderMode string `json:"renderMode"` // else ECharts makes HTML of it
		Confine    bool   `json:"confine"`
	}{chart.Tooltip, "richText", true}
	return all
}
