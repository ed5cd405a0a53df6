//go:build duckdb_arrow

package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// resultsFolder is one with two rows that can be kept, one that holds texts, one
// that is broken and one that is none of a tool's.
func resultsFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "week-47")
	must.Do(t, os.Mkdir(folder, 0o700))
	tool := func(name string) string {
		text := must.Get(os.ReadFile(filepath.Join("..", "fixtures", "tools", name)))(t)
		return string(text)
	}
	for name, content := range map[string]string{
		"hardware.md": "# Hardware\r\n\r\n2 x H100, no line end", "server-flags.md": "--max-num-seqs 128\n", "interpretation.md": "",
		"row-A.json": tool("inference-perf/stage_2_lifecycle_metrics.json"),
		"row-B.json": tool("genai-bench/D256-16_text-to-text_num_concurrency_2_time_9s.json"),
		"row-C.json": strings.Replace(tool("inference-perf/stage_2_lifecycle_metrics.json"), `"count": 4`, `"count": 5`, 1),
		"row-D.json": tool("inference-perf/stage_2_lifecycle_metrics.json")[:300],
		"row-E.json": `{"dear": "diary"}`,
		"trace.csv":  "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n",
	} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	return folder
}

// A results folder is one source: its files to the byte, its rows as points that
// are called as they are. What holds text is measured and not kept, what cannot be
// read costs nothing else, and a trace that lies in it is a trace.
func TestResultsFolder(t *testing.T) {
	folder, w := resultsFolder(t), open(t)
	results := must.Get(ingest.Load(t.Context(), w, []string{folder}, ingest.Options{}))(t)
	if len(results) != 2 || results[0].Format != "folder" || results[0].Name != "week-47" || results[1].Format != "azure" {
		t.Fatalf("got %+v", results)
	}
	notes := strings.Join(results[0].Notes, "\n")
	must.Say(t, notes, "row-B.json holds text", "row-D.json is left out", "row-E.json is left out: no known format")
	got := table(t, w, "select point, label, tool, requests from raw.points order by point")
	want := "0 row-A inference-perf 4|1 row-B genai-bench 3|2 row-C inference-perf 5"
	if joined(got) != want {
		t.Errorf("points: got %s, want %s", joined(got), want)
	}
	got = table(t, w, "select point, name, value from raw.figures where name in ('requested_rate', 'requests_per_second') order by point")
	if want := "0 requested_rate 4.0|1 requests_per_second 1.9|2 requested_rate 4.0"; joined(got) != want {
		t.Errorf("figures: got %s, want %s", joined(got), want)
	}
	if requests := number(t, w, "select count(*) from raw.result_requests where point = 1"); requests != 3 {
		t.Errorf("row-B has %d requests, want 3", requests)
	}
	for _, name := range []string{"hardware.md", "interpretation.md", "row-A.json", "row-C.json", "server-flags.md"} {
		content := must.Get(os.ReadFile(filepath.Join(folder, name)))(t)
		var stored []byte
		if err := w.DB().QueryRow("select content from raw.documents where path = ?", name).Scan(&stored); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if string(stored) != string(content) {
			t.Errorf("%s: stored %q, want %q", name, stored, content)
		}
	}
	if documents := number(t, w, "select count(*) from raw.documents"); documents != 5 {
		t.Errorf("%d documents, want 5", documents)
	}
	again, err := ingest.Load(t.Context(), w, []string{folder}, ingest.Options{})
	if err != nil || !again[0].AlreadyKnown || !again[1].AlreadyKnown {
		t.Errorf("the same folder again: got %+v", again)
	}
}

// Who refuses texts gets none of the folder, and another format is not insisted on.
func TestResultsFolderRefused(t *testing.T) {
	folder := resultsFolder(t)
	must.Do(t, os.Remove(filepath.Join(folder, "trace.csv")))
	refused(t, open(t), folder, ingest.Options{RefuseText: true}, "row-B.json", "holds text")
	refused(t, open(t), folder, ingest.Options{Format: "azure"}, "--format says azure, but it is a results folder")
	refused(t, open(t), filepath.Join(folder, "hardware.md"), ingest.Options{Format: "folder"}, "--format says folder, but it is a file")
}
