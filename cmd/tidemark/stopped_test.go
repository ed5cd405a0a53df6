package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// A server that goes away ends the run, and the run is taken in: what it
// measured until then counts. The server is named before any figure, whatever
// the client's lateness, and everywhere.
func TestARunThatStopsByItselfIsTakenIn(t *testing.T) {
	var answered atomic.Int32
	var server *httptest.Server
	server = httptest.NewServer(serving(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, `data: {"id":"cmpl-1","choices":[{"index":0,"text":" a b","token_ids":[300,301],"finish_reason":"length"}]}`+"\n\n")
		fmt.Fprint(w, `data: {"id":"cmpl-1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`+"\n\ndata: [DONE]\n\n")
		if answered.Add(1) == 3 {
			server.Listener.Close()
		}
	}))
	t.Cleanup(server.Close)

	r := &running{dir: t.TempDir()}
	var trace strings.Builder
	for i := range 100 {
		fmt.Fprintf(&trace, "{\"timestamp\": %d, \"input_length\": 10, \"output_length\": 2, \"hash_ids\": [%d]}\n", 20*i, i)
	}
	must.Do(t, os.WriteFile(filepath.Join(r.dir, "steady.jsonl"), []byte(trace.String()), 0o644))
	r.tidemark(t, "ingest", "steady.jsonl")
	code, stderr := r.fails(t, "replay", "steady", "--base-url", server.URL, "--model", "llama-3.1-8b", "--max-lateness", "1ns", "--max-stall", "1ns")
	if code != kit.ExitNotMet || !strings.Contains(stderr, "stopped: the server at "+strings.TrimPrefix(server.URL, "http://")) {
		t.Errorf("exit code %d, want %d with the address of the server; stderr:\n%s", code, kit.ExitNotMet, stderr)
	}
	if _, completed, planned := r.counts(t); completed < 3 || completed == planned || planned != 100 {
		t.Errorf("completed %d of %d, want at least 3 and not all of 100", completed, planned)
	}
}

// An exit code alone is not an error to print, nor is what a signal cancelled.
func TestWhatIsWorthSaying(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		want bool
	}{
		{nil, 0, false},
		{kit.ExitError{Code: kit.ExitInvalid}, kit.ExitInvalid, false},
		{kit.ExitError{Code: kit.ExitInvalid}, 130, false},
		{context.Canceled, 130, false},
		{context.Canceled, kit.ExitFailed, true},
		{fmt.Errorf("report: template: %w", &duckdb.Error{Type: duckdb.ErrorTypeInterrupt}), 143, false},
		{errors.New("disk full"), 130, true},
		{hint.Misuse("no file"), kit.ExitMisuse, true},
	} {
		if got := isWorthSaying(c.err, c.code); got != c.want {
			t.Errorf("%v with code %d: got %v, want %v", c.err, c.code, got, c.want)
		}
	}
}
