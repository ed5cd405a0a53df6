//go:build duckdb_arrow

package reports_test

import (
	"context"
	"testing"

	"tidemark/internal/hint"
	"tidemark/internal/proof/golden"
	"tidemark/reports"
)

// Two loads of one workload on a known deployment, of which the second is beyond what the memory allows, and a file of another tool without
// hardware, whose name and model are not markup.
const resultsSetup = `
insert into raw.sources (source_id, name, kind, path, format, sha256, size_bytes, rows_read, rows_kept, rows_rejected, is_dated, reader_version, ingested_at)
values
    (11, 'serve-h100', 'results', 'a', 'x', 'x', 1, 2, 2, 0, false, 1, '2026-01-01'),
    (12, 'other<b>', 'results', 'b', 'x', 'y', 1, 1, 1, 0, false, 1, '2026-01-01');
insert into raw.points (source_id, point, tool, load, model, hardware, tensor_parallel_size, engine, max_concurrency, completed, input_tokens_asked, output_tokens_asked)
values
    (11, 0, 'vllm-bench-serve', 'closed', 'llama-3.1-8b', 'H100', 1, 'vllm', 4, 40, 1000, 100),
    (11, 1, 'vllm-bench-serve', 'closed', 'llama-3.1-8b', 'H100', 1, 'vllm', 8, 80, 1000, 100),
    (12, 0, 'aiperf', 'closed', 'toy<i>', null, null, null, 1, 10, 100, 10);
insert into raw.figures (source_id, point, name, statistic, unit, value)
values
    (11, 0, 'tpot', 'mean', 'ms', 8),
    (11, 0, 'output_throughput', 'value', 'tokens/s', 480),
    (11, 1, 'tpot', 'mean', 'ms', 0.1),
    (11, 1, 'output_throughput', 'value', 'tokens/s', 900),
    (12, 0, 'inter_token_latency', 'mean', 'ms', 5),
    (12, 0, 'output_token_throughput', 'mean', 'tokens/sec', 190)`

func TestReportOfResults(t *testing.T) {
	db := record(t)
	insert(t, db, resultsSetup)
	all := write(t, db, reports.Options{})
	known := write(t, db, reports.Options{Sources: []string{"serve-*"}})
	unknown := write(t, db, reports.Options{Sources: []string{"other<b>"}})
	for _, c := range []struct {
		what       string
		html       string
		says, nots []string
	}{
		{"a warehouse without runs is a report of its results", all,
			[]string{"<bdi>2 results of other tools</bdi>", "<h1>2 results of other tools</h1>", "Results of aiperf, vllm-bench-serve", "TPOT was measured by more than one definition", "They are of 2 kinds of tool, model, deployment and workload"}, []string{"The highest throughput", "At most", "toy<i>", "other<b>", "Sources and fingerprints"}},
		{"the answer comes first, then what cannot be", known,
			[]string{"The highest throughput is 900 output tokens per second, at 8 in flight. TPOT is",
				"1 measurement decoded faster than the memory allows", "llama-3.1-8b on 1 x H100"}, []string{"more than one definition", "--environment"}},
		{"throughput over concurrency, and TPOT beside prediction and floor", known,
			[]string{`<figure id="throughput-max_concurrency">`, `<figure id="tpot-max_concurrency-0">`, "requests in flight that were asked for", "predicted between"}, nil},
		{"without a deployment it says how to name one", unknown,
			[]string{"so there is no prediction", "tidemark ingest FILE --environment FILE"}, []string{"<figure"}},
	} {
		golden.Says(t, c.what, c.html, c.says, c.nots)
	}
	checkHeadings(t, all)
	err := reports.Write(context.Background(), db, reports.Options{Sources: []string{"nothing"}}, nil)
	if !hint.IsMisuse(err) {
		t.Errorf("an unknown result: got %v, want a misuse", err)
	}
}

// A study by its name, and the trials of a search of another tool: which of them nothing beats.
func TestReportOfAStudyAndOfTrials(t *testing.T) {
	db := record(t)
	insert(t, db, `insert into raw.studies (study, source_ids, document) values ('plan', [], '{"at_rate_per_s": 2, "headline": "No difference <b>shown</b>.", "configurations": [
    {"step": "baseline", "configuration": "baseline", "origin": "rehearsed", "rate_per_s": 2, "rate_low_per_s": 1.9, "rate_high_per_s": 2.1, "p99_ttft_s": 0.953, "p99_tpot_s": 0.049, "p99_itl_s": 0.232, "gpus": 1, "token_per_joule": 0.42},
    {"step": "one", "configuration": "both<i>", "origin": "rehearsed", "rate_per_s": 2.01, "is_difference_shown": false, "p99_ttft_s": 0.849, "p99_tpot_s": 0.044, "p99_itl_s": 0.181, "gpus": 1}]}')`)
	insert(t, db, `insert into raw.sources (source_id, name, kind, path, format, sha256, size_bytes, rows_read, rows_kept, rows_rejected, is_dated, reader_version, ingested_at)
values (13, 'search', 'results', 'a', 'optuna', 'x', 1, 3, 3, 0, false, 1, '2026-01-01')`)
	insert(t, db, `insert into raw.points (source_id, point, tool, label, settings)
select 13, point, 'optuna', 'trial ' || point, '{"state": "COMPLETE", "objective.values_0": "maximize", "objective.values_1": "minimize", "are_directions_known": true}' from range(3) as numbers (point)`)
	insert(t, db, `insert into raw.figures (source_id, point, name, statistic, value) values
    (13, 0, 'values_0', 'value', 10), (13, 0, 'values_1', 'value', 0.5), (13, 1, 'values_0', 'value', 12), (13, 1, 'values_1', 'value', 0.4), (13, 2, 'values_0', 'value', 99), (13, 2, 'values_1', 'value', 'nan'::double)`)
	study := write(t, db, reports.Options{Sources: []string{"plan"}})
	golden.Says(t, "a study", study, []string{"Study plan", "No difference &lt;b&gt;shown&lt;/b&gt;", "both&lt;i&gt;", "no difference shown", `<figure id="front-0">`, "1 of 2 configurations", "0.42", "token per joule", "was not sent to any server"}, []string{"Results of", "Trials of"})
	golden.Says(t, "trials", write(t, db, reports.Options{Sources: []string{"search"}}), []string{"Trials of search", "1 of 3 trials are beaten by no other", "1 trial without a number for every objective", `<figure id="trials-front-0">`}, []string{"Study"})
	checkHeadings(t, study)
}
