//go:build duckdb_arrow

package reports_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/reports"
)

// A page says of an experiment whose file expects something whether that held, as the terminal did at its end.
func TestAnExperimentIsJudgedByWhatItsFileExpects(t *testing.T) {
	cases := []struct{ expect, says string }{
		{`{"met_at": "2", "not_met_at": "4", "binds": "tpot"}`,
			"It held: max concurrency 2 is within the SLO; max concurrency 4 is not within the SLO; p50 TPOT is the first to miss its limit, at max concurrency 4."},
		{`{"met_at": "4"}`, "It did not hold: max concurrency 4 is not within the SLO."},
		{`{"not_met_at": "4", "binds": "ttft"}`, "It did not hold: max concurrency 4 is not within the SLO; p50 TPOT is the first to miss its limit"},
		{`{"met_at": "8"}`, "Not decided: the experiment did not come to 8."},
	}
	var runs []recorded
	for i := range cases {
		for _, level := range []string{"1", "2", "4"} {
			run := recorded{id: fmt.Sprint("e", i, level), name: level + " in flight", requests: 100, lateness: 0.003, level: level}
			if level == "4" {
				run.slowness = 4
			}
			runs = append(runs, run)
		}
	}
	db := record(t, runs...) // the marts of all are planned once
	for i, c := range cases {
		insert(t, db, fmt.Sprintf(`update raw.runs set document = json_merge_patch(document, '{
			"slo": {"name": "chat", "objectives": [{"metric": "tpot", "percentile": 50, "at_most": 0.015}, {"metric": "ttft", "percentile": 50, "at_most": 9}]},
			"series": {"id": "of %[1]d", "name": "of %[1]d", "expect": %[2]s}}') where starts_with(run_id, 'e%[1]d')`, i, c.expect))
	}
	for i, c := range cases {
		one := fmt.Sprint("e", i)
		if html := write(t, db, reports.Options{RunIDs: []string{one + "1", one + "2", one + "4"}}); !strings.Contains(html, c.says) {
			t.Errorf("expected %s: the page does not say %q", c.expect, c.says)
			if i := strings.Index(html, "Hypothesis: "); i >= 0 {
				t.Log(html[i:min(len(html), i+600)])
			}
		}
	}
}

// Latencies of the survivors were within the SLO: the page said that the level holds, and the terminal that it does not.
func TestALevelWhoseRequestsFailedIsNotWithinTheSLO(t *testing.T) {
	var runs []recorded
	for _, level := range []string{"1", "2", "4"} {
		runs = append(runs, recorded{id: "e" + level, name: level + " in flight", requests: 100, lateness: 0.003, level: level})
	}
	db := record(t, runs...)
	insert(t, db, `update raw.requests set failure = 'http_500' where run_id = 'e4' and seq % 20 = 19`)
	insert(t, db, `update raw.runs set document = json_merge_patch(document, '{"result": {"completed": 95}}') where run_id = 'e4'`)
	insert(t, db, `update raw.runs set document = json_merge_patch(document, '{"slo": {"name": "chat", "objectives": [{"metric": "ttft", "percentile": 50, "at_most": 9}]},
		"series": {"id": "s", "name": "s", "expect": {"not_met_at": "4"}}}')`)
	html := write(t, db, reports.Options{RunIDs: []string{"e1", "e2", "e4"}})
	must.Say(t, html, "It held: max concurrency 4 is not within the SLO.")
	must.Say(t, html, "<h1>Largest level within the SLO: max concurrency 2</h1>")
}
