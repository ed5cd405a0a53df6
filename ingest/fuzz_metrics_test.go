//go:build duckdb_arrow

package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest/read"
	"tidemark/internal/proof/must"
)

func init() { reasons = append(reasons, read.NotASample, read.OtherUnit, read.NotAPattern) }

// seedsOf adds the fixtures of a format and what is odd.
func seedsOf(f *testing.F, fixtures []string, odd ...string) {
	f.Helper()
	for _, name := range fixtures {
		content := must.Get(os.ReadFile(filepath.Join("..", "fixtures", "metrics", name)))(f)
		f.Add(content)
	}
	for _, content := range odd {
		f.Add([]byte(content))
	}
}

func fuzzReader(f *testing.F, name string) {
	format := named(name)
	f.Fuzz(func(t *testing.T, content []byte) { readAll(t, format, content) })
}

func FuzzPrometheus(f *testing.F) {
	seedsOf(f, []string{"exposition.prom", "scrapes.prom", "openmetrics.txt", "dcgm.prom"},
		"# TYPE a gauge\na{b=\"\\\"}\"} 1 1e30 # {} 1\n# EOF\n{\"a.b\",c=\"d\"} 0x1p-2\n", "# TYPE a gauge\na{=\"\"} 1\na{,} 1\na{\"x\"=\"y\"} NaN -1\n")
	fuzzReader(f, "prometheus")
}

func FuzzPrometheusDump(f *testing.F) {
	seedsOf(f, []string{"dump.txt"}, "{__name__=\"a\", le=\"1e+06\"} 1e999 99999999999999999999\n{__name__=\"\"} 1 1\n")
	fuzzReader(f, "prometheus-dump")
}

func FuzzPrometheusJSON(f *testing.F) {
	seedsOf(f, []string{"wrapped.jsonl", "wrapped-array.json"}, `{"timestamp":"1e3","content":"# TYPE a gauge\na 1"}`, `[{"captured_at":"x","content":"# TYPE "}`)
	fuzzReader(f, "prometheus-json")
}

func FuzzPrometheusAPI(f *testing.F) {
	seedsOf(f, []string{"range.json", "instant.json"},
		`{"status":"success","data":{"result":[{"metric":{"__name__":"a\ud83d\ude00"},"values":[[1e999,"1"],["1",2],[],[1]]}]}}[{`,
		`{"status":"success","data":{"result":[{"metric":{},"value":[1,"`+strings.Repeat("9", 100)+`"]}]}}`)
	fuzzReader(f, "prometheus-api")
}

func FuzzPrometheusCollected(f *testing.F) {
	seedsOf(f, []string{"chat.prometheus.jsonl"},
		`{"schema":"tidemark.collect/1","collect_id":"a","service":"b","started_at":"2026-11-16T09:31:00Z"}`+"\n"+`{"asked":{"group":[{}]},"status":"success","data":{"result":[{"metric":{"__name__":"a"},"values":[[1,"2"],[`,
		`{"schema":"tidemark.collect/2","collect_id":""}`)
	fuzzReader(f, "prometheus-collected")
}

func FuzzGrafana(f *testing.F) {
	seedsOf(f, []string{"grafana.csv", "grafana-rows.csv"}, "Time,{a=\"b\"},x{\n1700000000000,1 Bil,-\n2026-03-01T10:00:00Z,1,2,3\n")
	fuzzReader(f, "grafana")
}

func FuzzNvidiaSMI(f *testing.F) {
	seedsOf(f, []string{"dmon.csv", "dmon-screen.txt", "smi-query.csv"}, "gpu,pwr\n", "#gpu, pwr\n#gpu, pwr\n0,1\n", "Time,gpu,sm\nHH:MM:SS,Idx,%\n23:00:00,0,1\n00:00:01,0,1\n",
		"ts,gpu_idx,util_pct\n2026/05/22 01:46:25.026,0,P9\n")
	fuzzReader(f, "nvidia-smi")
}

func FuzzEngineCSV(f *testing.F) {
	seedsOf(f, []string{"engine.csv"}, "time,num_requests_running\n1e9,NaN\n,1\n-1,1\n0x10,1\n")
	fuzzReader(f, "engine-csv")
}

func FuzzAIPerfServerMetrics(f *testing.F) {
	seedsOf(f, []string{"server_metrics_export.jsonl"}, `{"endpoint_url":"","timestamp_ns":-1,"metrics":{}}`, `{"endpoint_url":"","timestamp_ns":1,"metrics":{"a":[{"summary":{"x":1}}],"b c":[]}}`)
	fuzzReader(f, "aiperf-server-metrics")
}

func FuzzAIPerfGPUTelemetry(f *testing.F) {
	seedsOf(f, []string{"gpu_telemetry_export.jsonl"}, `{"timestamp_ns":1,"telemetry_data":{"a":"1","b":[],"c":1e999}}`)
	fuzzReader(f, "aiperf-gpu-telemetry")
}

func FuzzInferencePerfMetrics(f *testing.F) {
	seedsOf(f, []string{"stage_0_prometheus_metrics.json"}, `{"load_summary":{},"successes":{"queue_len":{"p99.9":1e999},"num_preemptions_total":[]}}`)
	fuzzReader(f, "inference-perf-prometheus")
}

func FuzzNsys(f *testing.F) {
	seedsOf(f, []string{"cuda_gpu_kern_sum.csv", "gpukernsum.csv"}, "Total Time (ns),Instances,Name\n1,1e300,a\nNaN,1,a\n1,1\n1,1,a,b\"c\n")
	fuzzReader(f, "nsys")
}

func FuzzKernelTimes(f *testing.F) {
	const header = "framework,version,device,op_name,kernel_source,latency,"
	seedsOf(f, nil,
		header+"gemm_dtype,m,n,k\nVLLM,0.1,H100,gemm,k,0.1,fp8,1,2,3\nVLLM,0.1,H100,gemm,k,NaN,fp8,1,2,1e9\n",
		header+"batch_size,isl,step,num_heads,num_key_value_heads,head_dim,kv_cache_dtype,window_size\nS,1,H,generation_attention,k,1,1,1,9,8,0,64,fp8,\n",
		header+"allreduce_dtype,num_gpus,message_size,backend\nS,1,H,all_reduce,k,1,half,2,99999999999999999,x_graph\n")
	fuzzReader(f, "kernel-times")
}

func FuzzKernelRules(f *testing.F) {
	seedsOf(f, []string{"kernel_rules.csv"}, "pattern,category\n(,x\nx,\"a\"\n,\n")
	fuzzReader(f, "kernel-rules")
}

func FuzzFPM(f *testing.F) {
	seedsOf(f, []string{"fpm.jsonl", "fpm-bare.jsonl"},
		`{"event":{"event":{"schema":"dynamo.fpm.trace.v1"}}}`+"\n", `{"wall_time":1e999,"scheduled_requests":{}}`+"\n",
		`{"schema":"dynamo.fpm.trace.v1","fpm":{"version":2,"counter_id":9223372036854775807,"wall_time":1e5,"scheduled_requests":{"num_decode_requests":-1}},"observed_at_unix_ms":1e300}`+"\n")
	fuzzReader(f, "fpm")
}
