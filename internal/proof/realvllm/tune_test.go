//go:build vllm

package realvllm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"tidemark/internal/escape"
	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
)

// The two knobs. The model that ranks them is of another machine altogether (vLLM here serves a tiny model on a core), so that the race alone
// can find what is best.
var (
	sequences = []string{"1", "4", "16"}
	batches   = []string{"64", "512", "2048"}
)

const (
	tuneSLO = `schema: tidemark.slo/2
name: tiny on a core
objectives:
  - {metric: ttft_from_due, percentile: 90, at_most: 1s}
  - {metric: tpot, percentile: 90, at_most: 60ms}
`
	tuneTraffic = `schema: tidemark.profile/1
name: chats
sessions: 60
arrivals: {process: poisson, rate_per_s: 3}
classes:
  - name: chat
    share: 1
    turns: {constant: 1}
    input_tokens: {lognormal: {p50: 250, p95: 700}, min: 20, max: 1500}
    output_tokens: {lognormal: {p50: 30, p95: 80}, min: 4, max: 200}
`
	tuneFile = `schema: tidemark.tune/1
name: tiny
traffic: minute.yaml
slo: slo.yaml
deployment: {gpu: H100, model: llama-3.1-8b, max_num_seqs: 4, max_num_batched_tokens: 512}
space:
  max_num_seqs: [%s]
  max_num_batched_tokens: [%s]
server: {start: [./serve.sh, "{flags}"], base_url: %q, model: tiny-random, ready_within: 4m, stop_within: 20s}
budget: {load: 10m, starts: 12}
`
	asGood = 0.9 // of the grid's best: searches of a minute and a half know no better
)

// TestTuneOfARealVLLM tunes vLLM over two knobs of three values each, then starts all nine and searches the capacity of each for itself. What tune
// sets is what the grid finds best, or as good as its searches can tell.
func TestTuneOfARealVLLM(t *testing.T) {
	program := build(t)
	program.core = clientCore
	baseURL := fmt.Sprintf("http://127.0.0.1:%d", proof.FreePort(t))
	serve := serveScript(t, program.folder, baseURL)
	for name, text := range map[string]string{"slo.yaml": tuneSLO, "minute.yaml": tuneTraffic,
		"tune.yaml": fmt.Sprintf(tuneFile, strings.Join(sequences, ", "), strings.Join(batches, ", "), baseURL)} {
		must.Do(t, os.WriteFile(filepath.Join(program.folder, name), []byte(text), 0o644))
	}
	tuned := raced(t, program)

	grid, best := map[string]float64{}, 0.0
	for _, s := range sequences {
		for _, b := range batches {
			key := pair(s, b)
			grid[key] = searchedAlone(t, program, serve, baseURL, s, b)
			best = max(best, grid[key])
		}
	}
	for _, s := range sequences {
		for _, b := range batches {
			key := pair(s, b)
			t.Logf("%s: grid %.2f/s, tune %s", key, grid[key], cmp.Or(tuned.rates[key], "has no rate"))
		}
	}
	t.Logf("tune sets %s; the grid's best is %.2f requests/s", tuned.set, best)
	if grid[tuned.set] < asGood*best {
		t.Errorf("tune sets %s, at which the grid measured %.2f requests/s; its best is %.2f", tuned.set, grid[tuned.set], best)
	}
}

// race is what tune said: the values to set, and of each pair that it measured the rate and its interval, as text.
type race struct {
	set   string
	rates map[string]string
}

func raced(t *testing.T, program *tidemark) race {
	t.Helper()
	arguments := []string{"tune", "tune.yaml", "--max-lateness", latenessLimit, "--max-stall", "2s"}
	program.must(t, arguments...) // it measures, and prints for people; what follows reads its journal
	out, exit := program.run(t, append(arguments, "--json")...)
	if exit != 0 {
		t.Fatalf("tidemark tune --json: exit %d", exit)
	}
	var answer struct {
		Raced []struct {
			Settings  map[string]string `json:"settings"`
			IsSet     bool              `json:"is_knee"`
			PerS      *float64          `json:"rate_per_s"`
			LowPerS   *float64          `json:"rate_low_per_s"`
			HighPerS  *float64          `json:"rate_high_per_s"`
			Abandoned string            `json:"rejected_why"`
		} `json:"raced"`
	}
	must.Do(t, json.Unmarshal([]byte(out), &answer))
	r := race{rates: map[string]string{}}
	for _, c := range answer.Raced {
		key := pair(c.Settings["max_num_seqs"], c.Settings["max_num_batched_tokens"])
		if c.IsSet {
			r.set = key
		}
		if c.PerS != nil {
			r.rates[key] = fmt.Sprintf("%.2f/s (%s to %s) %s", *c.PerS, show(c.LowPerS), show(c.HighPerS), c.Abandoned)
		}
	}
	return r
}

func pair(sequences, tokens string) string { return "seqs " + sequences + ", tokens " + tokens }

// serveScript starts vLLM on its core as the other tests do, with a shorter context, and with a candidate's flags, which come last and win.
func serveScript(t *testing.T, folder, baseURL string) (path string) {
	t.Helper()
	port := must.Get(strconv.Atoi(baseURL[strings.LastIndex(baseURL, ":")+1:]))(t)
	cmd := command(t, filepath.Join(must.Get(os.UserCacheDir())(t), vllmFolder), port)
	pin(cmd, serverCore)
	// serve.py ends with its stdin, which tune closes: sleep holds one open, in the same process group.
	text := fmt.Sprintf("#!/bin/sh\nsleep 100000 | env %s %s --max-model-len 4096 \"$@\"\n", escape.ShellWords(cmd.Env[len(os.Environ()):]), escape.ShellWords(cmd.Args))
	path = filepath.Join(folder, "serve.sh")
	must.Do(t, os.WriteFile(path, []byte(text), 0o755))
	return path
}

// searchedAlone starts the server with two values and is the largest rate that a search of its own finds, in requests/s.
func searchedAlone(t *testing.T, program *tidemark, serve, baseURL, seqs, batch string) float64 {
	t.Helper()
	cmd := exec.Command(serve, "--max-num-seqs", seqs, "--max-num-batched-tokens", batch)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must.Do(t, cmd.Start())
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	defer func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}()
	waitHealthy(t, baseURL, ended)
	out, _ := program.run(t, "capacity", "minute.yaml", "--slo", "slo.yaml", "--base-url", baseURL, "--model", "tiny-random", "--json",
		"--budget", "90s", "--precision", "10%", "--max-lateness", latenessLimit, "--max-stall", "2s", "--runs", "grid-"+seqs+"-"+batch)
	var answer struct {
		PerS  *float64 `json:"rate_per_s"`
		Why   string   `json:"why"`
		Table []struct {
			PerS    float64 `json:"rate_per_s"`
			Verdict string  `json:"verdict"`
		} `json:"table"`
	}
	must.Do(t, json.Unmarshal([]byte(out), &answer))
	if answer.PerS != nil {
		return *answer.PerS
	}
	// A search is invalid where the unloaded server became slower on its way, as a small one does here: then the largest rate that it kept counts.
	kept := 0.0
	for _, run := range answer.Table {
		if run.Verdict == "within" {
			kept = max(kept, run.PerS)
		}
	}
	t.Logf("%s: %s; of %d runs the largest within the SLO had %.2f requests/s", pair(seqs, batch), answer.Why, len(answer.Table), kept)
	if len(answer.Table) == 0 {
		t.Errorf("%s: the grid has no rate; is the machine quiet?", pair(seqs, batch))
	}
	return kept
}
