package endings

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/analysis/metric"
	"tidemark/internal/cli/tables"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

// The rows of a run's table, in reading order, by the metrics of marts.latency_quantiles.
var runMetrics = []string{metric.TTFT, metric.TTFTFromDue, metric.TPOT, metric.ITL, metric.E2E, "lateness"}

var runPercentiles = []float64{50, 95, 99}

// p99Of is how many samples an unflagged p99 wants, and of how few it is withheld, as verdicts say it.
const (
	p99Withheld = 100
	p99Flagged  = 500
)

// Run is the ending of a replay. An invalid run says so first.
func Run(ctx context.Context, db *sql.DB, v analysis.SLOVerdict) (Text, error) {
	quantiles, err := quantilesOf(ctx, db, v.RunID)
	if err != nil {
		return Text{}, fmt.Errorf("run %s: %w", v.RunID, err)
	}
	text := Text{Lead: []string{v.Headline()}, Forms: runForms(runTable(quantiles, v.Objectives), len(v.Objectives) > 0)}
	for _, o := range v.Open() {
		text.Notes = append(text.Notes, o.String())
	}
	switch {
	case v.Completed < p99Withheld:
		text.Notes = append(text.Notes, fmt.Sprintf("p99 is withheld below %d requests: %d", p99Withheld, v.Completed))
	case v.Completed < p99Flagged:
		text.Notes = append(text.Notes, fmt.Sprintf("p99 is of %d requests only", v.Completed))
	}
	text.Notes = append(append(text.Notes, v.Remarks()...), v.MeasuredOn)
	return text, nil
}

// quantilesOf are the values by metric and percentile.
func quantilesOf(ctx context.Context, db *sql.DB, runID string) (map[string]map[float64]*float64, error) {
	found := map[string]map[float64]*float64{}
	err := warehouse.Each(ctx, db, `
select
    metric,
    round(100 * quantile, 1),
    value_s
from marts.latency_quantiles
where run_id = ?
    and quantile in (0.5e0, 0.95e0, 0.99e0)`, []any{runID}, func(scan func(...any) error) error {
		var metric string
		var percentile float64
		var value *float64
		err := scan(&metric, &percentile, &value)
		if found[metric] == nil {
			found[metric] = map[float64]*float64{}
		}
		found[metric][percentile] = value
		return err
	})
	return found, err
}

// runTable has the metrics that were measured. An objective stands in the row of its metric, and a further one in a row of its own.
func runTable(quantiles map[string]map[float64]*float64, objectives []analysis.ObjectiveVerdict) analysis.Table {
	table := answers.TableOf("metric", "p50", "p95", "p99", "bound", "mark")
	left := slices.Clone(objectives)
	for _, name := range runMetrics {
		values := quantiles[name+"_s"]
		if values == nil {
			continue
		}
		row := append([]any{show.Words(name)}, times(values[50], values[95], values[99])...)
		bound, mark := "", ""
		for i, o := range left {
			if o.Metric == name && o.Class == "" {
				bound, mark = boundOf(o), markOf(o)
				left = slices.Delete(left, i, i+1)
				break
			}
		}
		table.Rows = append(table.Rows, append(row, tables.Figure(bound), mark))
	}
	for _, o := range left {
		table.Rows = append(table.Rows, []any{labelOf(o), tables.Figure(""), tables.Figure(""), tables.Figure(""), tables.Figure(boundOf(o)), markOf(o)})
	}
	return table
}

// labelOf names a row without its percentile, which stands with the bound.
func labelOf(o analysis.ObjectiveVerdict) string {
	label := show.Words(o.Metric)
	if o.Metric == metric.FailureRatio {
		label = "failures"
	}
	if o.Class != "" {
		label += ", " + o.Class
	}
	return label
}

func boundOf(o analysis.ObjectiveVerdict) string {
	if o.Metric == metric.FailureRatio {
		return "≤ " + show.Percent(o.AtMost)
	}
	return show.Percentile(o.Percentile) + " ≤ " + show.Duration(o.AtMost)
}

// markOf says what was observed too, unless it stands in the row already.
func markOf(o analysis.ObjectiveVerdict) string {
	mark := marks[o.Outcome]
	switch {
	case o.Metric == metric.FailureRatio:
		return fmt.Sprintf("%s: %s of %s", mark, show.Count(o.Above), show.Count(o.Samples))
	case o.Observed == nil || o.Class == "" && slices.Contains(runPercentiles, o.Percentile):
		return mark
	}
	return mark + ": " + show.Duration(*o.Observed)
}

// runForms leaves out what a reader misses least: first p95, then p50, then the bound.
func runForms(table analysis.Table, hasSLO bool) []analysis.Table {
	if !hasSLO {
		return []analysis.Table{chosen(table, 0, 1, 2, 3)}
	}
	bare := chosen(table, 0, 3, 5) // without what was observed
	for _, row := range bare.Rows {
		row[2], _, _ = strings.Cut(row[2].(string), ":")
	}
	return []analysis.Table{table, chosen(table, 0, 1, 3, 4, 5), chosen(table, 0, 3, 4, 5), chosen(table, 0, 3, 5), bare}
}
