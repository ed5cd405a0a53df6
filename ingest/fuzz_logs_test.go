//go:build duckdb_arrow

package ingest

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark/ingest/read"
	"tidemark/ingest/traces"
	"tidemark/internal/proof/must"
)

func init() { reasons = append(reasons, traces.NotBlockIDs, traces.NotATruth) }

// addLogs gives a fuzz target the fixtures that begin with a name.
func addLogs(f *testing.F, begin string) {
	f.Helper()
	paths, err := filepath.Glob("../fixtures/logs/" + begin)
	if err != nil || len(paths) == 0 {
		f.Fatalf("no fixtures: %v", err)
	}
	for _, path := range paths {
		content := must.Get(os.ReadFile(path))(f)
		f.Add(content)
	}
}

func FuzzPlain(f *testing.F) {
	for _, begin := range []string{"plain.csv", "openai.jsonl", "nanoseconds.json"} {
		addLogs(f, begin)
	}
	for _, seed := range []string{
		"timestamp,input_tokens,output_tokens\n1e300,1,2\n1e-300,1e3,2.0\nNaN,1,2\n-1,1,2\n,,\n",
		"ts\tprompt_tokens\tcompletion_tokens\n2024-01-01 00:00:00,5\t1\t2\n2024-02-30 00:00:00\t1\t2\n",
		"time|isl|osl|hash_ids|block_tokens\n1|9|2|[1,\"ff\"]|8\n1|9|2|[1]|8\n1|9|2|\"x\n",
		`{"ts":1,"usage":{"input_tokens":1,"output_tokens":2},"error":{"a":{"b":{"c":{"d":{"e":{"f":{}}}}}}}}` + "\n",
		`[{"ts":"\u0031","input_tokens":1,"output_tokens":2},[],{"ts":`,
	} {
		f.Add([]byte(seed))
	}
	plain := named("plain")
	f.Fuzz(func(t *testing.T, content []byte) { readAll(t, plain, content) })
}

func FuzzOTel(f *testing.F) {
	for _, begin := range []string{"otlp.jsonl", "agents.json"} {
		addLogs(f, begin)
	}
	for _, seed := range []string{
		`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"a","spanId":"a","parentSpanId":"a","startTimeUnixNano":"99999999999999999999","attributes":[{"key":"gen_ai.usage.input_tokens","value":{"intValue":"9e99"}},{"key":"gen_ai.usage.output_tokens","value":{}}]}]}]}]}`,
		`{"trace_id":"","spans":[{"name":"chat ","start_time":"","attributes":{"gen_ai.usage.input_tokens":1,"gen_ai.usage.output_tokens":"NaN"}},{}]}`,
		`{"data":[{"spans":[{"traceID":"a","startTime":9223372036854775,"duration":9223372036854775,"tags":[{"key":"gen_ai.usage.input_tokens","value":1},{"key":"gen_ai.usage.output_tokens","value":1}]}]}]}`,
		`{"resourceSpans":{}}{"resourceSpans":[[]]}`,
	} {
		f.Add([]byte(seed))
	}
	otel := named("otel")
	f.Fuzz(func(t *testing.T, content []byte) { readAll(t, otel, content) })
}

func FuzzVLLMLog(f *testing.F) {
	addLogs(f, "vllm-*.log")
	f.Add([]byte("INFO 01-01 00:00:00 x] Avg prompt throughput: 1.2 tokens/s\nAvg prompt throughput: 1.2 tokens/s, INFO 01-01 00:00:01 x] Running: 3 reqs\n"))
	f.Add([]byte("INFO 99-99 99:99:99 x] Avg prompt throughput: 1.2.3 tokens/s, Running: 999999999999999999999999 reqs\n"))
	f.Add([]byte("INFO 01-01 00:00:00 x] Received request \nINFO 12-01 00:00:00 x] Received request \nINFO 01-01 00:00:00 x] Received request \n"))
	f.Add([]byte("2026-01-01T00:00:00.5Z stderr F INFO 01-01 00:00:00 x] Iteration(9223372036854775807): 1 context requests, 2 context tokens, 3 generation requests, 4 generation tokens, iteration elapsed time: NaN ms\n9999-12-31T23:59:59Z INFO 01-01 00:00:00 x] Engine 99999999999: Iteration(5): 1 context requests, 2 context tokens, 3 generation requests, 4 generation tokens, iteration elapsed time: 1 ms (dummy)\n"))
	f.Add([]byte("INFO 01-01 00:00:00 x] Iteration(1): 0 coINFO 01-01 00:00:00 x] Iteration(2): Iteration(3): 1 context requests, 2 context tokens, 3 generation requests, 4 generation tokens, iteration elapsed time: 1e9 ms, GPU KV cache usage: 101%\n"))
	stats, requests := named("vllm-log"), named("vllm-requests")
	f.Fuzz(func(t *testing.T, content []byte) {
		readAll(t, stats, content)
		readAll(t, requests, content)
	})
}

func FuzzGatewayLogs(f *testing.F) {
	for _, begin := range []string{"litellm*", "envoy.*", "freeinference.*"} {
		addLogs(f, begin)
	}
	formats := []read.Format{named("litellm"), named("envoy"), named("freeinference")}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, of := range formats {
			readAll(t, of, content)
		}
	})
}

// Every input is read by a process of its own, so this one is slow.
func FuzzParquet(f *testing.F) {
	f.Add([]byte("PAR1"))
	f.Add([]byte("PAR1\x15\x04\x15\x10PAR1"))
	f.Add(append(append([]byte("PAR1"), make([]byte, 64)...), []byte("\x40\x00\x00\x00PAR1")...))
	parquet := named("parquet")
	f.Fuzz(func(t *testing.T, content []byte) { readAll(t, parquet, content) })
}
