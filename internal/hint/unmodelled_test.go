package hint

import "testing"

func TestWhatIsNotModelledHasAName(t *testing.T) {
	for name, want := range map[string]string{
		"--kv-transfer-config": "prefill/decode disaggregation", "disaggregation_mode": "prefill/decode disaggregation", "disagg": "prefill/decode disaggregation",
		"num_prefill_gpu": "prefill/decode disaggregation", "decode_tp": "prefill/decode disaggregation",
		"--cpu-offload-gb": "KV offload", "kv_offloading_size": "KV offload", "--swap-space": "KV offload", "enable-hierarchical-cache": "KV offload",
		"--enable-lora": "LoRA", "max_loras": "LoRA", "lora_adapter": "LoRA",
		"kv_lora_rank": "", "q_lora_rank": "", "kv_cache_dtype": "", "max_num_seqs": "", "gpu": "", "tensor_parallel_size": "",
	} {
		if got := Unmodelled(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
