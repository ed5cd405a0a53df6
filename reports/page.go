package reports

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"tidemark/analysis"
	"tidemark/internal/escape"
	"tidemark/reports/style"
)

//go:embed sections
var sections embed.FS

// Templates run in the order of their file names: begin once, search once for each search for capacity, run once for each run, results once if the page is about results of other tools,
// end once. A section that writes nothing is left out,
// so that a template decides by itself whether it has something to say about a run.

// page is one report while it is written.
type page struct {
	ctx      context.Context
	db       *sql.DB
	options  Options
	Runs     []Run
	Sources  []any              // names of results of other tools
	Searches []string           // ids of searches for capacity
	shown    map[*Result]string // the figure that shows a result's numbers
	contents []entry
}

// section is the dot of a template in sections/.
type section struct {
	*page
	Run    Run    // the run that the section is about; zero in begin and end
	Search string // the search for capacity that it is about; else empty
	Prefix string // start of every id, so that ids are unique in the page
	Level  int    // of its heading
}

// ofWhat says what a figure of the section is about.
func (s section) ofWhat() string {
	switch names := s.names(); {
	case s.Search != "":
		return "search"
	case len(s.Runs) == 0 && len(names) == 1:
		return "result"
	case len(s.Runs) == 0:
		return "results"
	case len(names) == 1:
		return "run"
	}
	return "runs"
}

// mostNamed is how many results a figure names.
const mostNamed = 5

// names are the runs that a figure of the section uses; without runs, the results.
func (s section) names() []string {
	if s.Search != "" {
		return []string{s.Search}
	}
	if len(s.Runs) == 0 {
		var names []string
		for _, source := range s.Sources[:min(len(s.Sources), mostNamed)] {
			names = append(names, fmt.Sprint(source))
		}
		if more := len(s.Sources) - mostNamed; more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		return names
	}
	if s.Run.ID != "" {
		return []string{s.Run.Name}
	}
	names := make([]string, len(s.Runs))
	for i, run := range s.Runs {
		names[i] = run.Name
	}
	return names
}

// group is one of several runs: its heading, and its sections folded below it.
type group struct {
	Run      Run
	Headline string
	Tails    []template.HTML
	Sections []template.HTML
}

// entry is a line of the contents: where it leads, the section's name, and what was found there.
type entry struct{ ID, Name, Finding string }

// mast is the line above the headline: what the page is about.
type mast struct {
	Name, Tag, When, Where string
}

// document is the dot of page.html.
type document struct {
	Title, Generated, Version string
	Mast                      mast
	Style                     template.CSS
	Hatch                     template.HTML
	First                     first
	Named                     bool   // the headline is the user's own title
	Note                      string // the user's, of the one run
	Simulated                 []Run
	AreRehearsed              bool   // all runs were
	Proves                    string // what agreement with the prediction proves if the server was simulated
	Runs                      []Run
	Tails                     []template.HTML // the first chart
	Contents                  []entry
	Begin, Results, End       []template.HTML
	Searches                  []template.HTML
	Groups                    []group
}

func (p *page) write(w io.Writer) error {
	shared, err := template.New("page.html").Funcs(p.functions()).ParseFS(sections, "sections/*.html")
	if err != nil {
		return err
	}
	d := document{Version: p.options.Version, Style: template.CSS(style.Sheet), Hatch: style.Hatch, Runs: p.Runs, Proves: sentence(analysis.OfSimulator)} // safe: our own files
	if !p.options.GeneratedAt.IsZero() {
		d.Generated = p.options.GeneratedAt.UTC().Format(time.RFC3339)
	}
	d.AreRehearsed = len(p.Runs) > 0
	for _, run := range p.Runs {
		if run.IsSimulated {
			d.Simulated = append(d.Simulated, run)
		}
		d.AreRehearsed = d.AreRehearsed && run.Origin == "rehearsed"
	}
	if d.First, d.Mast, err = p.top(); err != nil {
		return err
	}
	d.Title = d.First.Headline
	if d.Mast.Name != "" {
		d.Title = d.Mast.Name + ": " + d.First.Headline
	}
	if p.options.Title != "" {
		d.Title, d.First.Headline, d.Named = p.options.Title, p.options.Title, true
	}
	if len(p.Runs) == 1 {
		d.Note = p.Runs[0].Note
	}
	if err := p.writeSections(shared, &d); err != nil {
		return err
	}
	d.Contents = p.contents
	var out strings.Builder
	if err := shared.ExecuteTemplate(&out, "page.html", d); err != nil {
		return err
	}
	_, err = io.WriteString(w, escape.Direction(out.String()))
	return err
}

// top is the first screen and the line above it.
func (p *page) top() (first, mast, error) {
	switch {
	case len(p.Runs) == 1:
		run := &p.Runs[0]
		f, err := p.runFirst(run)
		return f, mast{run.Name, run.Origin, run.When(), run.MeasuredOn}, err
	case len(p.Runs) > 1:
		return p.severalFirst()
	case len(p.Searches) > 0 && len(p.Sources) == 0:
		return p.searchFirst()
	}
	return p.resultsFirst()
}

// writeSections fills in what is below the first screen, in reading order.
func (p *page) writeSections(shared *template.Template, d *document) (err error) {
	if len(p.Runs) > 0 {
		if d.Begin, err = p.execute(shared, "begin", section{page: p, Level: 2}); err != nil {
			return err
		}
	}
	for i, search := range p.Searches {
		made, err := p.execute(shared, "search", section{page: p, Search: search, Prefix: fmt.Sprintf("search%d-", i+1), Level: 2})
		if err != nil {
			return err
		}
		d.Searches = append(d.Searches, made...)
	}
	for _, run := range p.Runs {
		g, err := p.group(shared, run)
		if err != nil {
			return err
		}
		if len(p.Runs) == 1 {
			d.Tails, g.Tails = g.Tails, nil
		}
		d.Groups = append(d.Groups, g)
	}
	if len(p.Sources) > 0 {
		// Without runs, so that its figures are not said to be of one.
		results := *p
		results.Runs = nil
		if d.Results, err = p.execute(shared, "results", section{page: &results, Level: 2}); err != nil {
			return err
		}
		p.contents = results.contents
	}
	d.End, err = p.execute(shared, "end", section{page: p, Level: 2})
	return err
}

// group makes the sections of a run.
func (p *page) group(shared *template.Template, run Run) (g group, err error) {
	s := section{page: p, Run: run, Prefix: fmt.Sprintf("run%d-", run.Index), Level: 2}
	g = group{Run: run, Headline: run.headline()}
	if len(p.Runs) > 1 {
		s.Level = 3
		p.contents = append(p.contents, entry{fmt.Sprintf("run%d", run.Index), run.Name, g.Headline})
	}
	if g.Tails, err = p.execute(shared, "tails", s); err != nil {
		return g, err
	}
	g.Sections, err = p.execute(shared, "run", s)
	return g, err
}

// heading is a section's title, one level lower if the run has a heading of its own. The contents of the page take it up with what the section
// found.
func (p *page) heading(s section, name, text, finding string) template.HTML {
	level := "h2"
	if s.Level > 2 {
		level = "h3"
	} else {
		s.page.contents = append(s.page.contents, entry{s.Prefix + name, text, tight(finding)})
	}
	return template.HTML(fmt.Sprintf(`<%s id="%s">%s</%[1]s>`, level, esc(s.Prefix+name), esc(text)))
}

// execute runs every template of one folder, in the order of their names. Each runs in a clone of the shared set, because a set that has
// run accepts no more templates.
func (p *page) execute(shared *template.Template, folder string, s section) ([]template.HTML, error) {
	files, err := fs.Glob(sections, path.Join("sections", folder, "*.html"))
	if err != nil {
		return nil, err
	}
	var out []template.HTML
	for _, file := range files {
		source, err := sections.ReadFile(file)
		if err != nil {
			return nil, err
		}
		set, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		t, err := set.New(file).Parse(string(source))
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if err := t.Execute(&text, s); err != nil {
			return nil, err
		}
		if html := strings.TrimSpace(text.String()); html != "" {
			out = append(out, template.HTML(html)) // safe: html/template made it and escaped every value
		}
	}
	return out, nil
}

// sentence makes a sentence of a text that is part of a line elsewhere.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
