package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

// sampled are the expositions of a run by address, and when each was taken.
func sampled(t *testing.T, folder string) (texts map[string][]string, at map[string][]float64) {
	t.Helper()
	texts, at = map[string][]string{}, map[string][]float64{}
	for _, line := range linesIn(t, filepath.Join(folder, "samples.jsonl.zst")) {
		var sample struct {
			At         float64 `json:"at_s"`
			URL        string  `json:"url"`
			Exposition string  `json:"exposition"`
		}
		must.Do(t, json.Unmarshal([]byte(line), &sample))
		texts[sample.URL] = append(texts[sample.URL], sample.Exposition)
		at[sample.URL] = append(at[sample.URL], sample.At)
	}
	return texts, at
}

const dcgm = "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n" +
	"DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-6a\",modelName=\"NVIDIA H200\",Hostname=\"node \\\"a\\\"\"} 97\r\nnot a metric at all\n"

// An exporter that hangs after its first answers delays no other, and leaves a gap.
func TestEveryMetricsAddressIsSampledOnItsOwn(t *testing.T) {
	t.Parallel()
	fake, exporter, slow := newFake(t, well(0)), newFake(t, nil), newFake(t, nil)
	exporter.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, dcgm) })
	var asked atomic.Int64
	slow.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 3 { // the first one in the run, until the run ends
			<-r.Context().Done()
			return
		}
		io.WriteString(w, "up 1\n")
	})
	s := settingsFor(fake.URL)
	s.MetricsURLs = []string{slow.URL + "/slow", fake.URL + "/metrics", exporter.URL + "/dcgm"}
	folder := ran(t, planOf(t, every(2200*time.Millisecond, 2, 9, 3)), s)
	texts, at := sampled(t, folder)
	if n := len(texts[slow.URL+"/slow"]); n != 2 { // before and after
		t.Errorf("the slow one has %d samples", n)
	}
	for _, address := range []string{fake.URL + "/metrics", exporter.URL + "/dcgm"} {
		if n := len(texts[address]); n != 4 || at[address][0] != 0 || at[address][1] < 1 || at[address][2] < 2 {
			t.Errorf("%s: samples at %v", address, at[address])
		}
	}
	for _, text := range texts[exporter.URL+"/dcgm"] {
		if text != dcgm {
			t.Errorf("got %q", text)
		}
	}
}

// GPU 1 is at its power limit until 1 s, and hot from 2 s on; 0 has clocks that the user set. Whoever watches is told at once, in words.
func TestClocksThatAreHeldDownAreToldWhileARunGoes(t *testing.T) {
	t.Parallel()
	fake, exporter := newFake(t, well(0)), newFake(t, nil)
	var asked atomic.Int64
	exporter.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bits := 4
		if asked.Add(1) > 3 {
			bits = 0x40
		}
		fmt.Fprintf(w, "# TYPE DCGM_FI_DEV_CLOCKS_EVENT_REASONS gauge\nDCGM_FI_DEV_CLOCKS_EVENT_REASONS{gpu=\"0\",UUID=\"GPU-a\"} 2\nDCGM_FI_DEV_CLOCKS_EVENT_REASONS{gpu=\"1\",UUID=\"GPU-b\"} %d\n", bits)
	})
	s := settingsFor(fake.URL)
	s.MetricsURLs = []string{exporter.URL}
	var said []string
	s.Progress = func(p Progress) {
		if !slices.Contains(said, p.Throttled) {
			said = append(said, p.Throttled)
		}
	}
	must.Get(Run(t.Context(), planOf(t, every(3200*time.Millisecond, 2, 9, 3)), s, filepath.Join(t.TempDir(), "run")))(t)
	if want := "GPU 1 by power since before the run, GPU 1 by heat since 2s"; strings.Join(said, ", ") != want {
		t.Errorf("said %q, want %q", said, want)
	}
	var many throttles
	many.see("a", []byte("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{UUID=\"x\"} 12\nDCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu=\"2\"} 256\n"), time.Second)
	if got := many.words(); got != "GPU 2 by other since 1s; GPU x by hardware since 1s; GPU x by power since 1s" {
		t.Errorf("several: %q", got)
	}
	many.see("a", []byte("up 1\n"), 2*time.Second)
	if got := many.words(); got != "" {
		t.Errorf("when it is over: %q", got)
	}
}

// 400 tokens, 30 ms and then 10 ms apart: in flight for 4 s, with 5 prompt tokens and half of its output on average.
func TestTheProgressIsSetAgainstAPrediction(t *testing.T) {
	s := settingsFor("http://tiny")
	s.PredictTPOT = func(inFlight int, contextTokens float64, _ plan.Header) time.Duration {
		return time.Duration(inFlight)*time.Second + time.Duration(contextTokens)
	}
	var seen []Progress
	s.Progress = func(p Progress) { seen = append(seen, p) }
	onFakeClockAs(t, []plan.Request{{InputTokens: 5, OutputTokens: 400}}, &pipeServer{}, s)
	if len(seen) < 4 || seen[1].InFlight != 1 || seen[1].PredictedTPOT != time.Second+205 || seen[1].TPOT != 10*time.Millisecond {
		t.Errorf("%+v", seen)
	}
}

// A request to another model takes the same 400 tokens, and the line is about the run's own model alone.
func TestTheProgressIsOfTheRunsOwnModel(t *testing.T) {
	s := settingsFor("http://tiny")
	s.Models = map[string]string{"b": "large"}
	s.PredictTPOT = func(inFlight int, _ float64, _ plan.Header) time.Duration {
		return time.Duration(inFlight) * time.Second
	}
	var seen []Progress
	s.Progress = func(p Progress) { seen = append(seen, p) }
	requests := []plan.Request{{InputTokens: 5, OutputTokens: 400}, {InputTokens: 900, OutputTokens: 400, Class: "b"}, {InputTokens: 900, OutputTokens: 400, Class: "b"}}
	onFakeClockAs(t, requests, &pipeServer{}, s)
	if len(seen) < 4 || seen[1].InFlight != 3 || seen[1].PredictedTPOT != time.Second || seen[1].Model != "tiny" {
		t.Errorf("%+v", seen)
	}
	var m meter
	m.addGap(10*time.Millisecond, 1, false)
	m.addGap(90*time.Millisecond, 1, true)
	if p := m.report(time.Second); p.TPOT != 10*time.Millisecond || p.OutputTokensPer != 2 {
		t.Errorf("%+v", p)
	}
}

func TestTheDocumentSaysHowTheRunWasAskedFor(t *testing.T) {
	fake := newFake(t, well(0))
	s := settingsFor(fake.URL)
	s.BaseURLs = []string{fake.URL + "/v1/"}
	s.Mode, s.MaxConcurrency, s.DrainTimeout, s.WarmUp = "closed", 2, time.Second, time.Millisecond
	s.MetricsURLs = []string{fake.URL + "/metrics?token=abcd"}
	s.Series = &Series{ID: "e1", Name: "batch", Hypothesis: "more is slower", Variable: "max_concurrency", Value: "2", Row: 1, Repeat: 2}
	s.SLO = json.RawMessage(`{"name":"fast","objectives":[{"metric":"ttft","percentile":99,"at_most":1}]}`)
	folder := ran(t, planOf(t, every(0, 4, 9, 3)), s)
	text := everything(t, folder)
	must.Say(t, text,
		`"base_urls": [`+"\n      \""+fake.URL+`"`, `"mode": "closed"`, `"max_concurrency": 2`, `"history": "planned"`, `"cache": ""`,
		`"drain_timeout_s": 1,`, `"warm_up_s": 0.001`, fake.URL+"/metrics\"", `"hypothesis": "more is slower"`, `"row": 1`, `"repeat": 2`, `"percentile": 99`,
		`"is_drained": true`, `"cores": `,
	)
	d := documentIn(t, folder)
	if *d.Series != *s.Series || d.Servers != nil || d.Prompts != nil {
		t.Errorf("%+v", d)
	}
}
