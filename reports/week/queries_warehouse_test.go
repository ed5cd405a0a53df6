//go:build duckdb_arrow

package week_test

import (
	"context"
	"encoding/json"
	"html"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/reports/week/sample"
)

// Every query that the page prints runs, and one on the week's own figures has the rows that the section shows: those of the forecast are 6
// weeks measured and 12 ahead, though only one week has a report.
func TestPrintedQueriesReturnWhatIsShown(t *testing.T) {
	r, ctx := sample.Report(), context.Background()
	document := must.Get(json.Marshal(r))(t)
	w := warehousetest.Open(t)
	must.Do(t, w.Write(ctx, func(tx *warehouse.Tx) error {
		return tx.Exec(ctx, "insert into raw.service_weeks (service, week, source_ids, file_sha256, document) values (?, ?, [], 'f', ?)", r.Service, r.Week, string(document))
	}))
	got := map[string][]int{}
	for _, part := range strings.Split(write(t, r), "<section id=\"")[1:] {
		section, _, _ := strings.Cut(part, "\"")
		for _, block := range sqlBlock.FindAllStringSubmatch(part, -1) {
			n := 0
			query := strings.TrimSuffix(html.UnescapeString(block[1]), ";")
			if err := w.DB().QueryRowContext(ctx, "select count(*) from ("+query+")").Scan(&n); err != nil {
				t.Errorf("%s: %v\n%s", section, err, query)
			}
			got[section] = append(got[section], n)
		}
	}
	for section, want := range map[string][]int{
		"demand": {168}, "shape": {len(r.Shape.Cells), len(r.Shape.Quantiles)}, "hours": {168}, "felt": {len(r.Felt), 1}, "bandwidth": {len(r.Steps)},
		"cost": {168, 1, len(r.Nines)}, "forecast": {6, 12}, "appendix": {6, 168},
	} {
		if len(got[section]) != len(want) {
			t.Errorf("%s: got %v rows of its queries, want %v", section, got[section], want)
			continue
		}
		for i := range want {
			if got[section][i] != want[i] || want[i] == 0 {
				t.Errorf("%s: got %v rows of its queries, want %v", section, got[section], want)
			}
		}
	}
}
