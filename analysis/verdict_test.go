//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"fmt"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/proof/must"
)

// run is a run of n requests, one a second, each 50 ms to its first token and then
// 10 tokens in 100 ms, sent late by so much.
func run(id string, n int, lateS float64, document string) string {
	return fmt.Sprintf(`
insert into raw.runs values ('%[1]s', 1, '%[4]s');
insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, output_tokens_reported)
select '%[1]s', seq, false, 100, 11, seq, seq + %[3]g, seq + %[3]g + 0.05, seq + %[3]g + 0.15, seq + %[3]g + 0.15, 11
from range(%[2]d) as numbers (seq)`, id, n, lateS, document)
}

const simulated = `{"status": "done", "settings": {"max_lateness_s": 0.01}, "result": {"is_valid": true},
  "environment": {"gpu": "H100", "catalog_model": "llama-3.1-8b", "tensor_parallel_size": 1, "quantization": "bf16"},
  "server": {"version": "0.24.0", "is_simulated": true, "simulates": {"gpu": "H100", "tensor_parallel_size": 1, "catalog_model": "llama-3.1-8b", "quantization": "bf16"}}}`

const draft = `{"status": "done", "settings": {"max_lateness_s": 0.01}, "result": {"is_valid": true}, "server": {"version": "0.32.0"}}`

func TestFirstLine(t *testing.T) {
	w := open(t,
		run("many", 600, 1e-3, simulated),
		run("few", 120, 1e-3, simulated),
		run("tiny", 20, 1e-3, draft),
		run("late", 600, 0.05, draft),
		run("lost", 600, 1e-3, draft),
		"update raw.requests set failure = 'cut_stream' where run_id = 'lost' and seq < 3",
		`insert into raw.runs values ('empty', 1, '{"status": "running"}')`,
		run("killed", 401, 1e-3, `{"status": "running"}`),
		run("cut", 401, 1e-3, `{"status": "done", "result": {"is_valid": true, "sent": 401, "completed": 401}}`),
		"update raw.requests set sent_s = null, first_token_s = null, last_token_s = null, done_s = null where run_id in ('killed', 'cut') and seq >= 235",
		run("failing", 600, 0.05, `{"status": "done", "result": {"is_valid": false, "invalid_reason": "lag"}, "gone": [{"base_url": "http://two", "at_s": 12.5}]}`),
		"update raw.requests set failure = case when seq < 4 then 'refused' else 'cut_stream' end, failure_detail = 'connection closed', output_tokens_reported = null where run_id = 'failing' and seq < 20",
		run("gone", 401, 1e-3, `{"status": "aborted", "stopped_by": "server", "stop_reason": "the server at x:1 has gone: refused", "result": {"is_valid": true, "sent": 235, "completed": 235}}`),
		"update raw.requests set sent_s = null, first_token_s = null, last_token_s = null, done_s = null where run_id = 'gone' and seq >= 235",
		"update raw.requests set failure = 'refused', failure_detail = 'connection refused', done_s = due_s where run_id = 'gone' and seq between 235 and 237",
		run("nowhere", 600, 1e-3, `{"status": "done", "result": {"is_valid": true}, "environment": {"gpu": "X1", "catalog_model": "llama-3.1-70b"}}`),
		run("on_a_cpu", 600, 1e-3, `{"status": "done", "result": {"is_valid": true}, "environment": {"gpu": "H100", "catalog_model": "llama-3.1-8b"}, "effective": {"unmodelled": "a CPU (the law does not hold there)"}}`),
		run("fast", 600, 1e-3, `{"status": "done", "result": {"is_valid": true}, "environment": {"gpu": "H100", "catalog_model": "llama-3.1-70b"}}`),
		run("restarted", 20, 1e-3, draft),
		"insert into raw.samples (run_id, at_s, origin, name, labels, value, url) select 'restarted', at_s, 'server', 'process_start_time_seconds', '', case when at_s < 9 then 1e9 else 2e9 end, 'u' from range(20) as looks (at_s)",
		run("several", 20, 1e-3, draft),
		"insert into raw.samples (run_id, at_s, origin, name, labels, value, url) select 'several', at_s, 'server', 'process_start_time_seconds', '', case when at_s % 2 = 0 then 1e9 else 2e9 end, 'u' from range(20) as looks (at_s)",
		run("whole", 20, 1e-3, draft),
		"update raw.requests set last_token_s = first_token_s, reads = 1, chunk_offsets_us = [50000 for k in range(11)] where run_id = 'whole'",
	)
	for _, test := range []struct{ run, want string }{
		{"many", "valid; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; time per token 1.52 times the prediction (median); " + analysis.OfSimulator + "; simulated H100 x1 llama-3.1-8b bf16"},
		{"few", "valid; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms (of 120 samples only); time per token 1.52 times the prediction (median); " + analysis.OfSimulator + "; simulated H100 x1 llama-3.1-8b bf16"},
		{"tiny", "valid; p50 TTFT 50.0 ms, p50 TPOT 10.0 ms (p99 withheld below 100 samples: 20); a draft, not compared with the prediction; vllm 0.32.0"},
		{"restarted", "valid; p50 TTFT 50.0 ms, p50 TPOT 10.0 ms (p99 withheld below 100 samples: 20); a draft, not compared with the prediction; the server was restarted during the run; vllm 0.32.0"},
		{"several", "valid; p50 TTFT 50.0 ms, p50 TPOT 10.0 ms (p99 withheld below 100 samples: 20); a draft, not compared with the prediction; more than one server answers at the address of the metrics: what they count is left out; vllm 0.32.0"},
		{"whole", "valid, but 20 of 20 answers came whole, as through a proxy that buffers: TPOT and ITL are not known; p50 TTFT 50.0 ms, p50 TPOT unknown (p99 withheld below 100 samples: 20); a draft, not compared with the prediction; vllm 0.32.0"},
		{"late", "invalid, neither pass nor fail: p99 lateness 50.0 ms is above 10.0 ms; who had the CPU is not known: give the client a core of its own; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; a draft, not compared with the prediction; vllm 0.32.0"},
		{"lost", "valid; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; a draft, not compared with the prediction; 597 of 600 requests completed, 3 failed by cut_stream; vllm 0.32.0"},
		{"empty", "invalid, neither pass nor fail: the run never ended (killed?): run.json holds no result; look at the run's folder, or run it again; no latency measured; a draft, not compared with the prediction; unknown server"},
		{"killed", "invalid, neither pass nor fail: the run never ended (killed?): 166 requests have no row; look at the run's folder, or run it again; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms (of 235 samples only); a draft, not compared with the prediction; 235 of 401 requests completed; unknown server"},
		{"cut", "invalid, neither pass nor fail: measurements are missing: run.json says 401 sent and 401 completed, the rows say 235 and 235; look at requests.jsonl.zst, it may be cut or of another run; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms (of 235 samples only); a draft, not compared with the prediction; 235 of 401 requests completed; unknown server"},
		{"failing", "20 of 600 failed (16 cut_stream, 4 refused): http://two was gone from 12.5 s on; the others: p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; a draft, not compared with the prediction; cut_stream: connection closed; unknown server"},
		{"gone", "166 of 401 failed (163 not sent, 3 refused): the server at x:1 has gone: refused; the others: p99 TTFT 50.0 ms, p99 TPOT 10.0 ms (of 235 samples only); a draft, not compared with the prediction; refused: connection refused; unknown server"},
		{"nowhere", "valid; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; no prediction for this deployment: no GPU named \"X1\"; unknown server on X1 x1"},
		{"on_a_cpu", "valid; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; no prediction for this deployment: its server runs with a CPU (the law does not hold there), which is not modelled; unknown server on H100 x1"},
		{"fast", "600 of 600 requests were faster than H100 memory allows: this is not the deployment you named; check GPU, model, format, tensor parallel size; invalid, neither pass nor fail; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; unknown server on H100 x1"},
	} {
		verdict := must.Get(analysis.Judge(context.Background(), w.DB(), test.run))(t)
		if got := verdict.FirstLine(); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.run, got, test.want)
		}
	}
	must.Refuse(analysis.Judge(context.Background(), w.DB(), "none"))(t, `no run named "none"`, "known runs are")
}

func TestRunChecks(t *testing.T) {
	w := open(t, run("a", 3, 1e-3, `{"plan": {"requests": 3}}`),
		"update raw.requests set last_token_s = first_token_s - 1 where seq = 1")
	checks := must.Get(analysis.RunChecks(context.Background(), w.DB()))(t)
	broken := map[string]int64{}
	for _, check := range checks {
		if check.Comment == "" {
			t.Errorf("check %s does not say its truth", check.Name)
		}
		if check.Rows > 0 {
			broken[check.Name] = check.Rows
			if len(check.First.Rows) != int(check.Rows) {
				t.Errorf("check %s: %d rows break it, %d are shown", check.Name, check.Rows, len(check.First.Rows))
			}
		}
	}
	if broken["instants_in_order"] != 1 || broken["planned_requests"] != 0 {
		t.Errorf("broken: got %v, want instants_in_order by one row and planned_requests by none", broken)
	}
}

func TestSource(t *testing.T) {
	w := open(t, traces)
	ctx := context.Background()
	source, err := analysis.Source(ctx, w.DB(), "day")
	if err != nil || len(source.Rows) != 1 || source.Columns[0] != "source_name" {
		t.Errorf("Source(day): got %v, %v", source, err)
	}
	must.Refuse(analysis.Source(ctx, w.DB(), "night"))(t, `no source named "night"`, "day, days, relative")
}
