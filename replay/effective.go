package replay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// effective is what a server says that it really runs with, whatever was asked for; what it does not say is left out.
type effective struct {
	EngineVersion        string  `json:"engine_version,omitempty"`
	Model                string  `json:"model,omitempty"`
	MaxModelLen          int64   `json:"max_model_len,omitempty"`
	BlockSize            int64   `json:"block_size,omitempty"`
	NumGPUBlocks         int64   `json:"num_gpu_blocks,omitempty"`
	KVCacheTokens        int64   `json:"kv_cache_tokens,omitempty"`
	GPUMemoryUtilization float64 `json:"gpu_memory_utilization,omitempty"`
	KVCacheDtype         string  `json:"kv_cache_dtype,omitempty"`
	EnablePrefixCaching  *bool   `json:"enable_prefix_caching,omitempty"`
	MaxNumSeqs           int64   `json:"max_num_seqs,omitempty"`
	MaxNumBatchedTokens  int64   `json:"max_num_batched_tokens,omitempty"`
	TensorParallelSize   int64   `json:"tensor_parallel_size,omitempty"`
	Quantization         string  `json:"quantization,omitempty"`
	Dtype                string  `json:"dtype,omitempty"`
	EnforceEager         *bool   `json:"enforce_eager,omitempty"`
	NoCustomAllReduce    *bool   `json:"disable_custom_all_reduce,omitempty"`
}

// effectiveOf takes from /metrics what /server_info has not said: from a server's own, or, where there is one server, from
// whatever addresses were given for it.
func (a *asker) effectiveOf(servers []Server, metrics []exposition) []effective {
	all := make([]effective, len(servers))
	for i, server := range servers {
		e := &all[i]
		e.readInfo(server.ServerInfo)
		own := server.target.at("/metrics")
		for _, one := range metrics {
			if one.address == own || len(servers) == 1 {
				e.readMetrics(a.cacheLabels(one.text))
			}
		}
		setDefault(&e.EngineVersion, server.Version)
		setDefault(&e.Model, cmp.Or(a.scrub.Text(server.card.Root), a.scrub.Text(server.card.ID)))
		setDefault(&e.MaxModelLen, int64(server.card.MaxModelLen))
		setDefault(&e.KVCacheTokens, e.BlockSize*e.NumGPUBlocks)
	}
	return all
}

// readInfo takes vLLM's configuration out of /server_info. What was not decided there is null or "auto".
func (e *effective) readInfo(info json.RawMessage) {
	var said struct {
		Config struct {
			Model struct {
				Model        any `json:"model"`
				MaxModelLen  any `json:"max_model_len"`
				Quantization any `json:"quantization"`
				Dtype        any `json:"dtype"`
				Eager        any `json:"enforce_eager"`
			} `json:"model_config"`
			Cache struct {
				BlockSize   any `json:"block_size"`
				Blocks      any `json:"num_gpu_blocks"`
				Tokens      any `json:"kv_cache_size_tokens"`
				Utilization any `json:"gpu_memory_utilization"`
				Dtype       any `json:"cache_dtype"`
				Prefix      any `json:"enable_prefix_caching"`
			} `json:"cache_config"`
			Scheduler struct {
				Seqs   any `json:"max_num_seqs"`
				Tokens any `json:"max_num_batched_tokens"`
			} `json:"scheduler_config"`
			Parallel struct {
				Tensor   any `json:"tensor_parallel_size"`
				NoCustom any `json:"disable_custom_all_reduce"`
			} `json:"parallel_config"`
		} `json:"vllm_config"`
	}
	if json.Unmarshal(info, &said) != nil { // none, or the text of an older version
		return
	}
	c := said.Config
	e.Model, e.MaxModelLen = wordOf(c.Model.Model), countIn(c.Model.MaxModelLen)
	e.Quantization, e.Dtype = wordOf(c.Model.Quantization), strings.TrimPrefix(wordOf(c.Model.Dtype), "torch.")
	e.BlockSize, e.NumGPUBlocks, e.KVCacheTokens = countIn(c.Cache.BlockSize), countIn(c.Cache.Blocks), countIn(c.Cache.Tokens)
	e.GPUMemoryUtilization, e.KVCacheDtype, e.EnablePrefixCaching = numberIn(c.Cache.Utilization), wordOf(c.Cache.Dtype), flagIn(c.Cache.Prefix)
	e.MaxNumSeqs, e.MaxNumBatchedTokens = countIn(c.Scheduler.Seqs), countIn(c.Scheduler.Tokens)
	e.TensorParallelSize = countIn(c.Parallel.Tensor)
	e.EnforceEager, e.NoCustomAllReduce = flagIn(c.Model.Eager), flagIn(c.Parallel.NoCustom)
}

// readMetrics takes what is still missing out of the labels of vllm:cache_config_info.
func (e *effective) readMetrics(labels map[string]any) {
	setDefault(&e.BlockSize, countIn(labels["block_size"]))
	setDefault(&e.NumGPUBlocks, countIn(labels["num_gpu_blocks"]))
	setDefault(&e.KVCacheTokens, countIn(labels["kv_cache_size_tokens"]))
	setDefault(&e.GPUMemoryUtilization, numberIn(labels["gpu_memory_utilization"]))
	setDefault(&e.KVCacheDtype, wordOf(labels["cache_dtype"]))
	setDefault(&e.EnablePrefixCaching, flagIn(labels["enable_prefix_caching"]))
}

func (a *asker) cacheLabels(text []byte) map[string]any {
	labels := map[string]any{}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, _ := parser.TextToMetricFamilies(bytes.NewReader(text)) // what was read before an error counts
	for _, m := range families["vllm:cache_config_info"].GetMetric() {
		for _, label := range m.GetLabel() {
			labels[label.GetName()] = a.scrub.Text(label.GetValue())
		}
	}
	return labels
}

// The configuration comes as JSON here and as Python's words in a label there: 128 and "128", true and "True".

func wordOf(v any) string {
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

func flagIn(v any) *bool {
	is := v == true || v == "True"
	if !is && v != false && v != "False" {
		return nil
	}
	return &is
}

// fieldsOf are the fields of a configuration as they are written down.
func fieldsOf(e effective) map[string]string {
	text, _ := json.Marshal(e) // numbers and words always marshal
	var fields map[string]any
	_ = json.Unmarshal(text, &fields)
	words := make(map[string]string, len(fields))
	for name, value := range fields {
		words[name] = fmt.Sprint(value)
	}
	return words
}

func keysOf(a, b map[string]string) iter.Seq[string] {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return maps.Keys(both)
}

func orNothing(s string) string { return cmp.Or(s, "not said") }
