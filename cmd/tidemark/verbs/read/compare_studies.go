package read

import (
	"context"

	"tidemark/analysis"
	"tidemark/analysis/study"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// studies compares two studies, if both arguments name one: a file of study --json, or a name in the warehouse, which two files do not need.
func (f *compareFlags) studies(ctx context.Context, w *warehouse.Warehouse) (areStudies bool, err error) {
	var both [2]study.Result
	for i := range both {
		if name := f.Args.Get(i); study.IsFile(name) {
			both[i], err = study.ReadResult(name)
		} else {
			both[i], err = study.Kept(ctx, w.DB(), name)
		}
		if err != nil {
			return false, err
		}
	}
	if f.Args.Len() != 2 || both[0].Schema == "" && both[1].Schema == "" {
		return false, nil
	}
	for i, r := range both {
		if r.Schema == "" {
			return true, hint.Misuse("compare: no study named %q, and %q is one", f.Args.Get(i), f.Args.Get(1-i)).Hint("two runs, or two studies; a study is a name in the warehouse, or a file of study --json")
		}
	}
	if flag := f.Given("fail-if-worse", "metrics", "junit", "summary", "without-class"); flag != "" {
		return true, hint.Misuse("compare: --%s is for runs, and these are studies", flag).Hint("leave it out")
	}
	comparison, why := study.Compare(both[0], both[1])
	if why != "" && !f.force {
		return true, hint.Misuse("compare: these studies do not answer one question: %s", why).Hint("give --force if they are to be compared all the same")
	}
	return true, f.printStudies(comparison)
}

func (f *compareFlags) printStudies(c study.Comparison) error {
	f.Remark("%s", c.FirstLine())
	f.Gap()
	if err := f.printAnswers(c); err != nil {
		return err
	}
	f.Gap()
	for _, remark := range c.Remarks() {
		f.Remark("%s", remark)
	}
	return nil
}

// printAnswers prints a row for each configuration, the widest form first.
func (f *compareFlags) printAnswers(c study.Comparison) error {
	if f.IsForPrograms() {
		return f.PrintTable(c.Table())
	}
	full, narrow, least := kit.TableOf("requests/s within the SLO", "before", "after", "change", "binds"), kit.TableOf("configuration", "before", "after", "change"), kit.TableOf("configuration", "change")
	for _, a := range c.Answers {
		before, after, change := a.Words()
		full.Rows = append(full.Rows, []any{a.Name, tables.Figure(before), tables.Figure(after), change, a.WhatBinds})
		narrow.Rows = append(narrow.Rows, []any{a.Name, tables.Figure(before), tables.Figure(after), change})
		least.Rows = append(least.Rows, []any{a.Name, change})
	}
	return f.PrintForms([]analysis.Table{full, narrow, least}...)
}
