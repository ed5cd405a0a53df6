package gate

import (
	"math"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/answers"
)

// Columns are those of Cells.
var Columns = []string{"metric", "before", "after", "change", "interval", "gate"}

// Cells are a metric's row for people.
func (j Judged) Cells() []string {
	change := "-"
	if !math.IsNaN(j.Ratio) {
		change = analysis.Change(j.Ratio)
	}
	return []string{j.words(), j.value(j.Before), j.value(j.After), change, j.interval(), j.Outcome}
}

// ForPrograms has a row for each metric in full precision and base units.
func (g Gate) ForPrograms() analysis.Table {
	table := answers.TableOf(strings.Fields("metric value other_value ratio low_ratio high_ratio bound_ratio outcome reason")...)
	known := func(x float64) any {
		if math.IsNaN(x) {
			return nil
		}
		return x
	}
	for _, j := range g.Judged {
		var why any
		if j.Why != "" {
			why = j.Why
		}
		table.Rows = append(table.Rows, []any{j.Name, known(j.Before), known(j.After), known(j.Ratio), known(j.Low), known(j.High), g.edge(j.Metric), j.Outcome, why})
	}
	return table
}
