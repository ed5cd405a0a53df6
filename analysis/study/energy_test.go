//go:build duckdb_arrow

package study

import (
	"math"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// Two runs, of 5 and of 10 requests/s, whose GPU says 100 and 400 W; a request a second of 6 tokens in each, so that they make 0.06 and 0.015 tokens of a
// joule. Only the first meets the SLO. The third has no power.
func TestTokensPerJouleAreOfTheRateWithinTheSLO(t *testing.T) {
	w := warehousetest.Open(t)
	warehousetest.Put(t, w, `
insert into raw.runs
select run_id, place, '{"status": "done", "origin": "measured", "result": {"is_valid": true}, "slo": {"schema": "tidemark.slo/2", "objectives": [{"metric": "ttft", "percentile": 50, "at_most": ' || bound || '}]}, "series": {"id": "e", "row": 0, "repeat": ' || repeat || ', "value": "' || rate || '"}}'
from (values ('a', 1, 5, 0, 1.0), ('b', 2, 10, 0, 0.1), ('c', 3, 5, 1, 1.0)) as runs (run_id, place, rate, repeat, bound)`, `
insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, http_status, reads, chunk_offsets_us, chunk_tokens)
select run_id, i, false, 10, 6, i, i, i + 0.5, i + 1, i + 1, 200, 2, [500000, 1000000], [1, 5]
from (values ('a'), ('b'), ('c')) as runs (run_id), range(42) as sent (i)`, `
insert into raw.samples (run_id, at_s, origin, url, name, labels, value)
select run_id, at_s, 'server', 'http://h:9400/metrics', 'DCGM_FI_DEV_POWER_USAGE', 'gpu="0"', watts
from (values ('a', 100), ('b', 400)) as runs (run_id, watts), range(45) as seconds (at_s)`, `
insert into raw.capacities (search_id, source_id, header, runs, answer) values ('s', 9, '{"slo": {"objectives": []}}',
    '[{"number": 1, "id": "a", "scale": 1, "load_s": 60}, {"number": 2, "id": "b", "scale": 2, "load_s": 60}]',
    '{"outcome": "found", "table": [{"run_id": "a", "rate_per_s": 5, "verdict": "met"}, {"run_id": "b", "rate_per_s": 10, "verdict": "not met"}]}')`)
	slo := analysis.SLO{Objectives: []analysis.Objective{{Metric: "ttft", Percentile: 50, AtMost: 1}}}
	repeats := must.Get(OfExperiment(t.Context(), w.DB(), "e", slo, 0, 0))(t)
	if len(repeats) != 2 || repeats[0].Low != 5 || repeats[0].PerJ == nil || math.Abs(*repeats[0].PerJ-0.06) > 1e-9 || repeats[1].PerJ != nil {
		t.Errorf("of an experiment: %+v", repeats)
	}
	if row := rowOf("x", repeats...); row.PerJ != nil {
		t.Errorf("one repeat has no power, so that nothing is known of both: %v", *row.PerJ)
	}
	if row := rowOf("x", repeats[0]); row.PerJ == nil || math.Abs(*row.PerJ-0.06) > 1e-9 {
		t.Errorf("one repeat: %v", row.PerJ)
	}
	for rate, want := range map[float64]float64{7: 0.06, 20: 0.06, 4: 0} {
		got := must.Get(PerJouleOf(t.Context(), w.DB(), "s", rate))(t)
		if (got == nil) != (want == 0) || got != nil && math.Abs(*got-want) > 1e-9 {
			t.Errorf("of a search that found %v requests/s: %v, want %v", rate, got, want)
		}
	}
}
