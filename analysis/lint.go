package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"

	"tidemark/internal/hint"
	"tidemark/replay/plan"
)

// Lint finds experiments whose figures mean less than they seem to. The cases are data (seeds.lint_rules), and marts.lint_* say when each fires.

// Lint is what was found in some subjects: runs, results of other tools, traces and series, and runs beside each other.
type Lint struct {
	LookedFor int   // cases of seeds.lint_rules that these subjects could show
	Symptoms  int   // cases that they could show too, and that were not looked for, because a diagnosis takes a second for each run
	Found     Table // subject, subject_kind, rule, found, wrong, remedy
}

// FirstLine says how many of the cases that were looked for were found.
func (l Lint) FirstLine() string {
	rules := map[any]bool{}
	for _, row := range l.Found.Rows {
		rules[row[2]] = true
	}
	text := fmt.Sprintf("%d of %d cases", len(rules), l.LookedFor)
	if l.Symptoms > 0 {
		text += fmt.Sprintf(", without the %d symptoms of a diagnosis", l.Symptoms)
	}
	return text
}

// InBrief is one line: the first, and the names of the cases.
func (l Lint) InBrief() string {
	var rules []string
	for _, row := range l.Found.Rows {
		if rule := row[2].(string); !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	if len(rules) == 0 {
		return l.FirstLine()
	}
	return l.FirstLine() + ": " + strings.Join(rules, ", ")
}

// LintRules are all cases.
func LintRules(ctx context.Context, db *sql.DB) (Table, error) {
	return ask(ctx, db, `
select
    rule,
    applies_to,
    wrong,
    remedy,
    source
from seeds.lint_rules
order by seq`)
}

// LintOf looks at the subjects of these names, and at runs beyond the first beside the first. Without names it looks at everything that
// the warehouse has, but at no runs beside each other.
func LintOf(ctx context.Context, db *sql.DB, names []string) (Lint, error) {
	if len(names) == 0 {
		return lintAll(ctx, db)
	}
	var l Lint
	var kinds, runs []string
	for _, name := range names {
		if plan.IsFile(name) {
			planned, err := LintPlan(ctx, db, name)
			if err != nil {
				return l, err
			}
			l.Found.Columns = planned.Found.Columns
			l, kinds = l.And(planned), append(kinds, "plan")
			continue
		}
		subject, kind, err := lintSubject(ctx, db, name)
		if err != nil {
			return l, err
		}
		kinds = append(kinds, kind)
		if kind == "run" {
			runs = append(runs, subject)
		}
		// The kind is written into the query: only so does DuckDB leave out what is of other kinds.
		found, err := askFor(ctx, "lint", db, lintColumns+fmt.Sprintf(" from marts.lint where subject = $1 and subject_kind = '%s' order by seq", kind), subject)
		if err != nil {
			return l, err
		}
		l.Found.Columns, l.Found.Rows = found.Columns, append(l.Found.Rows, found.Rows...)
	}
	var err error
	if l.LookedFor, err = casesOf(ctx, db, kinds, true); err != nil || len(runs) < 2 {
		return l, err
	}
	beside, err := LintBeside(ctx, db, runs...)
	return l.And(beside), err
}

const lintColumns = `select subject, subject_kind, rule, found, wrong, remedy`

// lintSubject finds what a name stands for: a run wins over a source, and a source over a series.
func lintSubject(ctx context.Context, db *sql.DB, name string) (subject, kind string, err error) {
	id, err := Subject(ctx, db, name)
	if err != nil {
		return "", "", err
	}
	err = db.QueryRowContext(ctx, `
select
    subject,
    kind
from (
    select run_id as subject, 'run' as kind, run_id as named, 1 as place from staging.runs
    union all
    select source_name, case kind when 'results' then 'result' else 'source' end, unnest([source_name, collection]), 2
    from staging.sources
    where kind in ('arrivals', 'results')
    union all
    select series_id, 'series', unnest([series_id, series_name]), 3 from staging.runs
) as known
where named in ($1, $2)
order by
    place,
    subject
limit 1`, name, id).Scan(&subject, &kind)
	if _, missing := os.Stat(name); err == sql.ErrNoRows && missing == nil {
		return "", "", hint.Misuse("lint: %s is a file that nobody took in, and not a plan, which ends in .jsonl.zst", name).
			Hint("tidemark ingest %s, then tidemark lint with the name that it gets; tidemark plan %s --output plan.jsonl.zst makes a plan of it", name, name)
	}
	if err == sql.ErrNoRows {
		return "", "", hint.Misuse("lint: no run, result, trace or series named %q", name).Hint(`"tidemark runs" and "tidemark sources" list what there is`)
	}
	if kind == "source" {
		subject = name // the sessions of a collection are audited together
	}
	return subject, kind, err
}

// lintAll looks at everything but comparisons, which nobody asked for.
func lintAll(ctx context.Context, db *sql.DB) (l Lint, err error) {
	if l.Found, err = askFor(ctx, "lint", db, lintColumns+" from marts.lint order by subject_kind, subject, seq"); err != nil {
		return l, err
	}
	kinds, err := askFor(ctx, "lint", db, `
select distinct case kind when 'results' then 'result' when 'arrivals' then 'source' else 'run' end
from staging.sources
where kind in ('results', 'arrivals', 'run')
union
select 'series'
from staging.runs
where series_id is not null`)
	if err != nil {
		return l, err
	}
	l.LookedFor, err = casesOf(ctx, db, kinds.FirstColumn(), true)
	return l, err
}

// LintRuns looks at runs by themselves, and leaves out what a diagnosis finds: that takes a second for each run.
func LintRuns(ctx context.Context, db *sql.DB, runs ...string) (Lint, error) {
	return lintPart(ctx, db, "run", "run_id", "marts.lint_runs where list_contains(string_split($1, ','), run_id)", list(runs))
}

// LintBeside looks at each run but the first beside the first.
func LintBeside(ctx context.Context, db *sql.DB, runs ...string) (Lint, error) {
	return lintPart(ctx, db, "comparison", "run_id || ' ' || other_run_id",
		"marts.lint_pairs where run_id = $1 and list_contains(string_split($2, ','), other_run_id)", runs[0], list(runs[1:]))
}

// LintResults looks at files of results of other tools.
func LintResults(ctx context.Context, db *sql.DB, names ...string) (Lint, error) {
	return lintPart(ctx, db, "result", "source_name", `(
    select source_name, rule, found from marts.lint_results
    union all
    select source_name, rule, found from marts.lint_traces
) where list_contains(string_split($1, chr(10)), source_name)`, strings.Join(names, "\n"))
}

// lintPart asks one of the marts.lint_*.
func lintPart(ctx context.Context, db *sql.DB, kind, subject, from string, args ...any) (l Lint, err error) {
	l.Found, err = askFor(ctx, "lint", db, fmt.Sprintf(`
select
    %s as subject,
    '%s' as subject_kind,
    rule,
    found,
    wrong,
    remedy
from (from %s)
inner join seeds.lint_rules using (rule)
order by
    subject,
    seq`, subject, kind, from), args...)
	if err != nil {
		return l, err
	}
	all, err := casesOf(ctx, db, []string{kind}, true)
	if err != nil {
		return l, err
	}
	l.LookedFor, err = casesOf(ctx, db, []string{kind}, false)
	l.Symptoms = all - l.LookedFor
	return l, err
}

// And puts what was found in something else beside it.
func (l Lint) And(other Lint) Lint {
	l.Found.Rows = slices.Concat(l.Found.Rows, other.Found.Rows)
	l.LookedFor += other.LookedFor
	l.Symptoms += other.Symptoms
	return l
}

// casesOf counts the cases that subjects of these kinds can show.
func casesOf(ctx context.Context, db *sql.DB, kinds []string, withSymptoms bool) (n int, err error) {
	slices.Sort(kinds)
	err = db.QueryRowContext(ctx, `
select count(*)
from seeds.lint_rules
where list_has_any(string_split(applies_to, ';'), string_split($1, ','))
    and ($2 or rule not in (select symptom from seeds.symptoms))`, strings.Join(slices.Compact(kinds), ","), withSymptoms).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("lint: %w", err)
	}
	return n, nil
}
