package reports

import (
	"fmt"
	"html/template"
	"math"
	"regexp"
	"slices"
	"strings"

	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// A figure never stands alone: its caption says what was found, a soft line says what is shown and of how many samples, the view and the
// query that it came from stand below it, and its numbers as a table, so that a reader can check it and a screen reader can read it.

// Figure is a chart with what belongs to it.
type Figure struct {
	ID, Title, Soft string
	Wide, Narrow    template.HTML
	OfWhat          string   // 'run', 'runs', 'result' or 'results'
	Runs            []string // their names, where the page is about several
	Results         []*Result
	Views           []*Result // one result of each view
	Tables          []Table
	Before          string // id of the figure that has the same numbers behind it; then there are no Tables
}

// figure draws a chart for a section. Its title is the finding, without a full stop. Empty results after the first are left out.
func (p *page) figure(s section, name string, c plot.Chart, title, soft string, results ...*Result) Figure {
	if s.Run.ID != "" && !s.Run.IsValid {
		soft += "; of an invalid run" // a chart may be copied without the line that says so at the top of the page
	}
	results = append(results[:1:1], slices.DeleteFunc(slices.Clone(results[1:]), func(r *Result) bool { return r.Len() == 0 })...)
	f := Figure{ID: s.Prefix + name, Title: tight(title), Soft: tight(soft), OfWhat: s.ofWhat(), Results: results}
	if len(p.Runs) != 1 {
		f.Runs = s.names()
	}
	f.Before = p.shownWith(results, f.ID)
	for _, r := range results {
		if f.Before == "" {
			f.Tables = append(f.Tables, r.table(title))
		}
		if !slices.ContainsFunc(f.Views, func(v *Result) bool { return v.Name == r.Name }) {
			f.Views = append(f.Views, r)
		}
	}
	if !c.IsEmpty() {
		f.Wide, f.Narrow = template.HTML(c.SVG(f.Title, plot.Wide)), template.HTML(c.SVG(f.Title, plot.Narrow)) // safe: plot escapes every text
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

var unitAfterNumber = regexp.MustCompile(`(\d) (ms|s|%|GB|MB|kB|W|MHz|GHz|°C|min|h)\b`)
var percentAfterNumber = regexp.MustCompile(`(\d) %`)

// tight sets numbers for the page: a narrow space that no line breaks at before the unit.
func tight(text string) string {
	return percentAfterNumber.ReplaceAllString(unitAfterNumber.ReplaceAllString(text, "$1\u202f$2"), "$1\u202f%")
}

// newChart makes a chart of one strip: two axes and parts, which are series, bands, limits, notes, shades, and lists of these.
func newChart(x, y plot.Axis, parts ...any) (plot.Chart, error) {
	c := plot.Chart{X: x}
	strip := plot.Strip{Y: y}
	if err := put(&c, &strip, parts); err != nil {
		return c, err
	}
	c.Strips = []plot.Strip{strip}
	return c, nil
}

// newStrip is a part of a chart of several strips; height is that of its plot in pixels.
func newStrip(y plot.Axis, height float64, parts ...any) (plot.Strip, error) {
	strip := plot.Strip{Y: y, Height: height}
	return strip, put(nil, &strip, parts)
}

// newStrips makes a chart of strips under each other, which share the axis of X. A strip without a point is left out.
func newStrips(x plot.Axis, parts ...any) (plot.Chart, error) {
	c := plot.Chart{X: x}
	for _, part := range parts {
		switch v := part.(type) {
		case plot.Strip:
			if !(plot.Chart{Strips: []plot.Strip{v}}).IsEmpty() {
				c.Strips = append(c.Strips, v)
			}
		case plot.Shade:
			c.Shades = append(c.Shades, v)
		case []any:
			for _, shade := range v {
				if s, isShade := shade.(plot.Shade); isShade {
					c.Shades = append(c.Shades, s)
				}
			}
		default:
			return c, fmt.Errorf("strips: a %T cannot be one", part)
		}
	}
	return c, nil
}

func put(c *plot.Chart, strip *plot.Strip, parts []any) error {
	for _, part := range parts {
		switch v := part.(type) {
		case plot.Series:
			if hasPoint(v) { // a series without points would still have a name
				strip.Series = append(strip.Series, v)
			}
		case plot.Band:
			strip.Bands = append(strip.Bands, v)
		case plot.Limit:
			strip.Limits = append(strip.Limits, v)
		case plot.Note:
			strip.Notes = append(strip.Notes, v)
		case plot.Shade:
			if c != nil {
				c.Shades = append(c.Shades, v)
			}
		case []any:
			if err := put(c, strip, v); err != nil {
				return err
			}
		default:
			return fmt.Errorf("chart: a %T cannot be a part of one", part)
		}
	}
	return nil
}

func hasPoint(s plot.Series) bool {
	return slices.ContainsFunc(s.Points, func(p plot.Point) bool { return !math.IsNaN(p.Y) })
}

// The words of a look, as templates write them. A colour means one thing on every page.
var (
	colours = map[string]plot.Look{
		"measured":  {Colour: "var(--measured)", Class: "m"},
		"predicted": {Colour: "var(--predicted)", Class: "p", Dash: []float64{6, 4}},
		"floor":     {Colour: "var(--limit)", Class: "s", Dash: []float64{2, 3}},
		"limit":     {Colour: "var(--limit)", Class: "s"},
		"bad":       {Colour: "var(--bad)", Class: "x"},
		"good":      {Colour: "var(--good)", Class: "g"},
		"planned":   {Colour: "var(--axis)", Class: "i"},
		"ink":       {Colour: "var(--ink)", Class: "s"},
	}
	dashes = map[string][]float64{"dashed": {6, 4}, "dotted": {2, 3}, "solid": nil}
	kinds  = map[string]plot.Kind{"line": plot.Line, "step": plot.Step, "area": plot.Area, "dots": plot.Dots}
)

// lookOf reads a look in words, such as "measured dashed line".
func lookOf(words string) (look plot.Look, kind plot.Kind, err error) {
	look = colours["measured"]
	for word := range strings.FieldsSeq(words) {
		if v, ok := colours[word]; ok {
			look = v
		} else if v, ok := dashes[word]; ok {
			look.Dash = v
		} else if v, ok := kinds[word]; ok {
			kind = v
		} else if word == "hollow" {
			look.IsHollow = true
		} else if word == "marked" {
			look.IsMarked = true
		} else {
			return look, kind, fmt.Errorf("no look %q", word)
		}
	}
	return look, kind, nil
}

// series is a named sequence of points.
func series(name, words string, points []plot.Point) (plot.Series, error) {
	look, kind, err := lookOf(words)
	return plot.Series{Name: name, Kind: kind, Look: look, Points: points}, err
}

// band is an interval between two columns; words say whose it is.
func band(name, words string, low, high []plot.Point) (plot.Band, error) {
	look, _, err := lookOf(words)
	look.Colour = strings.Replace(look.Colour, ")", "-band)", 1)
	return plot.Band{Name: name, Look: look, Low: low, High: high}, err
}

// look gives the i-th of several runs (from 1) a line of its own; names at the ends of lines tell them apart as well.
func look(i int) string {
	looks := []string{"ink", "measured", "measured dashed", "measured dotted", "planned", "planned dashed"}
	return looks[(i-1)%len(looks)]
}

// axis is an axis with a name and no fixed range.
func axis(name string) plot.Axis { return plot.Axis{Name: name} }

// since is the axis of a run's time, in minutes where it is longer than five.
func since(length any) plot.Axis {
	seconds, _ := number(length)
	a := plot.Axis{Name: "seconds since the start", To: seconds}
	if seconds > 300 {
		a.Name, a.Per = "minutes since the start", 60
	}
	if seconds > 4*3600 {
		a.Name, a.Per = "hours since the start", 3600
	}
	return a
}

// ninesAxis is an axis of quantiles up to the highest that is known.
func ninesAxis(name string, highest any) plot.Axis {
	q, _ := number(highest)
	last := math.Max(math.Ceil(plot.Nine(math.Min(q, 0.99999))-1e-9), 1)
	ticks := []plot.Tick{{At: 0, Text: "0 %"}, {At: plot.Nine(0.5), Text: "50 %"}}
	for nines := 1.0; nines <= last; nines++ {
		ticks = append(ticks, plot.Tick{At: nines, Text: show.Plain(100-math.Pow(10, 2-nines)) + " %"})
	}
	return plot.Axis{Name: name, Ticks: ticks, To: last}
}

// diagonal is where measured equals predicted, up to the larger of both; of times that.
func diagonal(factor, of float64, ends ...any) []plot.Point {
	far := 0.0
	for _, end := range ends {
		v, _ := number(end)
		far = math.Max(far, v*factor)
	}
	return []plot.Point{{}, {X: far, Y: far * of}}
}

// waterfall lays out the terms of a prediction, each starting where the one before it ends, then their sum and what was measured with its
// interval.
func waterfall(r *Result, name, value, rest string, names map[string]string, unit show.Unit) (plot.Chart, error) {
	c := plot.Chart{X: plot.Axis{Name: unit.Name + " a token"}}
	if err := r.need(name, value); err != nil {
		return c, err
	}
	sum, unexplained := 0.0, 0.0
	for i := range r.Rows {
		key := fmt.Sprint(r.At(i, name))
		v, ok := number(r.At(i, value))
		if !ok {
			continue
		}
		v *= unit.Factor
		if key == rest {
			unexplained = v
			continue
		}
		label := key
		if better, found := names[key]; found {
			label = better
		}
		c.Rows = append(c.Rows, plot.Row{Name: label, Text: termText(v), Spans: []plot.Span{{From: sum, To: sum + v, Fill: "var(--p1)", Edge: "var(--predicted)"}}})
		sum += v
	}
	c.Rows = append(c.Rows,
		plot.Row{Name: "prediction", Class: "p", Text: show.Figures(sum), Spans: []plot.Span{{To: sum, Fill: "var(--predicted)"}}},
		plot.Row{Name: "measured", Class: "m", Text: show.Figures(sum + unexplained), Spans: []plot.Span{{To: sum + unexplained, Fill: "var(--measured)"}}})
	return c, nil
}

// termText writes a term of a sum with two decimals at most: a figure of 0.00400 would claim a precision that no term has.
func termText(v float64) string {
	text := strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
	if text == "0" || text == "-0" {
		return "less than 0.01"
	}
	return strings.ReplaceAll(text, "-", "−")
}
