// Package week writes the Monday page of one service and one week, and the two summaries of it, from a week.Report alone: it asks no warehouse.
// The page is one HTML file without scripts that needs no network, for light and dark screens, phones and paper.
//
//	page.go        puts the page together: the first screen, the sections in reading order, one stylesheet
//	sections/      one template a section, each with a view of its own in the file of its name (demand.go, ...)
//	facts.go       the report with what several sections ask of it
//	sentences.go   headline, lede and recommendation, for every kind of week
//	tiles.go       the six figures below the chart
//	words.go clock.go   how numbers and times are set
//	summary.go pictures.go   summary.md, summary.json and three PNG
//	draw/          the charts
//
// It refuses to fill in what is not known: a nil number is a dash, and a section without data says which command fetches it. It puts
// nothing into the page that could differ between two pages of the same report.
package week

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"tidemark/analysis/week"
	"tidemark/internal/escape"
	"tidemark/reports/style"
	"tidemark/reports/week/draw"
)

//go:embed sections
var sections embed.FS

// Options are what the page says of itself.
type Options struct {
	GeneratedAt time.Time // goes into a meta tag, never into the text; zero: left out
}

// section is one heading with what is below it.
type section struct {
	ID, Name string
	Finding  string // its first title, which the contents show
	HTML     template.HTML
}

// document is the dot of page.html.
type document struct {
	*facts
	Title, Generated string
	Style            template.CSS
	Hatch            template.HTML
	First            template.HTML
	Sections         []section
}

// part makes the view of a section, and its finding.
type part struct {
	file, id, name string
	view           func(*facts) (view any, finding string, err error)
}

// parts are the sections in reading order.
var parts = []part{
	{"20_demand.html", "demand", "The week’s demand", demandView},
	{"30_shape.html", "shape", "The shape", shapeView},
	{"40_replica.html", "capacity", "What a replica handles", replicaView},
	{"50_hours.html", "hours", "GPUs by hour", hoursView},
	{"60_felt.html", "felt", "What users felt", feltView},
	{"70_bandwidth.html", "bandwidth", "Bandwidth", bandwidthView},
	{"75_diagnosis.html", "diagnosis", "Diagnosis", diagnosisView},
	{"80_alternatives.html", "alternatives", "Alternatives", alternativesView},
	{"85_cost.html", "cost", "Cost", costView},
	{"90_forecast.html", "forecast", "Forecast", forecastView},
	{"95_replays.html", "replays", "Replays of the week", replaysView},
	{"99_appendix.html", "appendix", "Appendix", appendixView},
}

// parts are those of this page. Without any metrics of production one section says so, in the place of three.
func (f *facts) parts() []part {
	if len(f.Felt)+len(f.Steps)+len(f.Symptoms)+f.Looked > 0 {
		return parts
	}
	var some []part
	for _, p := range parts {
		switch p.id {
		case "felt":
			p.name, p.view = "Production", func(f *facts) (any, string, error) {
				return felt{Lacks: f.byCollect("There are no metrics of production for this week: what users felt, what a token took and whether a symptom shows is not known. This command fetches them from Prometheus:")},
					"There are no metrics of production", nil
			}
		case "bandwidth", "diagnosis":
			continue
		}
		some = append(some, p)
	}
	return some
}

// Write writes the page. Nothing is written before the whole page is made, so that an error leaves no half page.
func Write(w io.Writer, r *week.Report, o Options) error {
	page, err := makePage(r, o)
	if err != nil {
		return fmt.Errorf("page of %s, %s: %w", r.Service, r.Week, err)
	}
	_, err = w.Write(page)
	return err
}

func makePage(r *week.Report, o Options) ([]byte, error) {
	templates, err := template.ParseFS(sections, "sections/*.html")
	if err != nil {
		return nil, err
	}
	f := newFacts(r)
	d := document{facts: f, Title: fmt.Sprintf("%s, %s: %s", r.Service, r.Week, f.headline()), Style: template.CSS(pageStyle()), Hatch: draw.Hatch} // safe: our own file
	if !o.GeneratedAt.IsZero() {
		d.Generated = o.GeneratedAt.UTC().Format(time.RFC3339)
	}
	first, _, err := firstView(f)
	if err != nil {
		return nil, err
	}
	if d.First, err = execute(templates, "10_first.html", first); err != nil {
		return nil, err
	}
	for _, p := range f.parts() {
		view, finding, err := p.view(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		finding = cmp.Or(finding, "There is nothing to draw")
		s := section{ID: p.id, Name: p.name, Finding: finding}
		if s.HTML, err = execute(templates, p.file, view); err != nil {
			return nil, err
		}
		d.Sections = append(d.Sections, s)
	}
	var out bytes.Buffer
	err = templates.ExecuteTemplate(&out, "page.html", d)
	return []byte(escape.Direction(out.String())), err
}

// pageStyle is the stylesheet of every page.
func pageStyle() string { return style.Sheet }

func execute(templates *template.Template, file string, view any) (template.HTML, error) {
	var out strings.Builder
	err := templates.ExecuteTemplate(&out, file, view)
	return template.HTML(strings.TrimSpace(out.String())), err // safe: html/template made it and escaped every value
}

// WeekInWords and the like are what the masthead and the footer say.
func (d document) WeekInWords() string { return weekInWords(d.Report) }

// Fleet: 6 replicas of 2 × H100, Llama 3.1 70B FP8, vLLM 0.11.2.
func (d document) Fleet() string { return replicas(d.Paid) + " of " + d.Deployment.InWords }

// figure is a chart with its caption, where it comes from and, folded, its numbers and its queries.
type figure struct {
	ID, Title, Soft string
	Wide, Narrow    template.HTML
	From            string // relation or place of the figures
	Notes           string // after it
	Tables          []table
	Queries         []string
}

// Folded says what is folded below the figure.
func (f figure) Folded() string {
	switch {
	case len(f.Tables) > 0 && len(f.Queries) > 1:
		return "The numbers and the queries"
	case len(f.Tables) > 0 && len(f.Queries) == 1:
		return "The numbers and the query"
	case len(f.Tables) > 0:
		return "The numbers"
	case len(f.Queries) > 1:
		return "The queries"
	case len(f.Queries) == 1:
		return "The query"
	}
	return ""
}

// charts draw. Tests that are about words put something cheaper here, because a page's drawings take seconds.
var charts = map[string]func(*week.Report) (draw.Figure, error){
	"need": draw.Need, "demand": draw.Demand, "shape": draw.HeatMap, "capacity": draw.Capacity, "felt": draw.Felt, "bandwidth": draw.Steps, "cost": draw.Cost, "forecast": draw.Forecast,
}

// drawn makes the figure of a chart. Where the report has nothing to draw it has no title, and only its numbers are shown.
func drawn(id string, f *facts) (*figure, error) {
	d, err := charts[id](f.Report)
	if err != nil {
		return nil, err
	}
	// Safe: package draw lets nothing but plain drawing into its SVG.
	return &figure{ID: id, Title: d.Title, Soft: d.Soft, Wide: template.HTML(d.Wide), Narrow: template.HTML(d.Narrow)}, nil
}

// lacks says in one sentence what a section has no data of, and which command fetches it.
type lacks struct{ Text, Command string }
