//go:build duckdb_arrow

package ingest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// loadAs takes in a file under a name.
func loadAs(t *testing.T, w *warehouse.Warehouse, name, path string) ingest.Result {
	t.Helper()
	return load(t, w, path, ingest.Options{Name: name})
}

// Two dumps of a server, before and after a benchmark, say what the client said:
// requests, tokens and their means, each exactly.
func TestRealDumpsOfOneServer(t *testing.T) {
	for _, c := range []struct{ folder, lengths string }{
		// All prompts are 1,024 tokens long, all answers 256.
		{"qwen2.5-14b-v1-random-online-kv16", "1000 2000   200.0|  200 500 200.0"},
		{"qwen2.5-14b-v1-sharegpt-online-kv16", ""},
	} {
		folder := shared(t, filepath.Join("traces/vllm-metrics", c.folder))
		text := must.Get(os.ReadFile(filepath.Join(folder, "raw.json")))(t)
		var client struct {
			Completed int64 `json:"completed"`
			Input     int64 `json:"total_input_tokens"`
			Output    int64 `json:"total_output_tokens"`
		}
		must.Do(t, json.Unmarshal(text, &client))
		w := open(t)
		loadAs(t, w, "post", filepath.Join(folder, "metrics_post.prom")) // in whatever order
		loadAs(t, w, "pre", filepath.Join(folder, "metrics_pre.prom"))
		for _, q := range []struct {
			quantity string
			tokens   int64
		}{{"input_tokens", client.Input}, {"output_tokens", client.Output}} {
			got := joined(table(t, w, "select observations::bigint, total::bigint, mean::double, is_since_start from marts.metric_histograms where source_name = 'post' and quantity = '"+q.quantity+"'"))
			mean, _ := json.Marshal(float64(q.tokens) / float64(client.Completed))
			want := fmt.Sprintf("%d %d %s false", client.Completed, q.tokens, strings.TrimSuffix(string(mean), ".0"))
			if strings.ReplaceAll(got, ".0 ", " ") != want {
				t.Errorf("%s, %s: got %s, want %s", c.folder, q.quantity, got, want)
			}
		}
		answers(t, w, "select finished_requests::bigint, prompt_tokens::bigint, generation_tokens::bigint from marts.engine_totals where source_name = 'post'",
			fmt.Sprintf("%d %d %d", client.Completed, client.Input, client.Output))
		cells := joined(table(t, w, "select input_above, input_up_to, output_above, output_up_to, requests from staging.length_cells order by input_up_to nulls last"))
		if c.lengths != "" && cells != c.lengths {
			t.Errorf("%s: lengths\n%s\nwant\n%s", c.folder, cells, c.lengths)
		}
		for _, sum := range []string{"input_up_to", "output_up_to"} {
			if got := number(t, w, "select sum(requests)::bigint from staging.length_cells where "+sum+" is not null"); got != client.Completed {
				t.Errorf("%s: %d requests in the cells of %s, want %d", c.folder, got, sum, client.Completed)
			}
		}
		if got := table(t, w, "from checks.histograms_add_up union all by name from checks.counters_are_read"); len(got) > 0 {
			t.Errorf("%s: checks: %v", c.folder, got)
		}
	}
}

// The differences are those that whoever recorded the dumps counted.
func TestRealDumpsOfACPUServer(t *testing.T) {
	folder := shared(t, "traces/vllm-cpu")
	w := open(t)
	loadAs(t, w, "before", filepath.Join(folder, "metrics-before.prom"))
	loadAs(t, w, "after", filepath.Join(folder, "metrics-after.prom"))
	answers(t, w, "select prompt_tokens::bigint, generation_tokens::bigint, finished_requests::bigint from marts.engine_totals where source_name = 'after'",
		"25728 15872 168")
	answers(t, w, "select dimensions, increase from staging.metric_intervals where source_name = 'after' and quantity = 'finished_requests' and increase > 0",
		`finished_reason="length" 168.0`)
	// 152 prompts of 64 tokens and 16 of 1,000, by the log of what was sent.
	answers(t, w, "select input_above, input_up_to, requests from staging.length_cells where input_up_to is not null order by all",
		"50 100 152.0|500 1000 16.0")
}

// Seven published runs, sampled each second: every line is a look.
func TestRealSamplers(t *testing.T) {
	looks := map[string][3]int64{ // lines less those of the header, by zcat | wc -l
		"1": {5707, 5707, 5707}, "4": {1524, 1524, 1523}, "16": {476, 476, 476}, "64": {204, 204, 204},
		"128": {160, 160, 160}, "256": {150, 150, 149}, "512": {147, 147, 147},
	}
	w := open(t)
	for size, want := range looks {
		folder := shared(t, "traces/vllm-runs/h100-64gb-llama-2-7b-out260-maxseqs"+size)
		for i, name := range []string{"metrics_engine", "metrics_gpu_device_nvidia_smi_0", "metrics_gpu_device_nvidia_smi_dom_0"} {
			source := fmt.Sprintf("%s-%d", size, i)
			result := loadAs(t, w, source, filepath.Join(folder, name+".csv.gz"))
			got := number(t, w, "select count(distinct scrape) from raw.metrics join raw.sources using (source_id) where sources.name = '"+source+"'")
			cells := []int64{9, 8, 15}[i]
			if got != want[i] || result.RowsKept != cells*want[i] || result.RowsRejected != 0 {
				t.Errorf("%s of %s: %d looks, want %d; %+v", name, size, got, want[i], result)
			}
		}
	}
	// 2,000 requests of 250 tokens and the client's warm-up; 260 of 261 tokens are counted.
	for _, line := range table(t, w, "select source_name, finished_requests::bigint, alone_requests::bigint, prompt_tokens::bigint, generation_tokens::bigint from marts.engine_totals") {
		if line[1] != "2001" || line[0] == "64-0" && (line[2] != "1" || line[3] != "500250" || line[4] != "520260") {
			t.Errorf("totals: got %v", line)
		}
	}
	// Each GPU ran at 1,980 MHz, and each run drew more as more were in flight.
	slower := number(t, w, "select count(*) from marts.gpus_seen where source_name like '%-2' and (busy_sm_clock_hz <> 1.98e9 or is_slower)")
	if slower != 0 {
		t.Errorf("%d runs are not at 1,980 MHz", slower)
	}
}

// One GPU through two exporters is one: W, not twice as many.
func TestRealGPUSeenTwice(t *testing.T) {
	w := open(t)
	result := loadAs(t, w, "gpu", shared(t, "traces/aiperf/qwen3-0.6b-concurrency1/gpu_telemetry_export.jsonl"))
	if result.RowsKept != 300 { // 20 lines of 15 numbers
		t.Errorf("got %+v", result)
	}
	var gpus, exporters int64
	var power, mean float64
	must.Do(t, w.DB().QueryRow("select count(*) over (), exporters, mean_power_w, max_power_w from marts.gpus_seen").Scan(&gpus, &exporters, &mean, &power))
	if gpus != 1 || exporters != 2 || math.Abs(mean-94.08) > 0.01 {
		t.Errorf("%d GPUs through %d exporters draw %g W", gpus, exporters, mean)
	}
}
