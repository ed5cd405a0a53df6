package hint

import (
	"slices"
	"strings"
)

// Unmodelled is the technique that a flag, a key or a column asks for and that no model here has, or "". Whoever is asked about
// one refuses it by this name: to answer as if it were not there would be an answer to another question.
func Unmodelled(name string) string {
	name = strings.ReplaceAll(strings.ToLower(strings.TrimLeft(strings.TrimSpace(name), "-")), "-", "_")
	if name == "kv_lora_rank" || name == "q_lora_rank" { // of a model's attention
		return ""
	}
	for _, one := range unmodelled {
		if slices.ContainsFunc(one.words, func(word string) bool { return strings.Contains(name, word) }) {
			return one.technique
		}
	}
	return ""
}

// unmodelled are words as engines, tools and tables write them.
var unmodelled = []struct {
	technique string
	words     []string
}{
	{"prefill/decode disaggregation", []string{"disagg", "kv_transfer", "kv_connector", "prefill_tp", "decode_tp", "prefill_ep", "decode_ep", "prefill_gpu", "decode_gpu", "prefill_worker", "decode_worker", "prefill_replica", "decode_replica"}},
	{"KV offload", []string{"offload", "swap_space", "lmcache", "hicache", "hierarchical_cache"}},
	{"LoRA", []string{"lora"}},
}

// MeasureUnmodelled is what to do instead.
const MeasureUnmodelled = "measure such a server: tidemark replay, capacity with --base-url, or ingest a result of another tool"
