package reports

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"tidemark/internal/show"
	"tidemark/reports/chart"
)

// The two drawings of each chart: for screens and paper, and for a phone.
var (
	wide   = chart.Size{Width: 880, Height: 320}
	narrow = chart.Size{Width: 360, Height: 300}
)

// A figure never stands alone: it has a caption in words, the view and the query that it came from, the runs and the number of samples, and
// its numbers as a table, so that a reader can check it and a screen reader can read it.

// Figure is a chart with what belongs to it.
type Figure struct {
	ID, Caption  string
	Wide, Narrow template.HTML
	Fault        string // why there is no drawing
	Samples      string
	OfWhat       string   // 'run', 'runs', 'result' or 'results'
	Runs         []string // their names
	Results      []*Result
	Views        []*Result // one result of each view
	Tables       []Table
	Before       string // id of the figure that has the same numbers behind it; then there are no Tables
}

// figure draws a chart for a section. samples says in words how many samples it rests on. Empty results after the first are left out.
func (p *page) figure(s section, name string, c chart.Chart, caption, samples string, results ...*Result) Figure {
	if s.Run.ID != "" && !s.Run.IsValid {
		samples += ", of an invalid run" // a chart may be copied without the line that says so at the top of the page
	}
	results = append(results[:1:1], slices.DeleteFunc(slices.Clone(results[1:]), func(r *Result) bool { return r.Len() == 0 })...)
	f := Figure{ID: s.Prefix + name, Caption: caption, Samples: samples, OfWhat: s.ofWhat(), Runs: s.names(), Results: results}
	f.Before = p.shownWith(results, f.ID)
	for _, r := range results {
		if f.Before == "" {
			f.Tables = append(f.Tables, r.table(caption))
		}
		if !slices.ContainsFunc(f.Views, func(v *Result) bool { return v.Name == r.Name }) {
			f.Views = append(f.Views, r)
		}
	}
	// A chart that cannot be drawn must not break the page: the table below it has the numbers.
	var err error
	if f.Wide, err = drawing(c, f.ID+"-w", caption, wide); err == nil {
		f.Narrow, err = drawing(c, f.ID+"-n", caption, narrow)
	}
	if err != nil {
		f.Fault = err.Error()
	}
	return f
}

// shownWith is the figure that already shows these results as a table: the same numbers appear only once on the page.
func (p *page) shownWith(results []*Result, id string) string {
	if len(results) != 1 {
		return ""
	}
	if before, isShown := p.shown[results[0]]; isShown {
		return before
	}
	p.shown[results[0]] = id
	return ""
}

// drawing is the chart as SVG. Charts with spans, such as waterfalls, are as high as they have rows.
func drawing(c chart.Chart, id, label string, size chart.Size) (template.HTML, error) {
	if len(c.Spans) > 0 {
		size.Height = 60 + 32*len(c.Y.Categories)
	}
	svg, err := c.SVG(id, label, size)
	return template.HTML(svg), err // chart removes everything except plain drawing elements
}

// newChart makes a chart of axes and parts: series, limits, spans, and lists of these.
func newChart(x, y chart.Axis, parts ...any) (chart.Chart, error) {
	c := chart.Chart{X: x, Y: y}
	for _, part := range parts {
		switch v := part.(type) {
		case chart.Series:
			if hasPoint(v) { // a series without points would still have an entry in the legend
				c.Series = append(c.Series, v)
			}
		case chart.Band:
			c.Bands = append(c.Bands, v)
		case chart.Limit:
			c.Limits = append(c.Limits, v)
		case []chart.Span:
			c.Spans = v
		case []any:
			more, err := newChart(x, y, v...)
			if err != nil {
				return c, err
			}
			c.Bands = append(c.Bands, more.Bands...)
			c.Series, c.Limits = append(c.Series, more.Series...), append(c.Limits, more.Limits...)
		default:
			return c, fmt.Errorf("chart: a %T cannot be a part of one", part)
		}
	}
	return c, nil
}

func hasPoint(s chart.Series) bool {
	return slices.ContainsFunc(s.Points, func(p chart.Point) bool { return !math.IsNaN(p.Y) })
}

// The words of a look, as templates write them. The colours are the ones of Okabe and Ito (2008), which colour-blind readers can tell
// apart; measured is solid and predicted is dashed in every chart.
var (
	colours = map[string]chart.Colour{"blue": chart.Blue, "vermillion": chart.Vermillion, "green": chart.Green, "purple": chart.Purple, "black": chart.Black, "grey": chart.Grey}
	markers = map[string]chart.Marker{"circle": chart.Circle, "triangle": chart.Triangle, "square": chart.Square, "diamond": chart.Diamond, "unmarked": chart.NoMarker}
	kinds   = map[string]chart.Kind{"line": chart.Line, "step": chart.Step, "area": chart.Area, "points": chart.Points}
	mean    = map[string]chart.Meaning{"measured": chart.Measured, "predicted": chart.Predicted}
)

// series is a named sequence of points; look is its style in words, such as "blue circle measured step".
func series(name, look string, points []chart.Point) (chart.Series, error) {
	s := chart.Series{Name: name, Colour: chart.Blue, Points: points}
	for word := range strings.FieldsSeq(look) {
		if v, ok := colours[word]; ok {
			s.Colour = v
		} else if v, ok := markers[word]; ok {
			s.Marker = v
		} else if v, ok := kinds[word]; ok {
			s.Kind = v
		} else if v, ok := mean[word]; ok {
			s.Meaning = v
		} else if word == "hollow" {
			s.IsHollow = true
		} else {
			return s, fmt.Errorf("series %s: no look %q", name, word)
		}
	}
	return s, nil
}

// look gives the i-th of several runs (from 1) a colour and a marker of its own. There are five; the sixth run has those of the first.
func look(i int) string {
	looks := []string{"blue circle", "vermillion triangle", "green square", "purple diamond", "black circle"}
	return looks[(i-1)%len(looks)]
}

// axis is an axis with a name and no fixed range.
func axis(name string) chart.Axis { return chart.Axis{Name: name} }

// ninesAxis is an axis of quantiles up to the highest that is known.
func ninesAxis(name string, highest any) chart.Axis {
	q, _ := number(highest)
	last := math.Max(math.Ceil(chart.Nine(math.Min(q, 0.99999))-1e-9), 1)
	ticks := []chart.Tick{{At: 0, Text: "0 %"}, {At: chart.Nine(0.5), Text: "50 %"}}
	for nines := 1.0; nines <= last; nines++ {
		ticks = append(ticks, chart.Tick{At: nines, Text: trimZeros(100-math.Pow(10, 2-nines)) + " %"})
	}
	return chart.Axis{Name: name, Ticks: ticks, Max: last}
}

// trimZeros writes 99.00000 as 99.
func trimZeros(v float64) string {
	text := fmt.Sprintf("%.5f", v)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// diagonal is where measured equals predicted, up to the larger of both.
func diagonal(factor float64, ends ...any) []chart.Point {
	far := 0.0
	for _, end := range ends {
		v, _ := number(end)
		far = math.Max(far, v*factor)
	}
	return []chart.Point{{}, {X: far, Y: far}}
}

// Waterfall is parts that add up, each starting where the one before it ends.
type Waterfall struct {
	Categories []string
	Spans      []chart.Span
}

// waterfall lays out the parts of a prediction, their sum, the unexplained rest (the last row), and the measured time, which is all of
// these added up.
func waterfall(r *Result, name, value, rest string, names map[string]string, factor float64) (Waterfall, error) {
	if err := r.need(name, value); err != nil {
		return Waterfall{}, err
	}
	var w Waterfall
	row := func(label string, from, to float64, meaning chart.Meaning, colour chart.Colour) {
		w.Spans = append(w.Spans, chart.Span{Category: len(w.Categories), From: from, To: to, Meaning: meaning, Colour: colour, Label: show.Figures(to - from)})
		w.Categories = append(w.Categories, label)
	}
	sum := 0.0
	for i := range r.Rows {
		key := fmt.Sprint(r.At(i, name))
		v, ok := number(r.At(i, value))
		if !ok || key == rest {
			continue
		}
		label := key
		if better, found := names[key]; found {
			label = better
		}
		row(label, sum, sum+v*factor, chart.Predicted, chart.Green)
		sum += v * factor
	}
	row("predicted", 0, sum, chart.Predicted, chart.Black)
	for i := range r.Rows {
		if v, ok := number(r.At(i, value)); ok && fmt.Sprint(r.At(i, name)) == rest {
			row(rest, sum, sum+v*factor, chart.Measured, chart.Vermillion)
			row("measured", 0, sum+v*factor, chart.Measured, chart.Blue)
		}
	}
	return w, nil
}
