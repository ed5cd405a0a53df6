package vllmsim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// endpoint answers a request that generates no text.
type endpoint func(r *http.Request, body []byte) (status int, contentType string, answer []byte)

func (s *Server) endpointAt(path string) endpoint {
	switch path {
	case "/health", "/ping":
		return func(*http.Request, []byte) (int, string, []byte) { return http.StatusOK, "", nil }
	case "/version":
		return inJSON(func(*http.Request) any { return s.version() })
	case "/load":
		return inJSON(func(*http.Request) any { return map[string]int64{"server_load": s.answering.Load()} })
	case "/metrics":
		return func(*http.Request, []byte) (int, string, []byte) {
			return http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", s.exposition()
		}
	case "/v1/models":
		return func(*http.Request, []byte) (int, string, []byte) {
			return http.StatusOK, "application/json", s.models()
		}
	case "/server_info":
		return inJSON(s.serverInfo)
	case "/reset_prefix_cache":
		return inJSON(func(*http.Request) any {
			e, ok := s.driver.(*stepper)
			return map[string]bool{"success": !ok || e.resetPrefixCache()}
		})
	case "/tokenize":
		return s.tokenizeRequest
	case "/detokenize":
		return s.detokenizeRequest
	case "/sim/truth":
		return s.truthRequest
	}
	return nil
}

func inJSON(make func(*http.Request) any) endpoint {
	return func(r *http.Request, _ []byte) (int, string, []byte) {
		answer, err := json.Marshal(make(r))
		if err != nil {
			return http.StatusInternalServerError, "text/plain; charset=utf-8", []byte("Internal Server Error")
		}
		return http.StatusOK, "application/json", answer
	}
}

// version carries the marker by which every client can tell that its numbers
// are simulated.
func (s *Server) version() any {
	return struct {
		Version     string         `json:"version"`
		IsSimulated bool           `json:"tidemark_simulated"`
		Simulates   map[string]any `json:"simulates"`
	}{s.cfg.Version, true, s.cfg.Simulates}
}

func (s *Server) models() []byte {
	created := s.begin.Unix()
	name := appendJSONString(nil, s.cfg.Model)
	return fmt.Appendf(nil, `{"object":"list","data":[{"id":%s,"object":"model","created":%d,"owned_by":"vllm","root":%s,"parent":null,"max_model_len":%d,"permission":[{"id":"modelperm-%016x","object":"model_permission","created":%d,"allow_create_engine":false,"allow_sampling":true,"allow_logprobs":true,"allow_search_indices":false,"allow_view":true,"allow_fine_tuning":false,"organization":"*","group":null,"is_blocking":false}]}]}`,
		name, created, name, s.cfg.MaxModelLen, rand.Uint64(), created)
}

// serverInfo follows vLLM's: the configuration as one text, or as an object
// with ?config_format=json.
func (s *Server) serverInfo(r *http.Request) any {
	c := s.cfg
	config := map[string]any{
		"model_config": map[string]any{"model": c.Model, "max_model_len": c.MaxModelLen, "vocab_size": c.Vocab,
			"hf_text_config": map[string]any{"vocab_size": c.Vocab}},
		"cache_config": map[string]any{"block_size": c.BlockSize, "num_gpu_blocks": c.KVBlocks, "enable_prefix_caching": c.EnablePrefixCaching,
			"sliding_window": c.SlidingWindow},
		"scheduler_config": map[string]any{"max_num_seqs": c.MaxNumSeqs, "max_num_batched_tokens": c.MaxNumBatchedTokens, "stream_interval": c.StreamInterval,
			"enable_chunked_prefill": true, "policy": "fcfs"},
	}
	if c.Drafts > 0 {
		config["speculative_config"] = map[string]any{"method": "simulated", "num_speculative_tokens": c.Drafts}
	}
	if c.Fixed != nil {
		config["fixed"] = map[string]float64{"ttft_s": c.Fixed.TTFT.Seconds(), "tpot_s": c.Fixed.TPOT.Seconds()}
	}
	var shown any = config
	if r.URL.Query().Get("config_format") != "json" {
		shown = fmt.Sprintf("model='%s', max_seq_len=%d, vocab_size=%d, block_size=%d, num_gpu_blocks=%d, enable_prefix_caching=%t, max_num_seqs=%d, max_num_batched_tokens=%d",
			c.Model, c.MaxModelLen, c.Vocab, c.BlockSize, c.KVBlocks, c.EnablePrefixCaching, c.MaxNumSeqs, c.MaxNumBatchedTokens)
	}
	return struct {
		IsSimulated bool           `json:"tidemark_simulated"`
		Simulates   map[string]any `json:"simulates"`
		Config      any            `json:"vllm_config"`
		Env         map[string]any `json:"vllm_env"`
		System      map[string]any `json:"system_env"`
	}{true, c.Simulates, shown, map[string]any{}, map[string]any{}}
}

func refused(e *apiError) (int, string, []byte) { return e.code, "application/json", e.body() }

func (s *Server) tokenizeRequest(_ *http.Request, body []byte) (int, string, []byte) {
	f, refusal := readFields(body)
	if refusal == nil {
		refusal = s.checkModel(f)
	}
	var ids []int32
	switch {
	case refusal != nil:
	case f.get("messages") != nil:
		ids, refusal = s.chatIDs(f)
	case f.get("prompt") == nil:
		refusal = validationError("body.prompt", "missing", "Field required", fmt.Sprintf("<dict of %d items>", f.members))
	default:
		ids = tokenize(nil, f.text("prompt"), s.cfg.Vocab)
		refusal = f.bad
	}
	if refusal != nil {
		return refused(refusal)
	}
	out := fmt.Appendf(nil, `{"count":%d,"max_model_len":%d,"tokens":`, len(ids), s.cfg.MaxModelLen)
	out = append(appendIDs(out, ids), `,"token_strs":`...)
	if !f.boolean("return_token_strs") {
		return http.StatusOK, "application/json", append(out, "null}"...)
	}
	out = append(out, '[')
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendJSONString(out, tokenString(id))
	}
	return http.StatusOK, "application/json", append(out, "]}"...)
}

func (s *Server) detokenizeRequest(_ *http.Request, body []byte) (int, string, []byte) {
	f, refusal := readFields(body)
	if refusal == nil {
		refusal = s.checkModel(f)
	}
	if refusal != nil {
		return refused(refusal)
	}
	ids, ok := parseIDs(f.get("tokens"))
	if !ok {
		return refused(validationError("body.tokens", "list_type", "Input should be a valid list", pythonRepr(f.get("tokens"))))
	}
	for _, id := range ids {
		if int(id) >= s.cfg.Vocab {
			return refused(badRequest("", "Token id %d is out of vocabulary", id))
		}
	}
	out := appendJSONString([]byte(`{"prompt":`), detokenize(ids))
	return http.StatusOK, "application/json", append(out, '}')
}

// truthRequest is GET /sim/truth: with ?id= the record of one answer, otherwise
// all records, one per line.
func (s *Server) truthRequest(r *http.Request, _ []byte) (int, string, []byte) {
	id := r.URL.Query().Get("id")
	switch {
	case !s.cfg.RecordTruth:
		return http.StatusNotFound, "application/json", []byte(`{"detail":"the simulator keeps no truth: RecordTruth is off"}`)
	case id == "":
		return http.StatusOK, "application/x-ndjson", s.allTruths()
	}
	truth, ok := s.truthOf(id)
	if !ok {
		return http.StatusNotFound, "application/json", []byte(`{"detail":"no finished answer with this id"}`)
	}
	return http.StatusOK, "application/json", truth
}

// randomHex is a request id as vLLM makes them: 32 hexadecimal digits.
func randomHex() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%016x%016x", rand.Uint64(), rand.Uint64())
	return b.String()
}
