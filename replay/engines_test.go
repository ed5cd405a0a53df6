package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fakeSGLang answers as entrypoints/http_server.py of SGLang says: no /version, settings and scheduler in one flat object, a
// usage in each chunk when that is asked for, a flush that is refused while something runs.
type fakeSGLang struct {
	*httptest.Server
	running atomic.Int64
	flushes atomic.Int64
	bodies  chan map[string]any
}

func newSGLang(t *testing.T) *fakeSGLang {
	f := &fakeSGLang{bodies: make(chan map[string]any, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"object":"list","data":[{"id":"tiny","object":"model","created":1,"owned_by":"sglang","root":"tiny","parent":null,"max_model_len":4096}]}`)
	})
	mux.HandleFunc("/get_server_info", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"model_path":"meta-llama/Llama-3.1-8B-Instruct","tp_size":2,"dtype":"auto","quantization":"fp8","kv_cache_dtype":"auto",
			"context_length":null,"page_size":1,"mem_fraction_static":0.88,"max_running_requests":null,"chunked_prefill_size":8192,"disable_radix_cache":false,
			"disable_cuda_graph":false,"disable_custom_all_reduce":true,"api_key":"sk-other","max_total_num_tokens":450000,
			"internal_states":[{"effective_max_running_requests_per_dp":1024}],"version":"0.5.3"}`)
	})
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs{model_name=\"tiny\"} %d\nsglang:num_queue_reqs{model_name=\"tiny\"} 0\n",
			max(f.running.Add(-1), 0))
	})
	mux.HandleFunc("/flush_cache", func(w http.ResponseWriter, r *http.Request) {
		if f.flushes.Add(1) == 1 { // a request of somebody else is still there
			w.WriteHeader(http.StatusBadRequest)
		}
		io.WriteString(w, "Cache flushed.\n")
	})
	mux.HandleFunc("/v1/completions", func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		json.NewDecoder(r.Body).Decode(&body)
		f.bodies <- body
		openStream(w)
		tokens := int(body["max_tokens"].(float64))
		for n := 1; n <= tokens; n++ {
			finish := "null"
			if n == tokens {
				finish = `"length"`
			}
			event(w, fmt.Sprintf(`{"id":"1","object":"text_completion","choices":[{"index":0,"text":" t","logprobs":null,"finish_reason":%s,"matched_stop":null}],"usage":{"prompt_tokens":9,"total_tokens":%d,"completion_tokens":%d}}`, finish, 9+n, n))
		}
		event(w, fmt.Sprintf(`{"id":"1","object":"text_completion","choices":[],"usage":{"prompt_tokens":9,"total_tokens":%d,"completion_tokens":%d}}`, 9+tokens, tokens))
		event(w, "[DONE]")
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func TestSGLangIsDrainedResetComparedAndCounted(t *testing.T) {
	server := newSGLang(t)
	server.running.Store(3)
	s := settingsFor(server.URL)
	s.DrainTimeout, s.Cache = time.Minute, cacheReset
	s.Environment = &Environment{GPU: "H100", CatalogModel: "llama-3.1-8b", TensorParallelSize: 1, Quantization: "fp8", Engine: "vllm"}
	s.CatalogName = func(string) string { return "llama-3.1-8b" }
	s.Body = json.RawMessage(`{"top_p": 0.9, "temperature": 0.7, "lora_path": "adapter", "api_key": "sk-in-the-body-1234567"}`)
	var told []string
	s.Tell = func(text string) { told = append(told, text) }
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(t.Context(), planOf(t, every(0, 2, 9, 3)), s, folder)
	if err != nil || result.Completed != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	d := documentIn(t, folder)
	if d.Server.Engine != "sglang" || d.Server.EngineBy != "owned_by in /v1/models" || d.Environment.Engine != "sglang" || d.Settings.TokensCountedBy != "usage" {
		t.Errorf("engine: %+v, %+v, %+v", d.Server, d.Environment, d.Settings)
	}
	if r := d.Readiness; r.RunningBefore == nil || *r.RunningBefore == 0 || !*r.IsDrained || r.Cache.Method != "reset" || server.flushes.Load() != 2 {
		t.Errorf("readiness: %+v, %d flushes", r, server.flushes.Load())
	}
	const want = `{"engine_version":"0.5.3","model":"meta-llama/Llama-3.1-8B-Instruct","max_model_len":4096,"block_size":1,"kv_cache_tokens":450000,` +
		`"kv_cache_dtype":"auto","enable_prefix_caching":true,"max_num_seqs":1024,"max_num_batched_tokens":8192,"tensor_parallel_size":2,"quantization":"fp8",` +
		`"enforce_eager":false,"disable_custom_all_reduce":true}`
	if got, _ := json.Marshal(d.Effective); string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if len(told) != 1 || !strings.Contains(told[0], "tensor_parallel_size is 2") {
		t.Errorf("told %q", told)
	}
	body := <-server.bodies
	if body["top_p"] != 0.9 || body["temperature"] != 0.7 || body["lora_path"] != "adapter" || body["ignore_eos"] != true || body["min_tokens"] != 3.0 ||
		body["return_token_ids"] != nil || body["stream_options"].(map[string]any)["continuous_usage_stats"] != true {
		t.Errorf("body: %v", body)
	}
	for _, r := range rowsIn(t, folder) {
		if r.OutReported == nil || *r.OutReported != 3 || len(r.Tokens) != 3 || *r.Tokens[0] != 1 {
			t.Errorf("row: %+v", r)
		}
	}
	if all := everything(t, folder); strings.Contains(all, "sk-in-the-body") || strings.Contains(all, "sk-other") || !strings.Contains(all, `"top_p":0.9`) && !strings.Contains(all, `"top_p": 0.9`) {
		t.Errorf("kept: %s", all)
	}
}

// A plain OpenAI server says no usage: the tokens of its answers are not known, and nothing is made up.
func TestAPlainServerWithoutUsage(t *testing.T) {
	bodies := make(chan map[string]any, 10)
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"object":"list","data":[{"id":"tiny","object":"model","owned_by":"organization"}]}`)
	})
	mux.HandleFunc("/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		json.NewDecoder(r.Body).Decode(&body)
		bodies <- body
		openStream(w)
		event(w, `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`)
		event(w, `{"choices":[{"index":0,"delta":{"content":"some words"},"finish_reason":null}]}`)
		event(w, `{"choices":[{"index":0,"delta":{"content":" more"},"finish_reason":null}]}`)
		event(w, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
		event(w, "[DONE]")
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	s := settingsFor(server.URL)
	s.Endpoint, s.Cache, s.DrainTimeout = chatPath, cacheReset, time.Minute
	s.Body = json.RawMessage(`{"ignore_eos": null, "return_token_ids": null}`)
	folder := filepath.Join(t.TempDir(), "run")
	result, err := Run(t.Context(), planOf(t, every(0, 1, 50, 4)), s, folder)
	if err != nil || result.Completed != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	d := documentIn(t, folder)
	if d.Server.Engine != "openai" || d.Readiness.IsDrained != nil || d.Readiness.Cache.Method != "salt_per_run" || d.Server.ServerInfo != nil && string(d.Server.ServerInfo) != "null" {
		t.Errorf("%+v, %+v", d.Server, d.Readiness)
	}
	for _, r := range rowsIn(t, folder) {
		if r.OutReported != nil || r.OutCounted != nil || r.Tokens != nil {
			t.Errorf("made up: %+v", r)
		}
	}
	body := <-bodies
	for _, name := range []string{"min_tokens", "ignore_eos", "return_token_ids"} {
		if _, is := body[name]; is {
			t.Errorf("%s was sent: %v", name, body)
		}
	}
}

func TestABodyIsRefusedByName(t *testing.T) {
	for body, want := range map[string]string{
		`[1]`: "not a JSON object", `{"a":`: "not a JSON object", `{"stream": false}`: "body: stream is set by the replay itself",
		`{"min_tokens": 1, "top_p": 1}`: "body: min_tokens is set by the replay itself",
	} {
		s := settingsFor("http://tiny")
		s.Body = json.RawMessage(body)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", body, err, want)
		}
	}
	s := settingsFor("http://tiny")
	s.Engine = "tgi"
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), `engine "tgi" is not known`) {
		t.Errorf("got %v", err)
	}
}
