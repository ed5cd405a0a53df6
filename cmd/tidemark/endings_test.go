//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tidemark/internal/cli/kit"
	"tidemark/internal/proof/must"
)

// The verdict of a replay was one line of 600 characters, and an experiment printed 24 lines for each level.
func TestEndingsFitTheTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	config := must.Get(simulated())(t)
	server, url, err := startServer(config)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	files := map[string]string{
		"small.jsonl": strings.Repeat(`{"timestamp": 0, "input_length": 513, "output_length": 10, "hash_ids": [0, 1]}`+"\n", 4),
		"slo.yaml": "schema: tidemark.slo/2\nname: chat\nobjectives:\n  - {metric: ttft_from_due, percentile: 90, at_most: 1us}\n" +
			"  - {metric: tpot, percentile: 99, at_most: 10s}\n  - {metric: failure_ratio, at_most: 0.01}\n",
		"steps.yaml": "schema: tidemark.experiment/1\nname: steps\nhypothesis: the first token comes too late\nexpect: {met_at: 1, binds: ttft}\nsend: small\n" +
			"options: {base-url: \"" + url + "\", model: llama-3.1-8b, max-lateness: 1m, max-stall: 1m}\nvariable: speed\nrows: [1]\nslo: slo.yaml\n",
	}
	for name, text := range files {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	onTerminal(t, 80, "ingest", "small.jsonl")
	replay := []string{"replay", "small", "--base-url", url, "--model", "llama-3.1-8b", "--slo", "slo.yaml", "--max-lateness", "1m", "--max-stall", "1m"}
	for _, c := range []struct {
		columns uint16
		args    []string
		want    []string
	}{
		{80, replay, []string{"SLO chat not met; valid\n\n", "metric ", " p50 ", " p95 ", " bound", "mark\n", "p90 ≤ 0.00100 ms  ✗ not met\n", "p99 ≤ 10.0 s  ? undecided\n",
			"≤ 1.00 %  ✓ met: 0 of 4\n", "p99 is withheld below 100 requests: 4\n"}},
		{40, replay, []string{"TTFT from due", "✗ not met", "? undecided\n", "✓ met"}},
		{200, append(replay, "--max-stall", "1ns"), []string{"invalid, neither pass nor fail: "}},
		{80, []string{"experiment", "steps.yaml"}, []string{"Hypothesis not held: the first token comes too late (not met at 1: p90 TTFT from", "No speed is shown to be within the SLO; not met at 1: ",
			"speed  req/s  tok/s  1 p90 TTFT from due  2 p99 TPOT  3 failures  SLO\n", "✗ not met\n", "2: p99 TPOT at most 10.0 s\n"}},
		{40, []string{"experiment", "steps.yaml"}, []string{"speed  1  2  3  SLO\n", "    1  ✗  ?  ✓  ✗ not met\n"}},
	} {
		shown := strings.ReplaceAll(redrawn(t, c.columns, c.args...), "\r\x1b[K", "\n")
		for _, want := range c.want {
			if !strings.Contains(shown, want) {
				t.Errorf("%v at %d columns: got\n%s\nwant %q in it", c.args[:2], c.columns, shown, want)
			}
		}
		fits(t, c.columns, shown)
	}
	runs, _ := filepath.Glob("runs/*/run.json")
	for _, columns := range []uint16{40, 80} {
		for _, args := range [][]string{
			{"compare", filepath.Base(filepath.Dir(runs[0])), filepath.Base(filepath.Dir(runs[1]))},
			{"capacity", "small", "--slo", "slo.yaml", "--gpu", "H100", "--catalog-model", "llama-3.1-8b", "--window", "1s"},
			{"runs", filepath.Base(filepath.Dir(runs[0]))},
		} {
			fits(t, columns, onTerminal(t, columns, args...))
		}
	}
	// Programs look for the verdict in the first line.
	var out, said bytes.Buffer
	if code := run(append([]string{"tidemark"}, replay...), strings.NewReader(""), &out, &said); code != kit.ExitNotMet {
		t.Fatalf("exit code %d: %s", code, said.String())
	}
	if first, rest, _ := strings.Cut(out.String(), "\n"); !strings.HasPrefix(first, "SLO chat not met: p90 TTFT from due") || !strings.Contains(first, "; valid; p50 TTFT ") || !strings.Contains(rest, "\nTTFT from due ") {
		t.Errorf("in a pipe: got\n%s", out.String())
	}
}

// fits finds a line that the terminal would break. A command and a path are left whole, to be copied.
func fits(t *testing.T, columns uint16, shown string) {
	t.Helper()
	for line := range strings.SplitSeq(shown, "\n") {
		isCopied := strings.Contains(line, "tidemark ") || strings.Contains(line, "run in runs/")
		if width := utf8.RuneCountInString(line); width > int(columns) && !isCopied {
			t.Errorf("at %d columns a line of %d: %s", columns, width, fmt.Sprintf("%q", line))
		}
	}
}
