//go:build duckdb_arrow

package ingest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// What a client's user adds to a result (--metadata K=V) goes along where it is a
// number or one of few words; people, keys, addresses and texts do not.
func TestSettingsKeepNoWordsOfPeople(t *testing.T) {
	const secrets = `"api_key":"sk-canary1","Authorization":"Bearer canary2","hf_token":"hf_canary3xyz","user":"canary4","email":"canary5@acme.com",
		"base_url":"http://canary6:8000","customer":"canary7","metadata_note":"patient canary8","first_answer":"canary9","extra_body":"canary10","dataset_path":"/home/canary11/x",
		"quantization":"sk-canary12","backend_model":"Bearer canary13",`
	content := `{"date":"20260301-090000","backend":"vllm","model_id":"toy","tokenizer_id":"toy","num_prompts":2,"max_num_seqs":64,"tensor_parallel":true,"dtype":"bfloat16",` + secrets +
		`"request_rate":2.0,"duration":1.0,"completed":2,"total_input_tokens":8,"total_output_tokens":8,"request_throughput":2.0,"output_throughput":8.0,
		"mean_ttft_ms":1.0,"median_ttft_ms":1.0,"p99_ttft_ms":1.0,"mean_tpot_ms":1.0,"median_tpot_ms":1.0,"p99_tpot_ms":1.0}`
	path := emptyFile(t)
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	result := load(t, w, write(t, "r.json", []byte(content)), ingest.Options{})
	got := table(t, w, "select settings from raw.points")[0][0]
	if want := `{"backend":"vllm","dtype":"bfloat16","max_num_seqs":64,"tensor_parallel":true,"tokenizer_id":"toy"}`; got != want {
		t.Errorf("settings: got %s, want %s", got, want)
	}
	must.Do(t, w.Close())
	bytesOf := must.Get(os.ReadFile(path))(t)
	if bytes.Contains(bytesOf, []byte("canary")) || strings.Contains(fmt.Sprint(result), "canary") {
		t.Error("a canary is in the warehouse or in what is said")
	}
}

// A results folder is kept to the byte, but for a file with a server's key in it.
func TestResultsFolderKeepsNoKeys(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"hardware.md": "8 GPUs", "server-flags.md": "vllm serve m --api-key CANARY1 --max-num-seqs 4",
		"interpretation.md": `curl -H "Authorization: Bearer CANARY2222"`, "row-A.json": `{"backend":"vllm"}`,
	} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	w := open(t)
	result := load(t, w, folder, ingest.Options{})
	if got := fmt.Sprint(table(t, w, "select path from raw.documents order by path")); got != "[[hardware.md]]" {
		t.Errorf("kept: %s", got)
	}
	if notes := strings.Join(result.Notes, "\n"); strings.Count(notes, "looks like a server's key") != 2 || strings.Contains(notes, "CANARY") {
		t.Errorf("notes: %s", notes)
	}
}

// A session that is called after somebody is numbered, the same one alike.
func TestSessionsOfResultsAreNobody(t *testing.T) {
	line := func(conversation string, start int) string {
		return fmt.Sprintf(`{"metadata":{"session_num":0,"conversation_id":%q,"turn_index":0,"request_start_ns":%d,"request_ack_ns":%d,"request_end_ns":%d,"worker_id":"w","benchmark_phase":"profiling","was_cancelled":false},`+
			`"metrics":{"input_sequence_length":{"value":5,"unit":"tokens"},"output_sequence_length":{"value":2,"unit":"tokens"},"time_to_first_token":{"value":3,"unit":"ms"},"request_latency":{"value":9,"unit":"ms"}},"error":null}`+"\n",
			conversation, start, start+1, start+9_000_000)
	}
	content := line("jane@acme.com", 1_700_000_000_000_000_000) + line("plain-7", 1_700_000_001_000_000_000) + line("jane@acme.com", 1_700_000_002_000_000_000)
	w := open(t)
	load(t, w, write(t, "profile_export.jsonl", []byte(content)), ingest.Options{})
	if got := fmt.Sprint(table(t, w, "select session_id from raw.result_requests order by seq")); got != "[[session-1] [plain-7] [session-1]]" {
		t.Errorf("got %s", got)
	}
}
