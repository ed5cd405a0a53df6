//go:build duckdb_arrow

package queries_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/queries"
)

// Cases with the same catalogue have the kept rows of their runs computed in one refresh, because to plan the chain of the marts costs a
// second and their few rows cost nothing. There each run has the case's number before its name.

// batch is a warehouse with the runs of all cases that have one catalogue. Its file is made when the first case asks.
type batch struct {
	path      string
	catalogue []string // the statements that change it
	cases     []*batched
	make      sync.Once
	err       error
}

// batched is one case: the statements that put in its runs, and what it asks.
type batched struct {
	name      string
	runs      []string
	helpers   []string // tables that the statements make for themselves
	questions []string
	number    int
}

var (
	target   = regexp.MustCompile(`^(?:insert into|update|delete from) ((?:raw|seeds)\.\w+)`)
	ownTable = regexp.MustCompile(`^create (?:temp )?table (main\.\w+|\w+) `)
	runsOwn  = regexp.MustCompile(`raw\.(?:runs|requests|samples)\b`)
)

// batches has each batch by its catalogue.
type batches struct {
	dir string
	by  map[string]*batch
}

// add puts a case into the batch of its catalogue. A case whose runs are made from other tables is in none.
func (all *batches) add(name, setup string, questions ...string) (*batch, *batched) {
	one := &batched{name: name, questions: questions}
	var catalogue []string
	inputs := inputsOfKept()
	for _, statement := range queries.Statements(setup) {
		code := strings.Join(strings.Fields(queries.WithoutComments(statement)), " ")
		found, own := target.FindStringSubmatch(code), ownTable.FindStringSubmatch(code)
		isOfRuns := found != nil && runsOwn.MatchString(found[1])
		switch {
		case found != nil && found[1] == "raw.step_joins": // names a run beside a source
			return nil, nil
		case own != nil:
			one.helpers = append(one.helpers, own[1])
			one.runs = append(one.runs, statement)
		case isOfRuns && !strings.Contains(strings.ReplaceAll(runsOwn.ReplaceAllString(code, ""), "'raw.", ""), "raw."):
			one.runs = append(one.runs, statement)
		case found != nil && !isOfRuns && inputs[found[1]]:
			catalogue = append(catalogue, statement)
		case found != nil && !isOfRuns:
		default:
			return nil, nil
		}
	}
	key := strings.Join(catalogue, ";\n")
	if all.by[key] == nil {
		all.by[key] = &batch{path: filepath.Join(all.dir, fmt.Sprintf("batch%d.duckdb", len(all.by))), catalogue: catalogue}
	}
	b := all.by[key]
	one.number = len(b.cases)
	b.cases = append(b.cases, one)
	return b, one
}

// inputsOfKept are the seeds and raw tables that kept tables are computed from, directly or through macros: those of all macros.
var inputsOfKept = sync.OnceValue(func() map[string]bool {
	inputs := map[string]bool{}
	add := func(text string) {
		for _, name := range input.FindAllString(queries.WithoutComments(text), -1) {
			inputs[name] = true
		}
	}
	for _, schema := range []string{"seeds", "macros"} {
		for _, file := range queries.In(schema, ".sql") {
			inputs[file.Relation()] = true
			add(file.Text)
		}
	}
	for _, file := range viewsByName() {
		if file.IsKept() {
			add(file.Text)
			below([]string{file.Text}, func(queries.File) bool { return true }, func(file queries.File) { add(file.Text) })
		}
	}
	return inputs
})

var input = regexp.MustCompile(`\b(?:raw|seeds)\.[a-z0-9_]+`)

// below visits the views that questions read, and what these read where they are entered.
func below(questions []string, enters func(queries.File) bool, visit func(queries.File)) {
	seen := map[string]bool{}
	var look func(text string)
	look = func(text string) {
		for _, name := range reads.FindAllString(queries.WithoutComments(text), -1) {
			file, isView := viewsByName()[name]
			if !isView || seen[name] {
				continue
			}
			seen[name] = true
			visit(file)
			if enters(file) {
				look(file.Text)
			}
		}
	}
	for _, question := range questions {
		look(question)
	}
}

var viewsByName = sync.OnceValue(func() map[string]queries.File {
	byName := map[string]queries.File{}
	for _, schema := range queries.Views {
		for _, file := range queries.In(schema, ".sql") {
			byName[file.Relation()] = file
		}
	}
	return byName
})

// keptFor are the kept tables that the questions read without another kept one between.
func keptFor(questions []string) (names []string) {
	below(questions, func(file queries.File) bool { return !file.IsKept() }, func(file queries.File) {
		if file.IsKept() {
			names = append(names, file.Relation())
		}
	})
	slices.Sort(names)
	return names
}

// file is the batch's warehouse, with the kept rows of every case.
func (b *batch) file(t *testing.T) string {
	t.Helper()
	b.make.Do(func() { b.err = b.fill(t) })
	if b.err != nil {
		t.Fatalf("the %d cases of one catalogue: %v", len(b.cases), b.err)
	}
	return b.path
}

func (b *batch) fill(t *testing.T) error {
	if err := warehousetest.Template(b.path); err != nil {
		return err
	}
	w, err := warehouse.Open(t.Context(), b.path, warehouse.ReadWrite)
	if err != nil {
		return err
	}
	defer w.Close()
	statements := append([]string{"set threads = 1", "create schema batch"}, b.catalogue...)
	var questions []string
	for _, name := range []string{"runs", "requests", "samples"} {
		statements = append(statements, fmt.Sprintf("create table batch.%s as from raw.%[1]s", name))
	}
	for _, one := range b.cases {
		questions = append(questions, one.questions...)
		statements = append(statements, one.runs...)
		statements = append(statements, undescribedRuns)
		for _, name := range []string{"runs", "requests", "samples"} {
			statements = append(statements,
				fmt.Sprintf("insert into batch.%s by name select * replace (%s || run_id as run_id) from raw.%[1]s", name, one.quotedMark()), "delete from raw."+name)
		}
		for _, name := range one.helpers {
			statements = append(statements, "drop table "+name)
		}
	}
	for _, name := range []string{"runs", "requests", "samples"} {
		statements = append(statements, fmt.Sprintf("insert into raw.%s by name from batch.%[1]s", name))
	}
	for _, statement := range statements {
		if _, err := w.DB().ExecContext(t.Context(), statement); err != nil {
			return fmt.Errorf("%w\n%s", err, statement)
		}
	}
	if err := warehousetest.ForgetKnown(w.DB(), b.catalogue...); err != nil {
		return err
	}
	return warehouse.Refresh(t.Context(), w.DB(), questions...)
}

// quotedMark stands before the names of the case's runs.
func (one *batched) quotedMark() string { return fmt.Sprintf("'case %d: '", one.number) }

// take copies the case's kept rows out of the batch, under the names of its own runs.
func (one *batched) take(db warehouse.Querier, t *testing.T, b *batch) error {
	attached := strings.TrimSuffix(filepath.Base(b.path), ".duckdb")
	statements := []string{fmt.Sprintf("attach if not exists '%s' as %s (read_only)", b.path, attached)}
	for _, name := range keptFor(one.questions) {
		statements = append(statements, fmt.Sprintf(
			"insert into %s by name select columns(*) from (select * replace (substr(run_id, length(%[2]s) + 1) as run_id) from %s.%[1]s where starts_with(run_id, %[2]s))",
			name, one.quotedMark(), attached))
	}
	_, err := db.ExecContext(t.Context(), strings.Join(statements, ";\n"))
	return err
}
