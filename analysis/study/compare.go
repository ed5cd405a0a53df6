//go:build duckdb_arrow

package study

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/internal/hint"
	"tidemark/internal/maybe"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/userfile"
)

// Comparison is two studies beside each other: the same one of last month and of today, or rehearsed and then sent.
type Comparison struct {
	Before, After Result
	Answers       []Answer
	Verdicts      []string // steps that ended otherwise, in words
}

// Answer is a configuration of one name in both.
type Answer struct {
	Name          string
	Before, After Row
	Change        Interval // of the largest rate, by a 90 % interval that is wider the more there are
	IsKnown       bool     // false: no rate in one of them
	IsChanged     bool     // the interval does not hold 0
	WhatBinds     string   // "ttft, then tpot", where it differs
}

// IsFile says that an argument is a file of study --json and not a name.
func IsFile(argument string) bool { return filepath.Ext(argument) == ".json" }

// Kept is a study as it is in a warehouse; its schema is empty where there is none of that name.
func Kept(ctx context.Context, db *sql.DB, name string) (r Result, err error) {
	err = warehouse.Each(ctx, db, "select document::varchar from raw.studies where study = ?", []any{name}, func(scan func(...any) error) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		return json.Unmarshal([]byte(text), &r)
	})
	return r, err
}

// ReadResult reads what study --json has printed.
func ReadResult(path string) (r Result, err error) {
	text, err := userfile.ReadAll(path)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil || r.Schema != ResultSchema {
		return r, hint.Misuse("compare: %s: not the result of a study", path).Hint("tidemark study FILE.yaml --json > %s", path)
	}
	return r, nil
}

// Compare puts two studies beside each other. why is why they do not answer one question; empty: they do.
func Compare(before, after Result) (c Comparison, why string) {
	c = Comparison{Before: before, After: after}
	for _, row := range after.Rows {
		if earlier, isThere := find(before.Rows, row.Name); isThere {
			c.Answers = append(c.Answers, Answer{Name: row.Name, Before: earlier, After: row})
		}
	}
	level := 1 - 0.05/float64(max(len(c.Answers), 1))
	for i := range c.Answers {
		a := &c.Answers[i]
		a.Change, a.IsChanged, a.IsKnown = a.After.change("rate", a.Before, level)
		if a.Before.Binding != a.After.Binding && a.Before.Binding != "" && a.After.Binding != "" {
			a.WhatBinds = a.Before.Binding + ", then " + a.After.Binding
		}
	}
	for _, v := range after.Verdicts {
		for _, w := range before.Verdicts {
			if v.Step == w.Step && v.Outcome != w.Outcome {
				c.Verdicts = append(c.Verdicts, fmt.Sprintf("%s: %s, then %s", v.Step, w.Outcome, v.Outcome))
			}
		}
	}
	switch {
	case !reflect.DeepEqual(before.SLO.Objectives, after.SLO.Objectives):
		why = "their objectives differ"
	case before.TrafficSum != "" && after.TrafficSum != "":
		if before.TrafficSum != after.TrafficSum {
			why = fmt.Sprintf("their traffic differs: %s, then %s; the file or its window is another", before.Traffic, after.Traffic)
		}
	case before.Traffic != after.Traffic:
		why = fmt.Sprintf("their traffic differs: %s, then %s", before.Traffic, after.Traffic)
	}
	if why == "" && len(c.Answers) == 0 {
		why = "no configuration has one name in both"
	}
	return c, why
}

// FirstLine says which answers changed.
func (c Comparison) FirstLine() string {
	var changed []string
	for _, a := range c.Answers {
		if a.IsChanged {
			changed = append(changed, a.Name+" "+changeWords(a.Change))
		}
	}
	text := fmt.Sprintf("%d of %s changed", len(changed), show.Things(len(c.Answers), "configuration", "configurations"))
	if len(changed) > 0 {
		text += ": " + strings.Join(changed, ", ")
	}
	return text + "."
}

// Remarks are what else must be known of it.
func (c Comparison) Remarks() (remarks []string) {
	remarks = append(remarks, c.Verdicts...)
	for _, a := range c.Answers {
		for _, of := range []struct{ before, after string }{{a.Before.GPU, a.After.GPU}, {a.Before.Model, a.After.Model}} {
			if of.before != of.after && of.before != "" && of.after != "" {
				remarks = append(remarks, fmt.Sprintf("%s: %s, then %s.", a.Name, of.before, of.after))
			}
		}
	}
	if len(c.Answers) > 0 && c.Answers[0].Before.Origin != c.Answers[0].After.Origin {
		text := fmt.Sprintf("%s, then %s", c.Answers[0].Before.Origin, c.Answers[0].After.Origin)
		if band := max(c.Before.Band, c.After.Band); band > 0 {
			text += fmt.Sprintf(": the model's own error, %s, is not in the intervals", show.Percent(band))
		}
		remarks = append(remarks, text+".")
	}
	for _, one := range []struct {
		rows, others []Row
		words        string
	}{{c.Before.Rows, c.After.Rows, "only before"}, {c.After.Rows, c.Before.Rows, "only after"}} {
		var names []string
		for _, row := range one.rows {
			if _, isThere := find(one.others, row.Name); !isThere {
				names = append(names, row.Name)
			}
		}
		if len(names) > 0 {
			remarks = append(remarks, one.words+": "+strings.Join(names, "; "))
		}
	}
	return remarks
}

// Words of an answer: its rate before and after, and what changed.
func (a Answer) Words() (before, after, change string) {
	change = NoDifference
	switch {
	case !a.IsKnown:
		change = "not known of both"
	case a.IsChanged:
		change = changeWords(a.Change)
	}
	return a.Before.Interval(), a.After.Interval(), change
}

// Table has a row for each configuration, for programs.
func (c Comparison) Table() (t analysis.Table) {
	t = answers.TableOf("configuration", "origin", "rate_per_s", "rate_low_per_s", "rate_high_per_s", "other_origin", "other_rate_per_s", "other_rate_low_per_s", "other_rate_high_per_s",
		"change_ratio", "change_low_ratio", "change_high_ratio", "is_different", "binding_objective", "other_binding_objective")
	for _, a := range c.Answers {
		var change, low, high *float64
		var isDifferent any
		if a.IsKnown {
			change, low, high, isDifferent = finite(a.Change.Value), finite(a.Change.Low), finite(a.Change.High), a.IsChanged
		}
		t.Rows = append(t.Rows, []any{a.Name, a.Before.Origin, maybe.Cell(a.Before.Rate), maybe.Cell(a.Before.RateLow), maybe.Cell(a.Before.RateHigh),
			a.After.Origin, maybe.Cell(a.After.Rate), maybe.Cell(a.After.RateLow), maybe.Cell(a.After.RateHigh),
			maybe.Cell(change), maybe.Cell(low), maybe.Cell(high), isDifferent, a.Before.Binding, a.After.Binding})
	}
	return t
}
