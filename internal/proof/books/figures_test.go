//go:build notebooks

package books

import (
	"fmt"
	"strings"
	"testing"
)

// compareFigures works figures of the latest run out from the lake in polars, and asks the marts for the same.
func (p place) compareFigures(t *testing.T) {
	latest := p.runs[len(p.runs)-1]
	of := func(column, mart string) string {
		return fmt.Sprintf("select %s from marts.%s where run_id = '%s'", column, mart, latest)
	}
	quantile := func(metric string) string {
		return of("value_s", "latency_quantiles") + " and quantile = 0.99 and metric = '" + metric + "'"
	}
	figures := []struct{ name, query string }{
		{"p99_ttft_s", quantile("ttft_s")},
		{"p99_tpot_s", quantile("tpot_s")},
		{"p50_e2e_s", of("p50_e2e_s", "runs")},
		{"mean_tpot_s", of("tpot_s", "tpot_gap_runs")},
		{"floor_ratio", of("floor_ratio", "tpot_gap_runs")},
		{"median_slowdown", of("slowdown_ratio", "runs")},
		{"output_token_per_s", of("output_token_per_s", "runs")},
		{"p99_itl_s", quantile("itl_s")},
		{"p99_ttft_of_both_s", `select macros.histogram_quantile(list(bucket order by bucket), list(samples order by bucket), 0.99)
			from (select bucket, sum(samples)::bigint as samples from marts.latency_histograms where metric = 'ttft_s' group by bucket)`},
		{"failed", of("sum(requests)", "failures")},
		{"accepted_ratio", of("accepted_ratio", "goodput")},
		{"busiest_hour", "select max(requests) from marts.arrival_hours"},
	}
	got := map[string]float64{}
	p.python(t, &got, nil, "testdata/figures.py", p.published()+"/lake", latest, p.runs[0], traceName, fmt.Sprint(ttftBound), fmt.Sprint(tpotBound))
	if len(got) != len(figures) {
		t.Errorf("polars has %d figures, the marts %d", len(got), len(figures))
	}
	var table strings.Builder
	fmt.Fprintf(&table, "\n| figure | polars, from the lake | marts | relative difference |\n|---|---|---|---|\n")
	for _, figure := range figures {
		polars, ok := got[figure.name]
		mart := p.number(t, figure.query)
		if !ok || !isSame(polars, mart, 1e-9) {
			t.Errorf("%s: polars has %v, the mart %v (%s)", figure.name, polars, mart, figure.query)
		}
		if polars == 0 {
			t.Errorf("%s is 0, which proves nothing", figure.name)
		}
		fmt.Fprintf(&table, "| %s | %.9g | %.9g | %.1g |\n", figure.name, polars, mart, polars/mart-1)
	}
	t.Log(table.String())
}
