//go:build duckdb_arrow

package ingest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

func TestRun(t *testing.T) {
	w := open(t)
	folder := runFolder(t, "three-planned")
	result := load(t, w, folder, ingest.Options{})
	if result.Name != "20261121-101500-three" || result.Format != "run" || result.RowsRead != 3 || result.RowsKept != 3 || result.RowsRejected != 0 {
		t.Errorf("got %+v", result)
	}
	got := table(t, w, `
		select seq, session_id, turn, class, is_warm_up, input_tokens, output_tokens, shared_tokens, due_s, sent_s, first_token_s,
			held_s, cached_tokens_reported, http_status, finish_reason, failure, failure_detail, chunk_offsets_us, chunk_tokens, reads
		from raw.requests where run_id = '20261121-101500-three' order by seq`)
	want := []string{
		"0,s0,0,chat,false,10,2,0,0.0,0.0001,0.05,0.0,,200,length,,,[49900, 69900],[1, 1],2",
		"1,s1,0,,false,20,3,10,0.5,0.5001,,,,429,,http_429,rate limited,,,",
		"2,,,,false,30,4,,1.5,,,,,,,,,,,", // planned and never sent
	}
	for i, line := range want {
		if i >= len(got) || strings.Join(got[i], ",") != line {
			t.Errorf("request %d: got %v, want %s", i, got, line)
		}
	}
	samples := table(t, w, "select at_s, origin, name, labels, value, url from raw.samples order by all")
	wantSamples := [][]string{
		{"1.0", "client", "cpu_s", "", "0.25", ""},
		{"1.0", "client", "in_flight", "", "1.0", ""},
		{"1.0", "server", "vllm:num_requests_running", `engine="0",model_name="m"`, "3.0", "http://127.0.0.1:8000/metrics"},
		{"1.0", "server", "vllm:prompt_tokens_total", `engine="0"`, "125.0", "http://127.0.0.1:8000/metrics"},
		{"1.0", "server", "vllm:time_to_first_token_seconds_bucket", `le="+Inf"`, "2.0", "http://127.0.0.1:8000/metrics"},
		{"1.0", "server", "vllm:time_to_first_token_seconds_bucket", `le="1"`, "2.0", "http://127.0.0.1:8000/metrics"},
		{"1.0", "server", "vllm:time_to_first_token_seconds_count", "", "2.0", "http://127.0.0.1:8000/metrics"},
		{"1.0", "server", "vllm:time_to_first_token_seconds_sum", "", "0.5", "http://127.0.0.1:8000/metrics"},
	}
	if fmt.Sprint(samples) != fmt.Sprint(wantSamples) {
		t.Errorf("samples: got\n%v\nwant\n%v", samples, wantSamples)
	}
	if got := table(t, w, "select document ->> 'name', source_id from raw.runs"); fmt.Sprint(got) != "[[three 1]]" {
		t.Errorf("raw.runs: got %v", got)
	}
	if broken := table(t, w, "select * from checks.rows_add_up"); len(broken) > 0 {
		t.Errorf("checks.rows_add_up: %v", broken)
	}
	if again := load(t, w, folder, ingest.Options{}); !again.AlreadyKnown || again.RowsKept != 3 {
		t.Errorf("a second time: got %+v, want known", again)
	}
	if inFolder := load(t, w, filepath.Dir(folder), ingest.Options{}); !inFolder.AlreadyKnown {
		t.Errorf("found in a folder of runs: got %+v", inFolder)
	}
}

// What newer runs say in addition: where a request went, and the server's own times of it.
func TestRunWithTheServersOwnTimes(t *testing.T) {
	folder := runFolder(t, "three-planned")
	edit(t, folder, "requests.jsonl.zst", func(text string) string {
		return strings.Replace(text, `"reads":2}`,
			`"reads":2,"endpoint":"http://127.0.0.1:8001","server_ttft_s":0.04,"server_generation_s":0.02,"server_queue_s":0.001,"server_mean_itl_s":0.0199}`, 1)
	})
	w := open(t)
	load(t, w, folder, ingest.Options{})
	got := table(t, w, "select seq, endpoint, server_ttft_s, server_generation_s, server_queue_s, server_mean_itl_s from raw.requests order by seq")
	if fmt.Sprint(got) != "[[0 http://127.0.0.1:8001 0.04 0.02 0.001 0.0199] [1     ] [2     ]]" {
		t.Errorf("got %v", got)
	}
}

// edit rewrites one file of a run; the content of a .zst is compressed.
func edit(t *testing.T, folder, name string, change func(string) string) {
	t.Helper()
	path := filepath.Join(folder, name)
	text := must.Get(os.ReadFile(path))(t)
	packed := filepath.Ext(name) == ".zst"
	if packed {
		decoder := must.Get(zstd.NewReader(bytes.NewReader(text)))(t)
		defer decoder.Close()
		var plain bytes.Buffer
		must.Get(plain.ReadFrom(decoder))(t)
		text = plain.Bytes()
	}
	text = []byte(change(string(text)))
	if packed {
		text = zstdOf(t, text)
	}
	must.Do(t, os.WriteFile(path, text, 0o600))
}

// A run that was taken in while it ran is replaced by what it became; a run that
// had ended is not.
func TestRunIsReplacedUntilItHasEnded(t *testing.T) {
	w := open(t)
	folder := runFolder(t, "three-planned")
	path := filepath.Join(folder, "requests.jsonl.zst")
	whole := must.Get(os.ReadFile(path))(t)
	edit(t, folder, "run.json", func(text string) string {
		return strings.Replace(text, `"status":"done"`, `"status":"running"`, 1)
	})
	edit(t, folder, "requests.jsonl.zst", func(text string) string { first, _, _ := strings.Cut(text, "\n"); return first + "\n" })
	if running := load(t, w, folder, ingest.Options{}); running.RowsKept != 3 {
		t.Errorf("running: got %+v", running)
	}
	answers(t, w, "select count(sent_s) from raw.requests", "1")

	edit(t, folder, "run.json", func(text string) string {
		return strings.Replace(text, `"status":"running"`, `"status":"done"`, 1)
	})
	must.Do(t, os.WriteFile(path, whole, 0o600))
	ended := load(t, w, folder, ingest.Options{})
	must.Say(t, fmt.Sprint(ended.Notes), "replaces what was taken in while it ran")
	if got := fingerprint(t, w); got != "sources 1 rejects 0 arrivals 0 runs 1 requests 3 samples 8 capacities 0 " {
		t.Errorf("after the end: got %s", got)
	}
	answers(t, w, "select count(sent_s) from raw.requests", "2")

	edit(t, folder, "run.json", func(text string) string { return strings.Replace(text, `"note":""`, `"note":"x"`, 1) })
	refused(t, w, folder, ingest.Options{}, "run 20261121-101500-three is in the warehouse already, with other contents")
}

// Killed, a writer leaves a file that ends anywhere. What is whole is taken in.
func TestRunWithTornFiles(t *testing.T) {
	folder := runFolder(t, "three-planned")
	path := filepath.Join(folder, "requests.jsonl.zst")
	// As the journal writes it: each line flushed into a block of its own.
	var packed bytes.Buffer
	encoder := must.Get(zstd.NewWriter(&packed))(t)
	var flushed int
	for seq := range 2 {
		fmt.Fprintf(encoder, `{"seq":%d,"is_warm_up":false,"input_tokens":10,"output_tokens":2,"due_s":0,"sent_s":0.5}`+"\n", seq)
		must.Do(t, encoder.Flush())
		if seq == 0 {
			flushed = packed.Len()
		}
	}
	must.Do(t, encoder.Close())
	shared := open(t)
	for cut := 0; cut <= packed.Len(); cut++ {
		must.Do(t, os.WriteFile(path, packed.Bytes()[:cut], 0o600))
		if cut > 3 && cut < packed.Len()-5 && cut%7 != 0 && cut != flushed {
			continue // some are enough
		}
		w := shared
		if cut == flushed {
			w = open(t) // the marts of the run, which take most of the time, are computed for one of the cuts
		} else {
			empty(t, w)
		}
		result := load(t, w, folder, ingest.Options{RefreshLater: cut != flushed})
		if result.RowsKept != 3 || result.RowsRejected != 0 {
			t.Errorf("cut at %d of %d: got %+v", cut, packed.Len(), result)
		}
		sent := number(t, w, "select count(sent_s) from raw.requests")
		if cut >= flushed && sent < 1 {
			t.Errorf("cut at %d: a flushed line is lost", cut)
		}
		isTold := strings.Contains(fmt.Sprint(result.Notes), "ends in the middle of a line")
		if isWhole := cut == 0 || cut == packed.Len(); isTold == isWhole {
			t.Errorf("cut at %d of %d: notes %q", cut, packed.Len(), result.Notes)
		}
	}
}

func TestBrokenRuns(t *testing.T) {
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			must.Do(t, os.Remove(filepath.Join(folder, name)))
		}
	}
	replace := func(name, old, by string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			edit(t, folder, name, func(text string) string { return strings.Replace(text, old, by, 1) })
		}
	}
	cases := []struct {
		why    string
		change func(*testing.T, string)
		words  string
	}{
		{"no plan", remove("plan.jsonl.zst"), "no plan.jsonl.zst in it"},
		{"a cut run.json", replace("run.json", `"result"`, "\x00"), "run.json: not a JSON object, or cut"},
		{"another schema", replace("run.json", "tidemark.run/1", "tidemark.run/9"), "run.json: its schema is not tidemark.run/1"},
		{"no run_id", replace("run.json", `"run_id"`, `"id"`), "run.json: no run_id"},
		{"a plan without its header", replace("plan.jsonl.zst", "tidemark.plan/1", "x"), "plan.jsonl.zst: its first line is not the header"},
		{"a line that is no JSON", replace("requests.jsonl.zst", `{"seq":1`, `"seq":1`), "1 of 4 rows rejected, more than 0.001 of them: line 1: not a JSON object"},
		{"a number that is a string", replace("requests.jsonl.zst", `"input_tokens":20`, `"input_tokens":"20"`), "line 1: input_tokens: not of the expected type"},
		{"tokens whose sums wrap", replace("requests.jsonl.zst", `"input_tokens":20`, `"input_tokens":9223372036854775807`), "line 1: input_tokens: too large"},
		{"an exposition that is none", replace("samples.jsonl.zst", "# TYPE vllm:num_requests_running gauge", "<html>"), "line 2: exposition: not Prometheus text"},
	}
	w := open(t) // one for all: refused sees that each leaves nothing in it
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			folder := runFolder(t, "three-planned")
			c.change(t, folder)
			refused(t, w, folder, ingest.Options{}, "ingest "+folder+": ", c.words)
		})
	}
	t.Run("without samples it is whole", func(t *testing.T) {
		folder := runFolder(t, "three-planned")
		remove("samples.jsonl.zst")(t, folder)
		if result := load(t, open(t), folder, ingest.Options{}); result.RowsKept != 3 {
			t.Errorf("got %+v", result)
		}
	})
	t.Run("told to, it takes a run in without its broken lines", func(t *testing.T) {
		folder := runFolder(t, "three-planned")
		replace("requests.jsonl.zst", `{"seq":1`, `"seq":1`)(t, folder)
		w := open(t)
		result := load(t, w, folder, ingest.Options{MaxRejectedRatio: 1})
		if result.RowsRead != 4 || result.RowsKept != 3 || result.RowsRejected != 1 {
			t.Errorf("got %+v", result)
		}
		if broken := table(t, w, "select * from checks.rows_add_up"); len(broken) > 0 {
			t.Errorf("checks.rows_add_up: %v", broken)
		}
	})
}
