//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// metricFormats says what each file of fixtures/metrics is taken for.
var metricFormats = map[string]string{
	"exposition.prom": "prometheus", "scrapes.prom": "prometheus", "openmetrics.txt": "prometheus", "dcgm.prom": "prometheus",
	"wrapped.jsonl": "prometheus-json", "wrapped-array.json": "prometheus-json",
	"range.json": "prometheus-api", "instant.json": "prometheus-api", "dump.txt": "prometheus-dump",
	"chat.prometheus.jsonl": "prometheus-collected",
	"utf8-names.prom":       "prometheus",
	"grafana.csv":           "grafana", "grafana-rows.csv": "grafana", "grafana-semicolons.csv": "grafana",
	"dmon.csv": "nvidia-smi", "dmon-screen.txt": "nvidia-smi", "smi-query.csv": "nvidia-smi", "engine.csv": "engine-csv",
	"server_metrics_export.jsonl": "aiperf-server-metrics", "gpu_telemetry_export.jsonl": "aiperf-gpu-telemetry",
	"stage_0_prometheus_metrics.json": "inference-perf-prometheus",
}

func TestMetricFixtures(t *testing.T) {
	w := open(t)
	for name, format := range metricFormats {
		path := filepath.Join("../fixtures/metrics", name)
		result := load(t, w, path, ingest.Options{Name: name})
		if result.Format != format || result.RowsRejected != 0 {
			t.Errorf("%s: got %+v, want it taken for %s", name, result, format)
		}
		want := readCSV(t, strings.TrimSuffix(path, filepath.Ext(path))+".want.csv")
		got := table(t, w, fmt.Sprintf("select scrape, at_ns, metrics.name, labels, value from raw.metrics join raw.sources using (source_id) where sources.name = '%s'", name))
		byCell := func(x, y []string) int { return slices.Compare(x, y) }
		if slices.SortFunc(got, byCell); !slices.EqualFunc(got, slices.SortedFunc(slices.Values(want[1:]), byCell), slices.Equal) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, joined(got), joined(want[1:]))
		}
		if kind := table(t, w, "select kind from raw.sources where name = '"+name+"'")[0][0]; kind != "metrics" {
			t.Errorf("%s: kind %s", name, kind)
		}
	}
	answers(t, w, "select count(*) from checks.rows_add_up", "0")
}

func TestKernelFixtures(t *testing.T) {
	w := open(t)
	for _, name := range []string{"cuda_gpu_kern_sum.csv", "gpukernsum.csv", "kernel_rules.csv"} {
		if result := load(t, w, filepath.Join("../fixtures/metrics", name), ingest.Options{Name: name}); result.RowsRejected != 0 {
			t.Errorf("%s: got %+v", name, result)
		}
	}
	got := joined(table(t, w, "select source_id, seq, name[:24], instances, total_s, mean_s, median_s, min_s, max_s, stddev_s from raw.kernels order by all"))
	want := "1 0 void flash::flash_fwd_sp 3 0.006 0.002 0.0019 0.001 0.003 1.0005e-06|1 1 void cutlass::gemm_kerne 1 0.003 0.003 0.003 0.003 0.003 0.0|" +
		"1 2 somebody_elses_kernel 5 0.001 0.0002 0.0002 0.0002 0.0002 0.0|1 3 [CUDA memcpy Host-to-Dev 2 0.0005 0.00025 0.00025 0.00025 0.00025 0.0"
	if first, _, _ := strings.Cut(got, "|2 "); first != want {
		t.Errorf("cuda_gpu_kern_sum: got\n%s\nwant\n%s", got, want)
	}
	must.Say(t, got, "2 0 ncclDevKernel_AllReduce_ 3 0.0015 0.0005  0.0004 0.0006 1.05e-05")
	answers(t, w, "select seq, pattern, category from raw.kernel_rules order by seq",
		"0 somebody_elses attention|1 (?i)gemm_kernel<4, |gemm_kernel<4> mine")
}

// What is wrong with a file is said, and what to do about it.
func TestMetricsThatAreNone(t *testing.T) {
	cases := []struct{ why, content, want string }{
		{"an error of Prometheus is no data", `{"status":"error","errorType":"bad_data","error":"secret"}`, "answered with an error"},
		{"an empty answer", `{"status":"success","data":{"resultType":"matrix","result":[]}}`, "holds no series"},
		{"a number alone", `{"status":"success","data":{"resultType":"scalar","result":[1700000000,"1"]}}`, "a number alone"},
		{"an answer that is cut", `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"x"},"values":[[1,"1"],[2,`, "not JSON from here on, or cut"},
		{"samples in front of their labels", `{"status":"success","data":{"result":[{"values":[[1,"1"]],"metric":{"__name__":"x"}}]}}`, "before the labels"},
		{"nested without an end", `{"status":"success","data":{"x":` + strings.Repeat("[", 5000) + `,"result":[]}}`, "nested too deeply"},
		{"a number that is none", "# TYPE a gauge\na secret\n", "line 2: not a number"},
		{"a number that no float holds", "# TYPE a gauge\na 1e999\n", "line 2: out of range"},
		{"labels that do not end", "# TYPE a gauge\na{b=\"secret 1\n", "line 2: not a series and its value"},
		{"a unit that is not the column's", "uuid, memory.used [MiB]\nGPU-1, 5 GiB\n", "memory.used [MiB]: not in its column's unit"},
		{"a rule that cannot be read", "category,pattern\nmine,(secret\n", "pattern: not a regular expression"},
		{"a kernel without a time", "Time (%),Total Time (ns),Instances,Name\n1,-5,1,secret\n", "line 2: negative"},
		{"a record whose scrape has no time", `{"timestamp":"secret","content":"# TYPE a gauge\na 1\n"}`, "timestamp: not a time"},
	}
	w := open(t)
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			err := refused(t, w, write(t, "file", []byte(c.content)), ingest.Options{}, c.want)
			must.NotSay(t, err.Error()+hint.Of(err), "secret")
		})
	}
}

// longAnswer is an answer of Prometheus in one line: 2,000 samples, and in front of
// them words that nobody asked for. It sees how much memory its reader holds.
type longAnswer struct {
	parts  []string
	filler int // bytes of words left
	peak   uint64
	reads  int
}

func newLongAnswer(filler int) *longAnswer {
	samples := strings.TrimSuffix(strings.Repeat(`[1700000000,"1"],`, 2000), ",")
	return &longAnswer{filler: filler, parts: []string{`{"status":"success","data":{"resultType":"matrix","stats":"`,
		`","result":[{"metric":{"__name__":"up"},"values":[` + samples + `]}]}}`}}
}

func (a *longAnswer) Read(p []byte) (int, error) {
	if a.reads++; a.reads%16 == 0 {
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		a.peak = max(a.peak, memory.HeapAlloc)
	}
	switch {
	case len(a.parts) == 2 || a.filler == 0 && len(a.parts) == 1:
		n := copy(p, a.parts[0])
		if a.parts[0] = a.parts[0][n:]; a.parts[0] == "" {
			a.parts = a.parts[1:]
		}
		return n, nil
	case a.filler > 0:
		n := min(len(p), a.filler)
		for i := range p[:n] {
			p[i] = 'x'
		}
		a.filler -= n
		return n, nil
	}
	return 0, io.EOF
}

// An answer of any length is read in one pass and never held.
func TestLongAnswersAreNotHeld(t *testing.T) {
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	const long = 96 << 20
	answer := newLongAnswer(long)
	result := load(t, open(t), "-", ingest.Options{Stdin: answer})
	if result.Format != "prometheus-api" || result.RowsKept != 2000 {
		t.Errorf("got %+v", result)
	}
	if held := answer.peak - before.HeapAlloc; answer.peak > before.HeapAlloc && held > long/2 {
		t.Errorf("%d MB were held of %d MB", held>>20, long>>20)
	}
}

// A log whose clock falls back put later lines on earlier instants, and one over the end of February two days on one.
func TestClocksOfLogs(t *testing.T) {
	line := func(stamp string, running int) string {
		return fmt.Sprintf("INFO %s [loggers.py:257] Engine 000: Avg prompt throughput: 100.0 tokens/s, Avg generation throughput: 50.0 tokens/s, Running: %d reqs, Waiting: 0 reqs, GPU KV cache usage: 10.0%%\n", stamp, running)
	}
	for _, c := range []struct {
		why    string
		stamps []string
		want   string
		note   bool
	}{
		{"the end of summer time", []string{"10-25 02:59:40", "10-25 02:59:50", "10-25 02:00:00", "10-25 02:00:10", "10-25 02:59:50", "10-25 03:00:00"}, "0 10 20 30 3610 3620", true},
		{"a leap year", []string{"02-28 23:59:50", "02-29 00:00:00", "02-29 23:59:50", "03-01 00:00:00"}, "0 10 86400 86410", false},
		{"another year", []string{"02-28 23:59:50", "03-01 00:00:00", "03-02 00:00:00"}, "0 10 86410", false},
		{"over the end of the year", []string{"12-31 23:59:50", "01-01 00:00:00"}, "0 10", false},
		{"a process whose first line came late", []string{"10-25 02:59:40", "10-25 02:59:30", "10-25 02:59:50"}, "0 0 10", false},
	} {
		w := open(t)
		var text strings.Builder
		for i, stamp := range c.stamps {
			text.WriteString(line(stamp, i))
		}
		result := load(t, w, write(t, "vllm.log", []byte(text.String())), ingest.Options{Format: "vllm-log"})
		got := strings.ReplaceAll(joined(table(t, w, "select (at_ns // 1000000000)::varchar from raw.metrics where name = 'vllm:num_requests_running' order by value")), "|", " ")
		if said := strings.Contains(strings.Join(result.Notes, "\n"), "the clock falls back by an hour at 10-25 02:00:00"); got != c.want || said != c.note {
			t.Errorf("%s: got %s, want %s; notes %q", c.why, got, c.want, result.Notes)
		}
	}
}
