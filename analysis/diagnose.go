package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/hint"
)

// A diagnosis compares figures of a subject with rules. Both are data: marts.evidence has the figures, seeds.symptoms and
// seeds.symptom_conditions the rules, marts.symptoms what fired. This file finds the subject and puts the verdict next to it.

// Diagnosis is the known symptoms that a run, a file of metrics or another tool's measurement shows.
type Diagnosis struct {
	Subject  string
	Kind     string   // run, point or metrics
	Figures  int      // number of figures that were known and compared with the rules
	Regime   string   // what limits decoding, in words; empty if not known
	Invalid  string   // why the run is neither pass nor fail; empty when it is valid
	Failed   string   // if too many requests of a run failed: which, and why it stopped
	Notes    []string // what the comparison with the prediction depends on, or why there is none
	Symptoms Table    // rows of marts.symptoms
}

// Diagnose asks which symptoms a subject shows: a run by its id, a file of metrics by its name, or a measurement of another tool by its
// file and number, such as results.json#0. The name of a file of measurements stands for all of them.
func Diagnose(ctx context.Context, db *sql.DB, subject string) ([]Diagnosis, error) {
	subjects, kind, err := subjectsOf(ctx, db, subject)
	if err != nil {
		return nil, err
	}
	var all []Diagnosis
	for _, one := range subjects {
		d, err := diagnose(ctx, db, one, kind)
		if err != nil {
			return nil, fmt.Errorf("diagnose %s: %w", one, err)
		}
		throttlings, err := Throttlings(ctx, db, one, map[string]string{"run": "run", "metrics": "source"}[kind]) // a point of another tool has none
		if err != nil {
			return nil, fmt.Errorf("diagnose %s: %w", one, err)
		}
		d.Notes = append(d.Notes, throttlings...)
		if kind == "run" {
			kernels, err := Kernels(ctx, db, one)
			if err != nil {
				return nil, fmt.Errorf("diagnose %s: %w", one, err)
			}
			d.Notes = append(d.Notes, kernels...)
		}
		all = append(all, d)
	}
	return all, nil
}

// diagnose asks everything in one query, so that DuckDB computes the figures once. The symptoms come as one list of structs, which the query
// spreads over rows and columns again; a subject without symptoms has one row of nulls.
func diagnose(ctx context.Context, db *sql.DB, subject, kind string) (Diagnosis, error) {
	d := Diagnosis{Subject: subject, Kind: kind}
	told, err := ask(ctx, db, `
select
    figures,
    regime,
    subject,
    subject_kind,
    unnest(case when symptoms = [] then [null] else symptoms end, recursive := true)
from marts.diagnoses
where subject = ? and subject_kind = '`+kind+"'", subject) // not a parameter: a run must not wait for every file of metrics
	if err != nil {
		return d, err
	}
	const asked, seq = 2, 4 // where the subject's columns start, and the order column, which the rows already follow
	d.Symptoms.Columns = slices.Concat(told.Columns[asked:seq], told.Columns[seq+1:])
	for _, row := range told.Rows {
		d.Figures = int(row[0].(int64))
		d.Regime, _ = row[1].(string)
		if row[seq] != nil {
			d.Symptoms.Rows = append(d.Symptoms.Rows, slices.Concat(row[asked:seq], row[seq+1:]))
		}
	}
	if kind != "run" {
		return d, nil
	}
	verdict, err := Judge(ctx, db, subject)
	d.Invalid, d.Notes = verdict.InvalidReason, verdict.Notes
	if verdict.HasFailed {
		d.Failed = verdict.Unusable()
	}
	if verdict.Unknown != "" {
		d.Notes = append(d.Notes, "no prediction for this deployment: "+verdict.Unknown)
	}
	return d, err
}

// IsDoubtful reports that the numbers should not be trusted: the run is invalid, or a symptom of the kind "invalid" fired, such as another
// client on the server or a label that does not fit the measurements.
func (d Diagnosis) IsDoubtful() bool {
	return d.Invalid != "" || d.count("invalid") > 0
}

// count is the number of symptoms of a kind. The fifth column of marts.symptoms, without its order column, is the kind.
func (d Diagnosis) count(kind string) int {
	n := 0
	for _, row := range d.Symptoms.Rows {
		if row[4] == kind {
			n++
		}
	}
	return n
}

// subjectsOf finds what a name means, without computing any figure. If a name means several things, a run wins over a measurement, and a
// measurement over a file of metrics.
func subjectsOf(ctx context.Context, db *sql.DB, subject string) (subjects []string, kind string, err error) {
	found, err := ask(ctx, db, `
select
    subject,
    kind
from (
    select
        run_id as subject,
        run_id as named,
        'run' as kind,
        1 as place,
        0 as point
    from staging.runs
    union all
    select
        source_name || '#' || point,
        unnest([source_name || '#' || point, source_name]),
        'point',
        2,
        point
    from staging.points
    union all
    select distinct
        source_name,
        source_name,
        'metrics',
        3,
        0
    from staging.metric_looks
    inner join staging.sources using (source_id)
) as known
where named = $1
qualify place = min(place) over (partition by true)
order by point`, subject)
	if err != nil {
		return nil, "", err
	}
	for _, row := range found.Rows {
		subjects, kind = append(subjects, row[0].(string)), row[1].(string)
	}
	if len(subjects) == 0 {
		return nil, "", unknownSubject(ctx, db, subject)
	}
	return subjects, kind, nil
}

// unknownSubject is the error for a name that means nothing; its hint has the latest runs, which are the usual subjects.
func unknownSubject(ctx context.Context, db *sql.DB, subject string) error {
	known, err := ask(ctx, db, knownRuns)
	if err != nil {
		return err
	}
	names := known.FirstColumn()
	todo := `there is no run yet; "tidemark replay" makes one`
	if len(names) > 0 {
		todo = hint.Known("run", names, subject)
	}
	return hint.Misuse("no run named %q, nor a file of metrics or measurements", subject).Hint("%s", todo)
}

// FirstLine says how many symptoms there are of each kind, and how many figures were known. Without that number "no symptom" could mean that
// nothing was measured.
func (d Diagnosis) FirstLine() string {
	if d.Figures == 0 {
		return d.Subject + ": none of the figures that a diagnosis looks at is known"
	}
	var parts []string
	for _, kind := range []struct{ name, one, many string }{
		{"invalid", "thing makes its numbers doubtful", "things make its numbers doubtful"},
		{"problem", "problem", "problems"},
		{"by design", "limit by design", "limits by design"},
	} {
		switch n := d.count(kind.name); {
		case n == 1:
			parts = append(parts, "1 "+kind.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, kind.many))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no symptom"}
	}
	return fmt.Sprintf("%s: %s, of %d figures looked at", d.Subject, strings.Join(parts, ", "), d.Figures)
}
