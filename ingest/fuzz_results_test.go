//go:build duckdb_arrow

package ingest

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark/internal/proof/must"
)

// resultSeeds are the fixtures of the names, and a few that are broken.
func resultSeeds(f *testing.F, broken []string, names ...string) {
	for _, name := range names {
		content := must.Get(os.ReadFile(filepath.Join("..", "fixtures", "results", name)))(f)
		f.Add(content)
	}
	for _, content := range broken {
		f.Add([]byte(content))
	}
}

func FuzzVLLMBench(f *testing.F) {
	const head = `{"date":"20240601-101500","model_id":"m","tokenizer_id":"m","num_prompts":1,"request_rate":"inf","duration":1,"completed":1`
	resultSeeds(f, []string{
		head + `,"ttfts":[1e999],"itls":[[NaN]]}`, head + `,"ttfts":7,"itls":[[1],2],"errors":[null]}`, head + `,"input_lens":[-1,2.5,9e18],"itls":[[-1,1e9]]}`,
		head + `}` + "\n" + head + `} x`, "[" + head + "}, 3, null, []]", head + `,"steady_state":[],"per_turn_metrics":{}}`,
		`{"elapsed_time":1,"num_requests":-1,"total_num_tokens":2,"requests_per_second":3,"tokens_per_second":4}`,
		`{"avg_latency":1,"latencies":{},"percentiles":[]}`,
		"date,model_id,tokenizer_id,num_prompts,request_rate,duration,completed\n\"a\"b,,,,,,\n20260301-090000,m,m,1,inf,1,1\n",
	}, "vllm-2024.json", "vllm-2026.json", "vllm-append.json", "vllm-sweep.json", "vllm-sweep.csv", "vllm-rust.json", "vllm-throughput.json", "vllm-latency.json")
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, name := range []string{"vllm-bench-serve", "vllm-bench-sweep", "vllm-bench-throughput", "vllm-bench-latency"} {
			readAll(t, named(name), content)
		}
	})
}

func FuzzOtherResults(f *testing.F) {
	resultSeeds(f, []string{
		`{"backend":"s","dataset_name":"d","request_rate":Infinit,"max_concurrency":1,"sharegpt_output_len":1,"random_input_len":1,"random_output_len":1}`,
		`{"metadata":{"request_start_ns":9223372036854775807},"metrics":{"inter_chunk_latency":{"value":[[1]],"unit":"ms"}}}`,
		`{"metadata":{"request_start_ns":1},"metrics":[]}` + "\n" + `{"metadata":{"request_start_ns":-1},"metrics":null}`,
		`{"aiperf_version":1,"metadata":null,"metrics":{"a":{"unit":"ms"},"b":7}}`,
		`{"aggregation_type":"sweep","num_profile_runs":1,"per_combination_metrics":[{"parameters":{"x.concurrency":4},"metrics":{"a":{"mean":1,"ci_low":1,"unit":"ms"}}}]}`,
		`[{"hardware":"h","framework":"f","precision":"p","conc":-1,"date":"2026-13-40","metrics":{"median_ttft":1e999,"p99_":1}}]`,
		`{"hw":1,"conc":2,"framework":[],"request_metrics":{"latency":{"ttft":{"p50":"x"}}},"request_accounting":{"records_total":1,"records_profiled":5}}`,
		"Hardware,Num of Hardware,Framework,Model,Input Output Length,Batch Size,Latency,Throughput\na,inf,b,c,1,2,NaN,-1\n",
		"Metric,avg,min,max,p99,std\nA (ms),x,1\n\"\n",
	}, "agg_toy.json", "inferencex-api.json", "inferencex-dump/benchmark_results.json", "toy_vllm_tep8_isl1024_osl128_conc4.json", "sglang.jsonl", "argonne.csv", "aiperf/profile_export.jsonl",
		"aiperf/profile_export_aiperf.json", "aiperf/profile_export_aiperf.csv", "aiperf/profile_export_aiperf_aggregate.json")
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, name := range []string{"inferencex", "sglang-bench", "argonne", "aiperf", "aiperf-requests", "aiperf-csv"} {
			readAll(t, named(name), content)
		}
	})
}

func FuzzCapacity(f *testing.F) {
	content := must.Get(os.ReadFile(filepath.Join("..", "fixtures", "searches", "azure-conv-5f3a9c21.capacity.jsonl")))(f)
	f.Add(content)
	f.Add(content[:len(content)*2/3])
	f.Add([]byte(`{"schema":"tidemark.capacity/1","search_id":"a","source":"s","window":{},"started_at":"2026-01-01T00:00:00Z","slo":{"objectives":[{}]}}` + "\n" +
		`{"kind":"run","run":{"number":1,"scale":1e99,"load_s":-1}}` + "\n" + `{"kind":"answer","answer":{"outcome":"found","table":null}}`))
	f.Fuzz(func(t *testing.T, content []byte) { readAll(t, named("capacity"), content) })
}
