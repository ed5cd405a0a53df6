//go:build duckdb_arrow

package reports_test

import (
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/reports"
)

// ticking puts a trace that counts in 3 s in the place of the usual one: 40 ticks of 5 requests.
const ticking = `
delete from raw.arrivals;
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens, blocks)
select 1, n, n // 5 * 3000000000, 100 + 7 * n, 10 + n, [1, 1000 + n] from range(200) as numbers (n);
insert into raw.block_distances values (1, 128, 199), (1, null, 201);
update raw.sources set block_tokens = 512 where source_id = 1;`

// What misleads about a run's trace stands in its report; what the run repaired, as repaired.
func TestReportTellsWhatTheTraceIs(t *testing.T) {
	db := record(t, recorded{id: "as-it-is", name: "first", requests: 20}, recorded{id: "spread", name: "second", requests: 20})
	insert(t, db, ticking)
	insert(t, db, `update raw.runs set document = json_merge_patch(document, '{"plan": {"scaling": {"spread_tick_s": 3}}}') where run_id = 'spread'`)
	for _, test := range []struct {
		run   string
		wants []string
	}{
		{"as-it-is", []string{"1 thing would mislead a replay", "160 of 199 gaps between requests are zero", "✕ misleads", "--spread-ticks",
			"How evenly the trace", ">65,536</td>"}},
		{"spread", []string{"This run spread the requests of each tick over its 3 s", "repaired here", "ticks of 3 s spread"}},
	} {
		page := write(t, db, reports.Options{RunIDs: []string{test.run}})
		for _, want := range test.wants {
			must.Say(t, page, want)
		}
	}
}

// A trace that was exported under privacy rules brings its manifest into the
// appendix.
func TestReportShowsTheRulesOfAnExport(t *testing.T) {
	db := record(t, recorded{id: "one", name: "first", requests: 20})
	insert(t, db, `insert into raw.manifests values (1, '{"schema": "tidemark.privacy/1", "parameters": {"k": 10, "tick_s": 1},
		"rules": [{"rule": 3, "truth": "no cell of 1 to 9", "verdict": "pass", "figures": "the least holds 11"}]}')`)
	page := write(t, db, reports.Options{})
	must.Say(t, page, "was exported under privacy rules", "no cell of 1 to 9", "the least holds 11", "marts.privacy_rules")
}
