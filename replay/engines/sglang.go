package engines

import (
	"encoding/json"
	"net/http"
	"strings"
)

// SGLang is SGLang's own HTTP server. Names are from python/sglang/srt/metrics/collector.py (metrics),
// entrypoints/http_server.py (paths), server_args.py (settings) and entrypoints/openai/protocol.py (fields, owned_by), read in
// 2026; none of it was tried on a real server.
//
// What its wire lacks: /metrics is there only with --enable-metrics, cached tokens are in usage only with
// --enable-cache-report, and older versions have no return_token_ids. So tokens are counted by the running usage of each
// chunk, which all versions have. prompt_tokens and generation_tokens grow only when a request finishes: their rates are
// those of finished requests, and lag behind by the length of a request. Steps are not counted, and there is no histogram of
// prompt or answer lengths without --collect-tokens-histogram.
var SGLang = Engine{
	Name:             "sglang",
	Owner:            "sglang",
	signs:            []sign{{"/metrics", "sglang:"}, {"/get_server_info", `"internal_states"`}, {"/server_info", `"internal_states"`}},
	SettingsPaths:    []string{"/server_info", "/get_server_info"}, // the new name, and the one until 2025
	readSettings:     readServerArgs,
	running:          "sglang:num_running_reqs",
	waiting:          "sglang:num_queue_reqs",
	Reset:            CacheReset{"/flush_cache", isFlushRefused},
	Fields:           Fields{MinTokens: true, RunningUsage: true},
	DetokenizedField: "text",
}

// isFlushRefused: with requests running or waiting nothing is flushed, and the answer is 400.
func isFlushRefused(status int, _ []byte) bool { return status == http.StatusBadRequest }

// readServerArgs takes the configuration out of /server_info: the server's arguments and what its scheduler made of them,
// in one flat object. mem_fraction_static is left out: it is the share of weights and KV cache together, not vLLM's limit.
func readServerArgs(c *Configuration, answer []byte) {
	var v map[string]any
	if json.Unmarshal(answer, &v) != nil {
		return
	}
	decided := func(name string) string { // "auto" says nothing
		return strings.TrimPrefix(strings.TrimPrefix(wordIn(v[name]), "auto"), "torch.")
	}
	c.EngineVersion, c.Model, c.MaxModelLen = wordIn(v["version"]), wordIn(v["model_path"]), countIn(v["context_length"])
	c.Quantization, c.Dtype, c.KVCacheDtype = wordIn(v["quantization"]), decided("dtype"), wordIn(v["kv_cache_dtype"])
	c.BlockSize, c.KVCacheTokens = countIn(v["page_size"]), countIn(v["max_total_num_tokens"])
	c.TensorParallelSize, c.DataParallelSize, c.ExpertParallelSize = countIn(v["tp_size"]), countIn(v["dp_size"]), countIn(v["ep_size"])
	if isShared := flagIn(v["enable_dp_attention"]); isShared != nil && *isShared && c.DataParallelSize > 0 {
		c.TensorParallelSize /= c.DataParallelSize // tp_size counts all GPUs then, and attention is cut in fewer pieces
	}
	c.MaxNumSeqs, c.MaxNumBatchedTokens = countIn(v["max_running_requests"]), max(countIn(v["chunked_prefill_size"]), 0) // -1: not chunked
	if states, _ := v["internal_states"].([]any); len(states) > 0 && c.MaxNumSeqs == 0 {
		first, _ := states[0].(map[string]any)
		c.MaxNumSeqs = countIn(first["effective_max_running_requests_per_dp"])
	}
	c.EnablePrefixCaching = negated(flagIn(v["disable_radix_cache"]))
	c.EnforceEager, c.NoCustomAllReduce = flagIn(v["disable_cuda_graph"]), flagIn(v["disable_custom_all_reduce"])
	c.NumSpeculativeTokens = countIn(v["speculative_num_draft_tokens"])
	c.Unmodelled = unmodelledIn(v, "disaggregation_mode", "enable_hierarchical_cache", "enable_lmcache", "enable_lora", "lora_paths")
}

func negated(flag *bool) *bool {
	if flag == nil {
		return nil
	}
	not := !*flag
	return &not
}
