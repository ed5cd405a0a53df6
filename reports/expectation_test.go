//go:build duckdb_arrow

package reports_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/reports"
)

// A page says of an experiment whose file expects something whether that held, as the terminal did at its end.
func TestAnExperimentIsJudgedByWhatItsFileExpects(t *testing.T) {
	for _, c := range []struct{ expect, says string }{
		{`{"met_at": "2", "not_met_at": "4", "binds": "tpot"}`,
			"It held: max concurrency 2 is within the SLO; max concurrency 4 is not within the SLO; p50 TPOT is the first to miss its limit, at max concurrency 4."},
		{`{"met_at": "4"}`, "It did not hold: max concurrency 4 is not within the SLO."},
		{`{"not_met_at": "4", "binds": "ttft"}`, "It did not hold: max concurrency 4 is not within the SLO; p50 TPOT is the first to miss its limit"},
		{`{"met_at": "8"}`, "Not decided: the experiment did not come to 8."},
	} {
		db := record(t,
			recorded{id: "e1", name: "1 in flight", requests: 100, lateness: 0.003, level: "1"},
			recorded{id: "e2", name: "2 in flight", requests: 100, lateness: 0.003, level: "2"},
			recorded{id: "e4", name: "4 in flight", requests: 100, lateness: 0.003, level: "4", slowness: 4})
		insert(t, db, fmt.Sprintf(`update raw.runs set document = json_merge_patch(document, '{
			"slo": {"name": "chat", "objectives": [{"metric": "tpot", "percentile": 50, "at_most": 0.015}, {"metric": "ttft", "percentile": 50, "at_most": 9}]},
			"series": {"expect": %s}}')`, c.expect))
		if html := write(t, db, reports.Options{}); !strings.Contains(html, c.says) {
			t.Errorf("expected %s: the page does not say %q", c.expect, c.says)
			if i := strings.Index(html, "Hypothesis: "); i >= 0 {
				t.Log(html[i:min(len(html), i+600)])
			}
		}
	}
}
