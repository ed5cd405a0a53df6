package engines

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Configuration is what a server says that it really runs with, whatever was asked for. What it does not say is left out.
// The words are vLLM's, as in the rest of the project.
type Configuration struct {
	EngineVersion        string  `json:"engine_version,omitempty"`
	Model                string  `json:"model,omitempty"`
	MaxModelLen          int64   `json:"max_model_len,omitempty"`
	BlockSize            int64   `json:"block_size,omitempty"` // tokens of a block of the KV cache
	NumGPUBlocks         int64   `json:"num_gpu_blocks,omitempty"`
	KVCacheTokens        int64   `json:"kv_cache_tokens,omitempty"` // that the KV cache holds
	GPUMemoryUtilization float64 `json:"gpu_memory_utilization,omitempty"`
	KVCacheDtype         string  `json:"kv_cache_dtype,omitempty"`
	EnablePrefixCaching  *bool   `json:"enable_prefix_caching,omitempty"`
	MaxNumSeqs           int64   `json:"max_num_seqs,omitempty"`
	MaxNumBatchedTokens  int64   `json:"max_num_batched_tokens,omitempty"`
	TensorParallelSize   int64   `json:"tensor_parallel_size,omitempty"`
	DataParallelSize     int64   `json:"data_parallel_size,omitempty"`   // engines behind one address
	ExpertParallelSize   int64   `json:"expert_parallel_size,omitempty"` // GPUs that share out whole experts; 1: each expert is cut
	Quantization         string  `json:"quantization,omitempty"`
	Dtype                string  `json:"dtype,omitempty"`
	EnforceEager         *bool   `json:"enforce_eager,omitempty"`          // no CUDA graphs
	NumSpeculativeTokens int64   `json:"num_speculative_tokens,omitempty"` // guessed ahead in a step
	NoCustomAllReduce    *bool   `json:"disable_custom_all_reduce,omitempty"`
	Unmodelled           string  `json:"unmodelled,omitempty"` // techniques that no model here has, as "KV offload, LoRA"
}

// onCPU is what a server without a GPU runs with: bandwidth says nothing of its steps.
const onCPU = "a CPU (the law does not hold there)"

// setOnCPU says that a server has no GPU. Then it has no CUDA graphs to miss either.
func (c *Configuration) setOnCPU() {
	if !strings.Contains(c.Unmodelled, onCPU) {
		c.Unmodelled = strings.TrimPrefix(c.Unmodelled+", "+onCPU, ", ")
	}
	c.EnforceEager = nil
}

// Fields are the fields that are said, by their names in run.json.
func (c Configuration) Fields() map[string]string {
	text, _ := json.Marshal(c) // numbers and words always marshal
	var fields map[string]any
	_ = json.Unmarshal(text, &fields)
	words := make(map[string]string, len(fields))
	for name, value := range fields {
		words[name] = fmt.Sprint(value)
	}
	return words
}

// Values come as JSON from one path and as Python's words in a metric's label from another: 128 and "128", true and "True".

func wordIn(v any) string {
	s, _ := v.(string)
	if s == "None" {
		return ""
	}
	return s
}

func numberIn(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case string:
		n, _ := strconv.ParseFloat(v, 64) // "None" is 0: not said
		return n
	}
	return 0
}

func countIn(v any) int64 { return int64(numberIn(v)) }

// flagIn is nil for what is neither true nor false.
func flagIn(v any) *bool {
	is := v == true || v == "True"
	if !is && v != false && v != "False" {
		return nil
	}
	return &is
}

// SetDefault fills a field that is not said yet.
func SetDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
