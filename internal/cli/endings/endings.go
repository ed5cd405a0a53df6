// Package endings is what a replay and an experiment say when they are over: sentences, a table, and what a reader of the
// table must know. run.go is about one run, experiment.go about all rows of an experiment.
//
// It asks the warehouse and makes text. It prints nothing and judges no objective: marts.slo does.
package endings

import (
	"cmp"
	"fmt"

	"tidemark/analysis"
	"tidemark/analysis/metric"
	"tidemark/internal/cli/tables"
	"tidemark/internal/show"
)

// Text is what is said. Forms are one table, the widest first: the first that fits the terminal is printed.
type Text struct {
	Lead  []string
	Forms []analysis.Table
	Notes []string
}

// marks stand for the outcomes of marts.slo, each with its word: a sign alone means nothing to somebody who does not know it.
var marks = map[string]string{
	analysis.Met: "✓ met", analysis.NotMet: "✗ not met", analysis.Undecided: "? undecided", analysis.Invalid: "- invalid",
}

// signs are the same where a value stands next to them.
var signs = map[string]string{analysis.Met: "✓", analysis.NotMet: "✗", analysis.Undecided: "?", analysis.Invalid: "-"}

// Mark is an outcome with its sign; a word that is no outcome stays as it is.
func Mark(outcome string) string { return cmp.Or(marks[outcome], outcome) }

// written is a value of an objective: a time, or a share of failures.
func written(name string, value float64) string {
	if name == metric.FailureRatio {
		return show.Percent(value)
	}
	return show.Duration(value)
}

// times are written in one unit, that of the longest; nil: it was not measured, or is withheld.
func times(values ...*float64) []any {
	longest := 0.0
	for _, value := range values {
		if value != nil {
			longest = max(longest, *value)
		}
	}
	unit := show.UnitOf(longest)
	cells := make([]any, len(values))
	for i, value := range values {
		cells[i] = tables.Figure("-")
		if value != nil {
			cells[i] = tables.Figure(show.Figures(*value*unit.Factor) + " " + unit.Name)
		}
	}
	return cells
}

// chosen is a table of some columns of another.
func chosen(table analysis.Table, places ...int) (narrow analysis.Table) {
	for _, place := range places {
		narrow.Columns = append(narrow.Columns, table.Columns[place])
	}
	for _, row := range table.Rows {
		var cells []any
		for _, place := range places {
			cells = append(cells, row[place])
		}
		narrow.Rows = append(narrow.Rows, cells)
	}
	return narrow
}

// margin says how far a value is from its bound: 8.10 % beyond, 15.0 % to spare. It is empty where the bound is 0.
func margin(observed, atMost float64) string {
	switch {
	case atMost <= 0:
		return ""
	case observed > atMost:
		return show.Percent(observed/atMost-1) + " beyond"
	}
	return show.Percent(1-observed/atMost) + " to spare"
}

// againstBound says what was observed of an objective, what is allowed, and how far apart these are.
func againstBound(o analysis.ObjectiveVerdict) string {
	switch {
	case o.Observed == nil && o.Outcome == analysis.NotMet:
		return fmt.Sprintf("%s: %s of %s beyond %s", o.Objective, show.Count(o.Above), show.Count(o.Samples), written(o.Metric, o.AtMost))
	case o.Observed == nil:
		return fmt.Sprintf("%s is withheld, of %s samples", o.Objective, show.Count(o.Samples))
	}
	text := fmt.Sprintf("%s %s of at most %s", o.Objective, written(o.Metric, *o.Observed), written(o.Metric, o.AtMost))
	if far := margin(*o.Observed, o.AtMost); far != "" {
		text += ", " + far
	}
	return text
}
