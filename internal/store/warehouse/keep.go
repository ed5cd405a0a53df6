//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tidemark/queries"
)

// The kept tables. A view whose header says "Kept per run." is a table: the rows
// of a run are computed when the run goes in, and are its own for good. DuckDB
// plans a view again for every question, down to the raw tables, and that costs
// a hundred times what the data cost.
//
// The rows are computed relation by relation, each from its parents. In its text
// the names of raw tables and of kept parents are replaced by temporary views of
// the same tables that hold the wanted runs only, so that a text which says
// nothing of runs still computes one run and not all of them.
//
// warehouse.kept says for which runs this has been done, and under which
// catalogue: a new model, GPU, kernel table, calibration or price changes the
// predictions of runs that are there already.

// Querier is a database, a connection or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// keptTable is the record of the runs whose rows are in the kept tables.
// Whoever copies kept rows sees by computed_at whether they have been computed again.
const keptTable = "create or replace table warehouse.kept (run_id varchar not null, catalogue varchar not null, computed_at timestamptz not null)"

// catalogueQuery is a fingerprint of all data, other than a run's own, that kept
// rows are computed from.
const catalogueQuery = `
select concat_ws(' ',
    (select concat(count(*), '-', bit_xor(hash(model_configs))) from raw.model_configs),
    (select concat(count(*), '-', bit_xor(hash(gpus))) from raw.gpus),
    (select concat(count(*), '-', bit_xor(hash(kernel_tables))) from raw.kernel_tables),
    (select concat(count(*), '-', bit_xor(hash(calibrations))) from raw.calibrations),
    (select concat(count(*), '-', bit_xor(hash(prices))) from raw.prices)
)`

// CatalogueState is the fingerprint: what was worked out from models, GPUs, kernel times, calibrations and prices holds while it stays.
func CatalogueState(ctx context.Context, db Querier) (fingerprint string, err error) {
	err = db.QueryRowContext(ctx, catalogueQuery).Scan(&fingerprint)
	return fingerprint, err
}

// Refresh brings the kept tables up to date: it removes the rows of runs that are
// gone, computes those of runs that are new, and computes again those whose
// catalogue has changed. Whoever writes runs, models, GPUs, kernel times, prices
// or calibrations must call it. Opening a file for writing calls it as well,
// because the last writer may have been killed before it could.
//
// With queries given, only what these read is filled, directly or through others:
// for a test, or for a transaction that will be rolled back.
func Refresh(ctx context.Context, db *sql.DB, asked ...string) error {
	return Sparingly(ctx, db, func(ctx context.Context) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return fmt.Errorf("refresh: %w", err)
		}
		defer tx.Rollback() // after a commit this does nothing
		if err := RefreshWithin(ctx, tx, asked...); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// Refresh does the same within the transaction.
func (tx *Tx) Refresh(ctx context.Context) error { return RefreshWithin(ctx, tx.conn) }

// RefreshWithin does what Refresh does within the caller's transaction. The
// Querier must be one connection. Callers that can begin their transaction again
// do so under Sparingly.
func RefreshWithin(ctx context.Context, db Querier, asked ...string) error {
	if err := KnowAgain(ctx, db); err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	isDue, err := isRefreshDue(ctx, db)
	if err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	if !isDue {
		return nil
	}
	all, needs := ofRunsInOrder()
	if len(asked) > 0 {
		all = all.neededBy(asked, needs)
	}
	if err := all.refresh(ctx, db); err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	return nil
}

// isRefreshDue says that a run is new or gone, or that the catalogue has changed since some were computed. Mostly none is, and then the views
// need not even be put in order.
func isRefreshDue(ctx context.Context, db Querier) (is bool, err error) {
	err = db.QueryRowContext(ctx, "select exists (from raw.runs full join warehouse.kept using (run_id) where kept.catalogue is distinct from ("+catalogueQuery+") or runs.source_id is null)").Scan(&is)
	return is, err
}

// passes are the relations that a refresh goes through, in order.
type passes []relation

// relation is a view or a kept table that depends on what a run wrote.
type relation struct {
	name   string // schema.name
	text   string // its select, over the narrowed names of its parents
	kept   bool
	keptOf string // kept, and only runs that have this have rows: left out of a pass without one
	held   bool   // read by several kept tables: worked out once in a pass, and dropped behind the last of them
}

// requestsPerPass is how many requests one pass computes at most, unless a single run has
// more: intermediate results then fit in memory.
const requestsPerPass = 200_000

func (p passes) refresh(ctx context.Context, db Querier) error {
	// DuckDB takes rows that are not committed for none, and joins "as of" none by
	// comparing each row with each: of a million requests that never ends.
	if _, err := db.ExecContext(ctx, "set asof_loop_join_threshold = 0"); err != nil {
		return err
	}
	var catalogue string
	if err := db.QueryRowContext(ctx, catalogueQuery).Scan(&catalogue); err != nil {
		return err
	}
	gone, err := Values[string](ctx, db, "select run_id from warehouse.kept where run_id not in (select run_id from raw.runs)")
	if err != nil {
		return err
	}
	if err := p.forget(ctx, db, gone); err != nil {
		return err
	}
	changed, err := p.changed(ctx, db, catalogue)
	if err != nil {
		return err
	}
	if err := p.forget(ctx, db, changed); err != nil {
		return err
	}
	var waiting int
	if err := db.QueryRowContext(ctx, "select count(*) from raw.runs where run_id not in (select run_id from warehouse.kept)").Scan(&waiting); err != nil {
		return err
	}
	for done := 0; done < waiting; {
		runs, err := Values[string](ctx, db, `
			select run_id
			from (
				select
					runs.run_id,
					sum(count(requests.run_id)) over (order by runs.run_id) - count(requests.run_id) as before_it
				from raw.runs
				left join raw.requests on requests.run_id = runs.run_id
				where runs.run_id not in (select kept.run_id from warehouse.kept)
				group by runs.run_id
			) as waiting
			where before_it < ?
			order by run_id`, requestsPerPass)
		if err != nil {
			return err
		}
		if tell, is := ctx.Value(progressKey{}).(func(done, of int)); is {
			tell(done, waiting)
		}
		if err := p.compute(ctx, db, runs, catalogue); err != nil {
			return err
		}
		done += len(runs)
	}
	return nil
}

type progressKey struct{}

// WithProgress has a Refresh under the context tell, before each of its passes, how many
// runs it has computed and of how many.
func WithProgress(ctx context.Context, tell func(done, of int)) context.Context {
	return context.WithValue(ctx, progressKey{}, tell)
}

// forget removes the rows of runs from every kept table.
func (p passes) forget(ctx context.Context, db Querier, runs []string) error {
	if len(runs) == 0 {
		return nil
	}
	statements := []string{"delete from warehouse.kept where run_id in " + listed(runs)}
	for _, r := range p {
		if r.kept {
			statements = append(statements, fmt.Sprintf("delete from %s where run_id in %s", r.name, listed(runs)))
		}
	}
	_, err := db.ExecContext(ctx, strings.Join(statements, ";\n"))
	return err
}

// changed are the runs whose predictions or prices another catalogue changes. All
// the catalogue's figures reach the kept tables through staging.deployments and
// marts.goodput.
func (p passes) changed(ctx context.Context, db Querier, catalogue string) ([]string, error) {
	before, err := Values[string](ctx, db, "select run_id from warehouse.kept where catalogue <> ?", catalogue)
	if err != nil || len(before) == 0 {
		return nil, err
	}
	if err := p.narrow(ctx, db, before); err != nil {
		return nil, err
	}
	differs := func(r relation) bool { return r.name == "staging.deployments" || r.name == "marts.goodput" }
	isRead := p.lastReaders(differs)
	var differing []string
	for _, r := range p {
		switch {
		case differs(r):
			differing = append(differing, fmt.Sprintf("(select run_id from (from (%s) except all from %s))", r.text, narrowed(r.name)))
		case isRead[r.name] != "":
			if _, err := db.ExecContext(ctx, narrowedView(r.name, r.text)); err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	if len(differing) > 0 { // what is kept of other models does not say what it was computed from
		differing = append(differing, "(select run_id from "+narrowed("raw.runs")+" where json_exists(document, '$.environments'))")
	}
	if len(differing) == 0 { // none of what is asked depends on the catalogue
		return nil, nil
	}
	changed, err := Values[string](ctx, db, "select distinct run_id from ("+strings.Join(differing, " union all ")+") order by run_id")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "update warehouse.kept set catalogue = ? where catalogue <> ?", catalogue, catalogue)
	return changed, err
}

// compute fills the kept tables with the rows of runs that are in none of them.
func (p passes) compute(ctx context.Context, db Querier, runs []string, catalogue string) error {
	if err := p.narrow(ctx, db, runs); err != nil {
		return err
	}
	var requests, samples int
	var hasSteps bool
	if err := db.QueryRowContext(ctx, fmt.Sprintf("select (select count(*) from %s), (select count(*) from %s), exists (from %s)",
		narrowed("raw.requests"), narrowed("raw.samples"), narrowed("raw.step_joins"))).Scan(&requests, &samples, &hasSteps); err != nil {
		return err
	}
	defer limitMemory(ctx, requests)()
	if s, is := ctx.Value(sparingKey{}).(sparing); is && requests < fewRequests && samples < fewSamples && !hasSteps {
		restore, err := planSoon(ctx, s.db)
		if err != nil {
			return err
		}
		defer restore()
	}
	if err := p.insert(ctx, db, func(r relation) bool { return r.kept && (hasSteps || r.keptOf != "steps") }); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "insert into warehouse.kept select unnest(?::varchar[]), ?, now()", runs, catalogue)
	return err
}

// Of fewer, the rows are computed sooner than the plans for them are made.
const fewRequests, fewSamples = 2_000, 50_000

// forMany are the optimisers that are worth their time with many rows.
const forMany = "common_subexpressions,common_subplan,column_lifetime,compressed_materialization,duplicate_groups,late_materialization," +
	"join_filter_pushdown,reorder_filter,sampling_pushdown,limit_pushdown,regex_range,cte_filter_pusher,empty_result_pullup"

const allOptimizers = "reset disabled_optimizers"

// planSoon leaves out, until restore is called, what DuckDB's planner does for many rows: looking for expressions, subplans and keys that could be
// computed once or held narrower. That is a sixth of taking a small run in. None of it decides in which order rows are added up. The setting is
// the whole database's: it goes through another connection than the transaction's, which may have failed when restore is called.
func planSoon(ctx context.Context, db *sql.DB) (restore func(), err error) {
	_, err = db.ExecContext(ctx, "set disabled_optimizers = '"+forMany+"'")
	return func() { _, _ = db.ExecContext(context.WithoutCancel(ctx), allOptimizers) }, err
}

// insert fills the wanted kept tables, whose rows must have been narrowed. A held relation that one of them reads is a temporary table from
// its place in the order until its last reader is filled. Views are made at their place too: DuckDB plans a view when it is made, and those that
// read a held relation cost a third of taking in a small run while that was a view itself.
func (p passes) insert(ctx context.Context, db Querier, wanted func(relation) bool) error {
	lastReader := p.lastReaders(wanted)
	var held []string
	for _, r := range p {
		if !(r.kept && wanted(r)) && lastReader[r.name] == "" {
			continue
		}
		isEmpty, err := isWithout(ctx, db, r.keptOf)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		statement := narrowedView(r.name, r.text)
		switch {
		case isEmpty:
			statement = ""
		case r.kept:
			statement = fmt.Sprintf("insert into %s by name\n%s", r.name, r.text)
		case r.held:
			statement = fmt.Sprintf("drop view if exists %s; create temporary table %[1]s as\n%s", narrowed(r.name), r.text)
			held = append(held, r.name)
		}
		for _, name := range held {
			if lastReader[name] == r.name {
				statement = strings.TrimPrefix(statement+";\ndrop table "+narrowed(name), ";\n")
			}
		}
		if statement == "" {
			continue
		}
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// keptOf are the rows of a pass without which it has no row in a table that is kept of them. They are asked for where such a table is to be
// filled: planning it costs a small run 20 to 60 ms.
var keptOf = map[string]string{
	"steps":      narrowed("raw.step_joins"),
	"objectives": narrowed("staging.slo_objectives"),
	"others":     narrowed("marts.shared_servers") + " where is_shared",
}

func isWithout(ctx context.Context, db Querier, what string) (is bool, err error) {
	if what == "" {
		return false, nil
	}
	err = db.QueryRowContext(ctx, fmt.Sprintf("select not exists (from %s)", keptOf[what])).Scan(&is)
	return is, err
}

// lastReaders says of each view and held relation that is needed which kept or held relation reads it last, itself or through views.
func (p passes) lastReaders(wanted func(relation) bool) map[string]string {
	_, needs := ofRunsInOrder()
	byName := map[string]relation{}
	for _, r := range p {
		byName[r.name] = r
	}
	last := map[string]string{}
	var note func(reader, name string)
	note = func(reader, name string) {
		for _, below := range needs[name] {
			r, isOne := byName[below]
			if !isOne || r.kept { // a table
				continue
			}
			if last[below] == "" {
				last[below] = reader
			}
			if !r.held {
				note(reader, below)
			}
		}
	}
	for _, r := range slices.Backward(p) { // so that the last reader comes first
		if r.kept && wanted(r) || r.held && last[r.name] != "" {
			note(r.name, r.name)
		}
	}
	return last
}

// narrow makes the temporary views of raw tables and kept tables: those rows that are of the runs.
func (p passes) narrow(ctx context.Context, db Querier, runs []string) error {
	tables := slices.Clone(ofRuns)
	for _, r := range p {
		if r.kept {
			tables = append(tables, r.name)
		}
	}
	var statements []string
	for _, name := range tables {
		statements = append(statements, narrowedView(name, fmt.Sprintf("from %s where run_id in %s", name, listed(runs))))
	}
	_, err := db.ExecContext(ctx, strings.Join(statements, ";\n"))
	return err
}

func narrowedView(name, text string) string {
	return fmt.Sprintf("create or replace temporary view %s as\n%s", narrowed(name), text)
}

// ofRuns are the raw tables that runs write.
var ofRuns = []string{"raw.runs", "raw.requests", "raw.samples", "raw.step_joins"}

// neededBy leaves what some queries read, directly or through others.
func (p passes) neededBy(asked []string, needs map[string][]string) (needed passes) {
	isNeeded := map[string]bool{}
	var need func(name string)
	need = func(name string) {
		if !isNeeded[name] {
			isNeeded[name] = true
			for _, parent := range needs[name] {
				need(parent)
			}
		}
	}
	for _, text := range asked {
		for _, name := range mentioned(text) {
			need(name)
		}
	}
	for _, r := range p {
		if isNeeded[r.name] {
			needed = append(needed, r)
		}
	}
	return needed
}

// ofRunsInOrder are the kept tables and the views that these read, of all that depends on what runs write: each after those that it reads,
// and what each reads. Other views are left out, because making a temporary view costs its planning.
var ofRunsInOrder = sync.OnceValues(func() (passes, map[string][]string) {
	views, err := ordered(viewParts())
	if err != nil {
		panic(err) // a loop among the views is an error of the source tree that every test shows
	}
	isOfRuns := map[string]bool{}
	for _, name := range ofRuns {
		isOfRuns[name] = true
	}
	needs := map[string][]string{}
	var all passes
	var kept []string
	for _, view := range views {
		text := strings.TrimRight(strings.TrimSpace(queries.WithoutComments(view.text)), ";")
		for _, name := range mentioned(text) {
			if isOfRuns[name] && name != view.relation {
				needs[view.relation] = append(needs[view.relation], name)
			}
		}
		if len(needs[view.relation]) > 0 {
			isOfRuns[view.relation] = true
			all = append(all, relation{name: view.relation, text: overNarrowed(text, isOfRuns), kept: view.isKept, keptOf: view.keptOf, held: view.isHeld})
			if view.isKept {
				kept = append(kept, view.relation)
			}
		}
	}
	return all.neededBy(kept, needs), needs
})

// listed is a list for "in".
func listed(names []string) string {
	var all []string
	for _, name := range names {
		all = append(all, quoted(name))
	}
	return "(" + strings.Join(all, ", ") + ")"
}

// Recompute computes again what is kept of runs to which something was added, within the transaction.
func (tx *Tx) Recompute(ctx context.Context, runs ...string) error {
	all, _ := ofRunsInOrder()
	if err := all.forget(ctx, tx.conn, runs); err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	return tx.Refresh(ctx)
}
