//go:build duckdb_arrow

package accuracy

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"tidemark/internal/stat"
	"tidemark/reports/plot"
	"tidemark/reports/style"
)

// Played is a figure of a run, or of one burst of a run with many, beside what the model played, seconds.
type Played struct {
	Run, Class       string
	Measured, Played float64
}

// Off is the error, relative to what was measured.
func (p Played) Off() float64 { return p.Played/p.Measured - 1 }

// PlayedFigure is a figure of all runs, by what the model knew of their machines.
type PlayedFigure struct {
	Name   string
	Groups []PlayedGroup
}

// PlayedGroup is runs of which the model knew as much.
type PlayedGroup struct {
	Name string
	Runs []Played
}

// isMiss is from where on a run is listed by name.
const isMiss = 0.2

// Misses are the figures that are off by a fifth and more, the worst first.
func (g PlayedGroup) Misses() []Played {
	misses := slices.DeleteFunc(slices.Clone(g.Runs), func(p Played) bool { return math.Abs(p.Off()) < isMiss })
	slices.SortStableFunc(misses, func(a, b Played) int { return cmp.Compare(math.Abs(b.Off()), math.Abs(a.Off())) })
	return misses
}

// Finding is what the figure says, in a line.
func (f PlayedFigure) Finding() string {
	var parts []string
	for _, group := range f.Groups {
		var off []float64
		for _, p := range group.Runs {
			off = append(off, math.Abs(p.Off()))
		}
		slices.Sort(off)
		parts = append(parts, fmt.Sprintf("%.1f %% (%s)", 100*stat.Median(off), group.Name))
	}
	return "Off by " + strings.Join(parts, ", ") + " in the median"
}

// looks are those of the groups, in order.
var looks = []plot.Look{{Colour: "var(--measured)", Class: "m"}, {Colour: "var(--good)"}, {Colour: "var(--missing)", IsHollow: true}}

// Wide and Narrow draw the figure for a screen and for a phone: what was played over what was measured, and the line on which they are equal.
func (f PlayedFigure) Wide() template.HTML   { return f.svg(plot.Wide) }
func (f PlayedFigure) Narrow() template.HTML { return f.svg(plot.Narrow) }

func (f PlayedFigure) svg(width float64) template.HTML {
	from, to := math.Inf(1), 0.0
	strip := plot.Strip{Height: 360}
	for i, group := range slices.Backward(f.Groups) { // the first is drawn last, above the others
		s := plot.Series{Name: group.Name, Kind: plot.Dots, Look: looks[i%len(looks)]}
		for _, p := range group.Runs {
			s.Points = append(s.Points, plot.Point{X: 1e3 * p.Measured, Y: 1e3 * p.Played})
			from, to = min(from, 1e3*p.Measured, 1e3*p.Played), max(to, 1e3*p.Measured, 1e3*p.Played)
		}
		strip.Series = append(strip.Series, s)
	}
	equal := plot.Series{Name: "equal", Kind: plot.Line, Look: plot.Look{Colour: "var(--limit)", Dash: []float64{4, 3}}, Points: []plot.Point{{X: from, Y: from}, {X: to, Y: to}}}
	strip.Series = append(strip.Series, equal)
	strip.Y = plot.Axis{Name: "played, ms", IsLog: true, From: from, To: to}
	chart := plot.Chart{X: plot.Axis{Name: f.Name + " measured, ms", IsLog: true, From: from, To: to}, Strips: []plot.Strip{strip}}
	return template.HTML(chart.SVG(f.Name+": what the model played over what was measured", width))
}

var evidencePage = template.Must(template.New("evidence").Funcs(template.FuncMap{
	"ms":      func(seconds float64) string { return fmt.Sprintf("%.4g", 1e3*seconds) },
	"percent": func(ratio float64) string { return fmt.Sprintf("%+.0f %%", 100*ratio) },
	"css":     func() template.CSS { return template.CSS(style.Sheet) },
}).Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>What real GPUs said, run by run</title><style>{{css}}</style></head><body><main>
<h1>What real GPUs said, run by run</h1>
<p class="lede">Each dot is one run, or one burst of a run with many: what was measured, and what the model played when the same requests were sent. On the line both are equal. Runs, machines
and terms are described in <a href="evidence.md">evidence.md</a>, which the same command makes.</p>
{{range .}}<section><h2>{{.Name}}</h2>
<figure><figcaption><strong>{{.Finding}}</strong></figcaption><div class="wide">{{.Wide}}</div><div class="narrow">{{.Narrow}}</div></figure>
{{range .Groups}}{{$group := .}}{{with .Misses}}<table class="fit"><caption><strong>{{$group.Name}}: off by a fifth or more</strong>{{len .}} of {{len $group.Runs}}</caption>
<thead><tr><th>run</th><th>burst</th><th class="r">measured, ms</th><th class="r">played, ms</th><th class="r">error</th></tr></thead><tbody>
{{range .}}<tr><td>{{.Run}}</td><td>{{.Class}}</td><td class="r">{{ms .Measured}}</td><td class="r">{{ms .Played}}</td><td class="r">{{percent .Off}}</td></tr>
{{end}}</tbody></table>
{{end}}{{end}}</section>
{{end}}</main></body></html>
`))

// WriteEvidence writes the page: no script, nothing loaded.
func WriteEvidence(w io.Writer, figures []PlayedFigure) error {
	return evidencePage.Execute(w, figures)
}
