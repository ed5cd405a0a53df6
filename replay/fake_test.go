package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

func TestMain(m *testing.M) {
	if role := os.Getenv("REPLAY_TEST_ROLE"); role != "" {
		roles[role]()
		return
	}
	goleak.VerifyTestMain(m)
}

// roles are what this binary does when a test starts it again as another process.
var roles = map[string]func(){}

// fakeVLLM answers as a vLLM does; complete is what /v1/completions does.
type fakeVLLM struct {
	*httptest.Server
	complete http.HandlerFunc
	probe    http.HandlerFunc            // nil: a good answer to /v1/models
	info     string                      // of /server_info; empty: there is none
	others   map[string]http.HandlerFunc // what else it answers, by path
	metrics  func() string

	mu     sync.Mutex
	bodies []completion
	ids    []string
}

// completion is a request's body.
type completion struct {
	Model    string `json:"model"`
	Prompt   []int  `json:"prompt"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	CacheSalt   string `json:"cache_salt"`
	MaxTokens   int    `json:"max_tokens"`
	MinTokens   int    `json:"min_tokens"`
	IgnoreEOS   bool   `json:"ignore_eos"`
	Stream      bool   `json:"stream"`
	ReturnIDs   bool   `json:"return_token_ids"`
	Seed        *int   `json:"seed"`
	Stop        any    `json:"stop"`
	StreamField struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

func newFake(t testing.TB, complete http.HandlerFunc) *fakeVLLM {
	t.Helper()
	f := &fakeVLLM{complete: complete, metrics: func() string { return "vllm:num_requests_running 0\n" }}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func (f *fakeVLLM) serve(w http.ResponseWriter, r *http.Request) {
	if other := f.others[r.URL.Path]; other != nil {
		other(w, r)
		return
	}
	switch r.URL.Path {
	case "/v1/models":
		if f.probe != nil {
			f.probe(w, r)
			return
		}
		io.WriteString(w, `{"object":"list","data":[{"id":"tiny","owned_by":"vllm","max_model_len":4096}]}`)
	case "/version":
		io.WriteString(w, `{"version":"0.32.0"}`)
	case "/server_info":
		if f.info == "" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, f.info)
	case "/metrics":
		io.WriteString(w, f.metrics())
	case "/v1/completions", "/v1/chat/completions":
		var body completion
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.mu.Lock()
		f.bodies = append(f.bodies, body)
		f.ids = append(f.ids, r.Header.Get("X-Request-Id"))
		f.mu.Unlock()
		f.complete(w, r.WithContext(context.WithValue(r.Context(), bodyKey{}, body)))
	default:
		http.NotFound(w, r)
	}
}

// decodeBody takes a request's JSON; what does not fit stays empty.
func decodeBody(r *http.Request, into any) { json.NewDecoder(r.Body).Decode(into) }

type bodyKey struct{}

func bodyOf(r *http.Request) completion { return r.Context().Value(bodyKey{}).(completion) }

// event writes one SSE event and sends it off.
func event(w http.ResponseWriter, data string) {
	fmt.Fprintf(w, "data: %s\n\n", data)
	w.(http.Flusher).Flush()
}

func openStream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.(http.Flusher).Flush()
}

// tokenChunk is a chunk of vLLM's Python frontend with one token.
func tokenChunk(id int, finish string) string {
	reason := "null"
	if finish != "" {
		reason = `"` + finish + `"`
	}
	return fmt.Sprintf(`{"id":"cmpl-1","object":"text_completion","created":1,"model":"tiny","choices":[{"index":0,"text":" t","logprobs":null,"finish_reason":%s,"stop_reason":null,"prompt_token_ids":null,"token_ids":[%d]}]}`, reason, id)
}

func usageChunk(prompt, completion int) string {
	return fmt.Sprintf(`{"id":"cmpl-1","object":"text_completion","created":1,"model":"tiny","choices":[],"usage":{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":0}}}`, prompt, prompt+completion, completion)
}

// well answers as asked, with the gap before every token.
func well(gap time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := bodyOf(r)
		openStream(w)
		for i := range body.MaxTokens {
			time.Sleep(gap)
			finish := ""
			if i == body.MaxTokens-1 {
				finish = "length"
			}
			event(w, tokenChunk(100+i, finish))
		}
		event(w, usageChunk(len(body.Prompt), body.MaxTokens))
		event(w, "[DONE]")
	}
}

// every makes n requests, gap apart.
func every(gap time.Duration, n, input, output int) iter.Seq2[plan.Request, error] {
	requests := make([]plan.Request, n)
	for i := range requests {
		requests[i] = plan.Request{Seq: int64(i), Due: time.Duration(i) * gap, InputTokens: input, OutputTokens: output}
	}
	return plan.Each(requests)
}

func planOf(t testing.TB, requests iter.Seq2[plan.Request, error]) *plan.Plan {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.jsonl.zst")
	must.Get(plan.Write(path, plan.Header{Source: "test"}, plan.Choices{Seed: 7}, requests))(t)
	plan := must.Get(plan.Open(path))(t)
	return plan
}

func settingsFor(base string) Settings {
	return Settings{BaseURLs: []string{base}, Model: "tiny", RunID: "r1", Version: "test", MaxLateness: 5 * time.Second, MaxStall: 5 * time.Second}
}

// ran is the folder of a run of the plan.
func ran(t testing.TB, plan *plan.Plan, s Settings) (folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "run")
	must.Get(Run(t.Context(), plan, s, folder))(t)
	return folder
}

// replayed runs the plan and reads its folder back.
func replayed(t testing.TB, plan *plan.Plan, s Settings) (Result, []line, error) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(t.Context(), plan, s, folder)
	if _, serr := os.Stat(folder); serr != nil {
		return result, nil, err
	}
	return result, rowsIn(t, folder), err
}

// line is a line of requests.jsonl.zst as a reader sees it.
type line struct {
	Seq          int64    `json:"seq"`
	IsWarmUp     bool     `json:"is_warm_up"`
	InputTokens  int      `json:"input_tokens"`
	OutputTokens int      `json:"output_tokens"`
	Due          float64  `json:"due_s"`
	Sent         *float64 `json:"sent_s"`
	Written      *float64 `json:"written_s"`
	Headers      *float64 `json:"headers_s"`
	First        *float64 `json:"first_token_s"`
	Last         *float64 `json:"last_token_s"`
	Done         *float64 `json:"done_s"`
	Connect      *float64 `json:"connect_s"`
	Held         *float64 `json:"held_s"`
	Endpoint     string   `json:"endpoint"`
	ServerTTFT   *float64 `json:"server_ttft_s"`
	ServerGen    *float64 `json:"server_generation_s"`
	ServerQueue  *float64 `json:"server_queue_s"`
	ServerITL    *float64 `json:"server_mean_itl_s"`
	InReported   *int64   `json:"input_tokens_reported"`
	OutReported  *int64   `json:"output_tokens_reported"`
	OutCounted   *int64   `json:"output_tokens_counted"`
	Cached       *int64   `json:"cached_tokens_reported"`
	Status       int      `json:"http_status"`
	Finish       string   `json:"finish_reason"`
	Failure      string   `json:"failure"`
	Detail       string   `json:"failure_detail"`
	Offsets      []int64  `json:"chunk_offsets_us"`
	Tokens       []*int64 `json:"chunk_tokens"`
	Reads        int      `json:"reads"`
}

func rowsIn(t testing.TB, folder string) (rows []line) {
	t.Helper()
	for _, text := range linesIn(t, filepath.Join(folder, "requests.jsonl.zst")) {
		var r line
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		rows = append(rows, r)
	}
	return rows
}

// linesIn reads what can be read; the end may be torn.
func linesIn(t testing.TB, path string) (lines []string) {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	in := must.Get(plan.NewLineReader(file, nil))(t)
	defer in.Close()
	for {
		text, err := in.Next()
		if err != nil {
			return lines
		}
		lines = append(lines, string(text))
	}
}

func documentIn(t testing.TB, folder string) document {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(folder, "run.json")))(t)
	var d document
	must.Do(t, json.Unmarshal(text, &d))
	return d
}

// everything is all bytes of a folder, decompressed.
func everything(t testing.TB, folder string) string {
	t.Helper()
	var all strings.Builder
	names := must.Get(os.ReadDir(folder))(t)
	for _, name := range names {
		path := filepath.Join(folder, name.Name())
		if strings.HasSuffix(path, ".zst") {
			all.WriteString(strings.Join(linesIn(t, path), "\n"))
			continue
		}
		text := must.Get(os.ReadFile(path))(t)
		all.Write(text)
	}
	return all.String()
}
