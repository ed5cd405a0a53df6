package engines

import (
	"encoding/json"
	"net/http"
	"strings"
)

// VLLM is vLLM, V0 and V1, with the Python or the Rust frontend. Names are from vllm/v1/metrics/loggers.py,
// vllm/entrypoints/serve/dev (server_info, cache) and vllm/entrypoints/openai/completion/protocol.py, and were tried on 0.32.
//
// What its wire lacks: /server_info and /reset_prefix_cache are there only with VLLM_SERVER_DEV_MODE=1. Without /server_info
// the labels of vllm:cache_config_info say what they can.
var VLLM = Engine{
	Name:             "vllm",
	Owner:            "vllm",
	signs:            []sign{{"/metrics", "vllm:"}, {"/version", `"version"`}},
	VersionPath:      "/version",
	SettingsPaths:    []string{"/server_info?config_format=json"},
	readSettings:     readVLLMConfig,
	settingsGauge:    "vllm:cache_config_info",
	readLabels:       readCacheLabels,
	running:          "vllm:num_requests_running",
	waiting:          "vllm:num_requests_waiting",
	Reset:            CacheReset{"/reset_prefix_cache", isResetRefused},
	Fields:           Fields{MinTokens: true, TokenIDs: true, RunningUsage: true},
	DetokenizedField: "prompt",
}

// isResetRefused: a reset answers 200 also where it could not be done, since some request still holds blocks for a moment.
// Older versions say nothing, and are believed.
func isResetRefused(status int, body []byte) bool {
	said := struct {
		Success *bool `json:"success"`
	}{}
	_ = json.Unmarshal(body, &said)
	return status == http.StatusOK && said.Success != nil && !*said.Success
}

// readVLLMConfig takes the configuration out of /server_info. What was not decided there is null or "auto".
func readVLLMConfig(c *Configuration, answer []byte) {
	var said struct {
		Config struct {
			Model struct {
				Model        any `json:"model"`
				MaxModelLen  any `json:"max_model_len"`
				Quantization any `json:"quantization"`
				Dtype        any `json:"dtype"`
				Eager        any `json:"enforce_eager"`
			} `json:"model_config"`
			Cache     map[string]any `json:"cache_config"`
			Scheduler struct {
				Seqs   any `json:"max_num_seqs"`
				Tokens any `json:"max_num_batched_tokens"`
			} `json:"scheduler_config"`
			Parallel struct {
				Tensor   any `json:"tensor_parallel_size"`
				Data     any `json:"data_parallel_size"`
				Experts  any `json:"enable_expert_parallel"`
				NoCustom any `json:"disable_custom_all_reduce"`
			} `json:"parallel_config"`
			Device struct {
				Device any `json:"device"` // device_type is not told
			} `json:"device_config"`
			Speculative struct {
				Tokens any `json:"num_speculative_tokens"`
			} `json:"speculative_config"`
			Transfer any `json:"kv_transfer_config"`
			LoRA     any `json:"lora_config"`
		} `json:"vllm_config"`
	}
	if json.Unmarshal(answer, &said) != nil { // none, or the text of an older version
		return
	}
	v := said.Config
	c.Model, c.MaxModelLen = wordIn(v.Model.Model), countIn(v.Model.MaxModelLen)
	c.Quantization, c.Dtype = wordIn(v.Model.Quantization), strings.TrimPrefix(wordIn(v.Model.Dtype), "torch.")
	c.MaxNumSeqs, c.MaxNumBatchedTokens = countIn(v.Scheduler.Seqs), countIn(v.Scheduler.Tokens)
	c.TensorParallelSize, c.DataParallelSize = countIn(v.Parallel.Tensor), countIn(v.Parallel.Data)
	if isSpread := flagIn(v.Parallel.Experts); isSpread != nil { // over all GPUs, or each expert is cut
		c.ExpertParallelSize = 1
		if *isSpread {
			c.ExpertParallelSize = c.TensorParallelSize * max(c.DataParallelSize, 1)
		}
	}
	c.NumSpeculativeTokens = countIn(v.Speculative.Tokens)
	c.EnforceEager, c.NoCustomAllReduce = flagIn(v.Model.Eager), flagIn(v.Parallel.NoCustom)
	c.Unmodelled = unmodelledIn(map[string]any{"kv_transfer_config": v.Transfer, "lora_config": v.LoRA, "kv_offloading_size": v.Cache["kv_offloading_size"]},
		"kv_transfer_config", "kv_offloading_size", "lora_config")
	readCacheLabels(c, v.Cache)
	if wordIn(v.Device.Device) == "cpu" {
		c.setOnCPU()
	}
}

// readCacheLabels takes what is still missing out of vLLM's cache_config, which /server_info has as JSON and the gauge
// vllm:cache_config_info as labels of the same names.
func readCacheLabels(c *Configuration, labels map[string]any) {
	SetDefault(&c.BlockSize, countIn(labels["block_size"]))
	SetDefault(&c.NumGPUBlocks, countIn(labels["num_gpu_blocks"]))
	SetDefault(&c.KVCacheTokens, countIn(labels["kv_cache_size_tokens"]))
	SetDefault(&c.GPUMemoryUtilization, numberIn(labels["gpu_memory_utilization"]))
	SetDefault(&c.KVCacheDtype, wordIn(labels["cache_dtype"]))
	SetDefault(&c.EnablePrefixCaching, flagIn(labels["enable_prefix_caching"]))
	SetDefault(&c.Unmodelled, unmodelledIn(labels, "kv_offloading_size"))
	if isOfCPU(labels) {
		c.setOnCPU()
	}
}

// isOfCPU says whether a cache is that of vLLM's CPU platform (vllm/platforms/cpu.py): of VLLM_CPU_KVCACHE_SPACE whole GiB, in blocks of 128
// tokens that nobody asked for. Older versions have a field for it. With that space left open the labels do not tell.
func isOfCPU(labels map[string]any) bool {
	if countIn(labels["cpu_kvcache_space_bytes"]) > 0 {
		return true
	}
	isOwnBlock := flagIn(labels["user_specified_block_size"])
	space := countIn(labels["kv_cache_memory_bytes"])
	return countIn(labels["block_size"]) == 128 && isOwnBlock != nil && !*isOwnBlock && space > 0 && space%(1<<30) == 0
}
