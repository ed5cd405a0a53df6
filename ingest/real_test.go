//go:build duckdb_arrow

package ingest_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tidemark/ingest"
)

// shared finds the data that is not part of the repository.
func shared(t testing.TB, path string) string {
	t.Helper()
	full := filepath.Join(sharedRoot(), path)
	if _, err := os.Stat(full); err != nil {
		t.Skipf("LEFT OUT: %s is not here ($TIDEMARK_SHARED is where it is looked for); the fixtures alone were compared", path)
	}
	return full
}

func sharedRoot() string {
	return cmp.Or(os.Getenv("TIDEMARK_SHARED"), filepath.Join("..", "..", "shared"))
}

// tellLeftOut says once, aloud, that the real traces are not here: the words of a
// skipped test are not shown where all others pass.
func tellLeftOut() {
	if _, err := os.Stat(filepath.Join(sharedRoot(), "traces")); err != nil {
		fmt.Fprintf(os.Stderr, "LEFT OUT: the real traces: no %s; $TIDEMARK_SHARED names another folder\n", filepath.Join(sharedRoot(), "traces"))
	}
}

// The real traces come in whole: every row, every block id.
func TestRealTraces(t *testing.T) {
	cases := []struct {
		path, name, format    string
		rows, input, output   int64
		maxBlock, distinct    int64
		firstNanos, lastNanos int64
	}{
		// Sums, ids and spans by Python's csv and json, apart from this code.
		{"traces/azure-2023/AzureLLMInferenceTrace_code.csv", "azure-code", "azure", 8819, 18059974, 245896, -1, 0, 0, 3435948056000},
		{"traces/azure-2023/AzureLLMInferenceTrace_conv.csv", "azure-conv", "azure", 19366, 22361870, 4088665, -1, 0, 0, 3501721937000},
		{"traces/mooncake/conversation_trace.jsonl", "conversation-trace", "mooncake", 12031, 144793823, 4122048, 182789, 182790, 0, 3536999000000},
		{"traces/mooncake/synthetic_trace.jsonl", "synthetic-trace", "mooncake", 3993, 61194628, 595432, 43923, 43924, 0, 1022025000000},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := shared(t, c.path)
			w := open(t)
			result := load(t, w, path, ingest.Options{})
			if result.Name != c.name || result.Format != c.format || result.RowsRead != c.rows || result.RowsKept != c.rows || result.RowsRejected != 0 {
				t.Errorf("got %+v", result)
			}
			sums := map[string]int64{
				"select count(*) from raw.arrivals":                                              c.rows,
				"select sum(input_tokens)::bigint from raw.arrivals":                             c.input,
				"select sum(output_tokens)::bigint from raw.arrivals":                            c.output,
				"select min(arrival_ns) from raw.arrivals":                                       c.firstNanos,
				"select max(arrival_ns) from raw.arrivals":                                       c.lastNanos,
				"select coalesce(max(list_max(blocks))::bigint, -1) from raw.arrivals":           c.maxBlock,
				"select count(distinct id) from (select unnest(blocks) as id from raw.arrivals)": c.distinct,
			}
			for query, want := range sums {
				if got := number(t, w, query); got != want {
					t.Errorf("%s: got %d, want %d", query, got, want)
				}
			}
			for _, check := range []string{"checks.rows_add_up", "checks.blocks_cover_prompts"} {
				answers(t, w, "select count(*) from "+check, "0")
			}
		})
	}
}

// Vidur's copy of Azure's code trace has other names and rounded times.
func TestRealVariants(t *testing.T) {
	w := open(t)
	azure := load(t, w, shared(t, "traces/azure-2023/AzureLLMInferenceTrace_code.csv"), ingest.Options{})
	vidur := load(t, w, shared(t, "traces/vidur/splitwise_code.csv"), ingest.Options{Name: "vidur"})
	if vidur.RowsKept != azure.RowsKept {
		t.Errorf("rows: got %d, want %d", vidur.RowsKept, azure.RowsKept)
	}
	apart := number(t, w, `
		select count(*)
		from raw.arrivals as azure
		join raw.arrivals as vidur on vidur.line = azure.line and vidur.source_id = 2
		where azure.source_id = 1
			and (azure.input_tokens <> vidur.input_tokens or azure.output_tokens <> vidur.output_tokens
				or abs(azure.arrival_ns - vidur.arrival_ns) > 600000)`)
	if apart != 0 {
		t.Errorf("%d rows differ by more than the rounding to milliseconds", apart)
	}
	small := load(t, w, shared(t, "traces/inference-perf/trace-replay-example.csv"), ingest.Options{})
	if small.RowsKept != 20 {
		t.Errorf("inference-perf: got %+v", small)
	}
}
