package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// A plain OpenAI server that sends no usage and no token ids: the time to the first token is measured, the time per token is
// not known, and the first line says so and why. The body file goes out with each request and is shown with the run.
func TestAServerThatCountsNoTokens(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"tiny","object":"model","owned_by":"organization"}]}`)
	})
	mux.HandleFunc("/v1/completions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			fmt.Fprint(w, `data: {"choices":[{"index":0,"text":" word","finish_reason":null}]}`+"\n\n")
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, `data: {"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	r := &running{dir: t.TempDir()}
	var trace strings.Builder
	for i := range 5 {
		fmt.Fprintf(&trace, "{\"timestamp\": %d, \"input_length\": 10, \"output_length\": 3, \"hash_ids\": [%d]}\n", 20*i, i)
	}
	for name, text := range map[string]string{"few.jsonl": trace.String(), "body.json": `{"top_p": 0.9}`} {
		must.Do(t, os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644))
	}
	r.tidemark(t, "ingest", "few.jsonl")
	out := r.tidemark(t, "replay", "few", "--base-url", server.URL, "--model", "tiny", "--body", "body.json", "--max-lateness", "1m", "--max-stall", "1m")
	if !strings.Contains(out, "TPOT unknown (the server does not say how many tokens it sent)") {
		t.Errorf("the first line does not say why TPOT is unknown:\n%s", out)
	}
	if got := r.tidemark(t, "sql", "--csv", "select server_engine, body ->> 'top_p', p99_tpot_s is null, p50_ttft_s > 0 from marts.runs"); !strings.Contains(got, "openai,0.9,true,true") {
		t.Errorf("got %s, want the engine, the body, no TPOT and a TTFT", got)
	}
}
