//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// What cannot be is left out and said, by its key and never by its value.
func TestResultsOfNonsense(t *testing.T) {
	const good = `{"date":"20260301-090000","model_id":"m","tokenizer_id":"m","num_prompts":2,"request_rate":1,"duration":2,"completed":2`
	const llmd = `{"version": "0.1", "scenario": {"load": {"name": "guidellm"}}, "metrics": {"time": {"duration": -5},
		"latency": {"time_per_output_token": {"units": "ms/token", "mean": 8}, "inter_token_latency": {"units": "ms/token", "mean": 9},
		"time_to_first_token": {"units": "fortnights", "mean": 8, "max": 1e999}}}}`
	cases := []struct {
		why, content, note, query, want string
	}{
		{"a negative duration", strings.Replace(good, `"duration":2`, `"duration":-2,"request_throughput":1`, 1) + "}", "1 times, as negative: duration",
			"select duration_s is null from raw.points", "true"},
		{"a duration of nothing", strings.Replace(good, `"duration":2`, `"duration":0,"request_throughput":1`, 1) + "}", "1 times, as zero: duration",
			"select count(*) from marts.recomputed_figures", "0"},
		{"fewer than none completed", strings.Replace(good, `"completed":2`, `"completed":-2`, 1) + "}", "as negative: completed",
			"select completed is null from raw.points", "true"},
		{"negative times and lengths", good + `,"ttfts":[-1,0.5],"input_lens":[-3,4]}`, "1 times, as negative: input_lens",
			"select input_tokens, ttft_s from raw.result_requests order by seq", " |4 0.5"},
		{"arrays of two lengths", good + `,"ttfts":[1,0.5],"input_lens":[3,4,5],"request_throughput":1}`, "its arrays are of different lengths, so no request was taken",
			"select (select count(*) from raw.result_requests), (select count(*) from raw.figures)", "0 1"},
		{"a total past all totals", good + `,"total_input_tokens":` + "1" + strings.Repeat("0", 30) + "}", "1 times, as past all bounds: total_input_tokens",
			"select count(*) from raw.figures", "0"},
		{"a number past all numbers", good + `,"mean_ttft_ms":1e999,"p99_ttft_ms":NaN,"median_ttft_ms":Infinity}`, "1 times, as no finite number: mean_ttft_ms",
			"select count(*) from raw.figures", "0"},
		{"a negative latency", good + `,"mean_ttft_ms":-7}`, "1 times, as negative: ttft", "select count(*) from raw.figures", "0"},
		{"a day that no month has", strings.Replace(good, "20260301", "20260230", 1) + "}", "1 times, as no possible date: date",
			"select started_at is null from raw.points", "true"},
		{"a unit that nobody has", llmd, "unknown unit, so no value in seconds or tokens: guidellm.time_to_first_token",
			"select value is null from staging.figures where unit = 'fortnights'", "true"},
		{"no number in a tree", llmd, "1 times, as no finite number: metrics.latency.time_to_first_token", "select duration_s is null from raw.points", "true"},
		{"a unit that nobody has, of a request", `{"metadata":{"request_start_ns":1700000000000000000,"benchmark_phase":"profiling"},"metrics":{"request_latency":{"value":3,"unit":"fortnights"}}}`,
			"1 times, as no number in a known unit: request_latency", "select e2e_s is null from raw.result_requests", "true"},
		{"minutes for milliseconds", `{"input_config":{},"request_latency":{"unit":"min","avg":3,"p50":2,"std":1}}`,
			"unknown unit, so no value in seconds or tokens: request_latency", "select count(value) from staging.figures", "0"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			result := load(t, w, write(t, "r.json", []byte(c.content)), ingest.Options{MaxRejectedRatio: 0.9})
			must.Say(t, strings.Join(result.Notes, "\n"), c.note)
			answers(t, w, c.query, c.want)
			answers(t, w, "select count(*) from checks.recomputed_figures_agree", "0")
		})
	}
}

// What another harness calls TPOT has the time to the first token in it.
func TestHarnessesOfLLMD(t *testing.T) {
	for harness, want := range map[string]string{
		"guidellm":       "guidellm.inter_token_latency tpot_s 0.009|guidellm.time_per_output_token latency_per_token_s 0.008",
		"inference-perf": "inter_token_latency itl_s 0.009|time_per_output_token tpot_s 0.008",
		"something":      "something.inter_token_latency  |something.time_per_output_token  ",
	} {
		w := open(t)
		load(t, w, write(t, "r.json", fmt.Appendf(nil, `{"version": "0.1", "scenario": {"load": {"name": %q}}, "metrics": {
			"latency": {"time_per_output_token": {"units": "ms/token", "mean": 8}, "inter_token_latency": {"units": "ms/token", "mean": 9}}}}`, harness)), ingest.Options{})
		answers(t, w, "select name, quantity, round(value, 6) as value from staging.figures order by name", want)
	}
}

// The sum of gaps is taken before they are cut to microseconds: three of 1.4
// microseconds are 4.2, and TPOT over four tokens 1.4.
func TestTPOTFromWholeGaps(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "r.json", []byte(`{"date":"20260301-090000","model_id":"m","tokenizer_id":"m","num_prompts":1,"request_rate":1,"duration":2,"completed":1,
		"input_lens":[3],"output_lens":[4],"ttfts":[0.5],"itls":[[0.0000014,0.0000014,0.0000014]],"mean_tpot_ms":0.0014}`)), ingest.Options{})
	answers(t, w, "select round(tpot_s * 1e9), is_e2e_summed from staging.result_requests", "1400.0 true")
}

// GuideLLM's own statistics agree with its own requests.
func TestHonestFilesPassTheCheck(t *testing.T) {
	for _, path := range []string{"guidellm/v2.json", "auto-tune/bm_log_128_2048_requestrate_10.txt", "evalscope/benchmark_summary.json"} {
		w := open(t)
		load(t, w, "../fixtures/tools/"+path, ingest.Options{MaxRejectedRatio: 1})
		if got := table(t, w, "from checks.recomputed_figures_agree"); len(got) != 0 {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// llama.cpp's rows are of one sequence: a mean of both kinds warns, and both agree.
func TestArgonneOfOneSequence(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "a.csv", []byte("Hardware,Num of Hardware,Framework,Model,Input Output Length,Batch Size,Latency,Throughput\n"+
		"A,1,llama.cpp,m,128,16,2,128\nA,1,vLLM,m,128,16,2,2048\nA,1,llama.cpp,m,128,1,2,128\n")), ingest.Options{})
	want := "0 offline_over_run_of_one_sequence 128.0|1 offline_over_run 2048.0|2 offline_over_run 128.0"
	answers(t, w, "select point, definition_id, value from staging.figures where quantity = 'total_tokens_per_s' order by point", want)
	answers(t, w, "select count(*) from marts.recomputed_figures where not is_equal", "0")
}

// An array that grows without end is refused before it fills the memory.
func TestBombOfNumbers(t *testing.T) {
	head := `{"date":"20260301-090000","model_id":"m","tokenizer_id":"m","num_prompts":1,"request_rate":1,"duration":2,"completed":1,"itls":[[`
	path := write(t, "r.json", []byte(head+strings.Repeat("0,", 13<<20)+"0]]}"))
	var before, after runtime.MemStats
	w := open(t)
	runtime.ReadMemStats(&before)
	refused(t, w, path, ingest.Options{}, "hold more than 48 MB of numbers")
	runtime.ReadMemStats(&after)
	if grown := (after.Sys - before.Sys) >> 20; grown > 250 {
		t.Errorf("%d MB more from the system", grown)
	}
}

// So is a report of more requests than anybody sends.
func TestBombOfRequests(t *testing.T) {
	path := write(t, "r.json", []byte(`{"metadata":{"guidellm_version":"0.8"},"benchmarks":[{"metrics":{},"requests":{"successful":[`+strings.Repeat("{},", 2<<20)+`{}]}}]}`))
	refused(t, open(t), path, ingest.Options{}, "more than 2097152 requests")
}
