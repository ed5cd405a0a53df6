// Package reports writes what the warehouse knows of one or several runs as one self-contained HTML file: no script,
// no network requests, no other files.
//
// The first screen is made in Go: first.go (headline and lede), tiles.go, tails.go (the first chart), several.go, comparison.go and experiment.go.
// Below it a section is one template in sections/begin, sections/run (once per run) or sections/end, in the order of the file names. It asks a
// view, says what it found, and shows a chart with its numbers, through the functions in functions.go; so a new section is a new template and
// nothing else. Its heading goes into the contents with what was found. ask.go asks, figure.go draws, format.go writes numbers for people,
// page.go puts the sections together.
//
// It refuses to compute a quantity of its own (that is a view's job), and to put anything into the page that could differ between two
// reports of the same data: two reports can be compared byte by byte.
package reports

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/wildcard"
)

// Options choose what a report is about.
type Options struct {
	RunIDs      []string  // in reading order; empty without Sources: every run, oldest first
	Sources     []string  // results of other tools, studies and searches for capacity (by id or by source), by name or by a pattern such as "serve-*"; in a warehouse without runs empty means all
	Title       string    // empty: from the runs' names
	GeneratedAt time.Time // goes into a meta tag, never into the text; zero: left out
	Version     string    // of the program, for the same place
	Warehouse   string    // flags with which a suggested command finds the warehouse, with a blank before them
}

// Run is one run as every section knows it.
type Run struct {
	Index       int    // 1 for the first of the page
	ID          string // the warehouse's run_id
	Name        string
	Note        string
	MeasuredOn  string
	IsSimulated bool
	Origin      string // "measured", "simulated" or "rehearsed"
	IsDraft     bool   // no environment given: measured, shown, not compared
	IsValid     bool
	HasFailed   bool // too many of its requests did
	HasSLO      bool
	FirstLine   string // the verdict's
	Verdict     analysis.SLOVerdict
	EndS        float64  // when its last request ended, seconds since it began
	Burst       *burst   // where most of its misses are; nil: spread
	Notes       []string // what its comparison with the prediction depends on
	Facts       *Result  // its row of marts.runs
}

// Write writes the report. Nothing is written before the whole page is made, so that an error leaves no half report.
func Write(ctx context.Context, db *sql.DB, o Options, w io.Writer) error {
	p := &page{ctx: ctx, db: db, options: o, shown: map[*Result]string{}}
	if err := p.find(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var out bytes.Buffer
	if err := p.write(&out); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// WriteJudged writes the report of runs as if they had been sent for this SLO. path is the file of the warehouse.
func WriteJudged(ctx context.Context, db *sql.DB, path string, o Options, slo analysis.SLO, w io.Writer) (err error) {
	if len(o.RunIDs) == 0 {
		if o.RunIDs, err = Runs(ctx, db); err != nil {
			return err
		}
	}
	return analysis.WithSLO(ctx, path, o.RunIDs, slo, func(db *sql.DB) error { return Write(ctx, db, o, w) })
}

var errNoRuns = hint.Errorf("the warehouse holds no run").
	Hint(`make one with "tidemark replay", or ingest one with "tidemark ingest runs/<id>"`)

// find finds what the page is about: runs, results of other tools, searches for capacity. If nothing is named it is all runs with the searches that
// sent them, or all results and searches where there is no run.
func (p *page) find() (err error) {
	if err = p.findSources(p.options.Sources); err != nil {
		return err
	}
	if len(p.options.RunIDs) == 0 && len(p.options.Sources) > 0 {
		return nil
	}
	p.Runs, err = findRuns(p.ctx, p.db, p.options.RunIDs)
	if err == nil {
		return p.addSearchesOfRuns()
	}
	if !errors.Is(err, errNoRuns) || len(p.options.RunIDs) > 0 {
		return err
	}
	if errSources := p.findSources([]string{"*"}); errSources != nil || len(p.Sources)+len(p.Searches) == 0 {
		return err // of the runs: a warehouse with neither is usually one whose run is still to come
	}
	return nil
}

// findSources finds the results of other tools, the studies and the searches for capacity that patterns name, in the order of their names.
func (p *page) findSources(patterns []string) (err error) {
	if len(patterns) == 0 {
		return nil
	}
	searches, names, isFound, err := namedSearches(p.ctx, p.db, patterns)
	if err != nil {
		return err
	}
	known, err := ask(p.ctx, p.db, "staging.points", `select source_name
from staging.points
union
select study
from staging.configurations
order by source_name`)
	if err != nil {
		return err
	}
	chosen := map[string]bool{}
	for _, name := range known.texts("source_name") {
		names = append(names, name)
		for _, pattern := range patterns {
			if wildcard.Match(pattern, name) {
				isFound[pattern] = true
				if !chosen[name] {
					chosen[name] = true
					p.Sources = append(p.Sources, name)
				}
			}
		}
	}
	p.Searches = searches
	slices.Sort(names)
	names = slices.Compact(names)
	for _, pattern := range patterns {
		if !isFound[pattern] && pattern != "*" {
			return hint.Misuse("no result, study or search for capacity named %q", pattern).Hint("%s", hint.Known("search, study or result", names, pattern))
		}
	}
	return nil
}

func (p *page) addSearchesOfRuns() error {
	searches, err := searchesOfRuns(p.ctx, p.db, p.Runs)
	for _, id := range searches {
		if !slices.Contains(p.Searches, id) {
			p.Searches = append(p.Searches, id)
		}
	}
	return err
}

// unknownRun is the error for a run that is not there; it names some that are.
func unknownRun(id string, known []string) error {
	const shown = 5
	names := strings.Join(known[:min(shown, len(known))], ", ")
	if len(known) > shown {
		names += fmt.Sprintf(" and %d more", len(known)-shown)
	}
	if len(known) == 0 {
		return hint.Misuse("no run %q: %w", id, errNoRuns)
	}
	return hint.Misuse("no run %q", id).Hint("known runs are %s", names)
}

// findRuns finds the runs of a report in the order that was asked for.
func findRuns(ctx context.Context, db *sql.DB, ids []string) ([]Run, error) {
	known, err := Runs(ctx, db)
	if err != nil {
		return nil, err
	}
	if len(known) == 0 && len(ids) == 0 {
		return nil, errNoRuns
	}
	if len(ids) == 0 {
		ids = known
	}
	runs := make([]Run, len(ids))
	for i, id := range ids {
		if !slices.Contains(known, id) {
			return nil, unknownRun(id, known)
		}
		if runs[i], err = findRun(ctx, db, id); err != nil {
			return nil, fmt.Errorf("run %s: %w", id, err)
		}
		runs[i].Index = i + 1
	}
	makeNamesUnique(runs)
	return runs, nil
}

// makeNamesUnique adds the run's id to a name that several runs have.
func makeNamesUnique(runs []Run) {
	named := map[string]int{}
	for _, run := range runs {
		named[run.Name]++
	}
	for i, run := range runs {
		if named[run.Name] > 1 {
			runs[i].Name = fmt.Sprintf("%s (%s)", run.Name, run.ID)
		}
	}
}

// Runs are the ids of all runs, oldest first.
func Runs(ctx context.Context, db *sql.DB) ([]string, error) {
	r, err := ask(ctx, db, "staging.runs", `select run_id
from staging.runs
order by started_at, run_id`)
	if err != nil {
		return nil, err
	}
	ids := make([]string, r.Len())
	for i := range ids {
		ids[i], _ = r.At(i, "run_id").(string)
	}
	return ids, nil
}

// findRun reads one run and judges it.
func findRun(ctx context.Context, db *sql.DB, id string) (Run, error) {
	// All columns, because the row is expensive to compute and every section uses other columns.
	facts, err := ask(ctx, db, "marts.runs", `select *
from marts.runs
where run_id = $1`, id)
	if err != nil {
		return Run{}, err
	}
	text := func(column string) string { s, _ := facts.At(0, column).(string); return s }
	yes := func(column string) bool { b, _ := facts.At(0, column).(bool); return b }
	run := Run{
		ID: id, Name: text("name"), Note: text("note"), MeasuredOn: text("measured_on"),
		IsSimulated: yes("is_simulated"), Origin: text("origin"), IsDraft: yes("is_draft"), IsValid: yes("is_valid"), HasFailed: yes("has_failed"), Facts: facts,
	}
	if run.Name == "" {
		run.Name = id
	}
	end, err := ask(ctx, db, "staging.requests", `select max(coalesce(done_s, last_token_s, sent_s, due_s)) as end_s from staging.requests where run_id = $1`, id)
	if err != nil {
		return Run{}, err
	}
	run.EndS, _ = number(end.At(0, "end_s"))
	return run, run.judge(ctx, db)
}

var errNoColumn = errors.New("no such column")
