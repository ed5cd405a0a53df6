package engines

import (
	"fmt"
	"testing"
)

func TestWhatAServerRunsWithAndNoModelHasIsNamed(t *testing.T) {
	for _, c := range []struct {
		what   string
		engine Engine
		info   string
		want   string
	}{
		{"nothing", VLLM, `{"vllm_config":{"kv_transfer_config":null,"lora_config":null,"cache_config":{"kv_offloading_size":null,"swap_space":4.0}}}`, ""},
		{"no connector", VLLM, `{"vllm_config":{"kv_transfer_config":{"kv_connector":null,"kv_role":null}}}`, ""},
		{"disaggregation", VLLM, `{"vllm_config":{"kv_transfer_config":{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}}}`, "prefill/decode disaggregation"},
		{"a connector to memory", VLLM, `{"vllm_config":{"kv_transfer_config":{"kv_connector":"LMCacheConnectorV1"}}}`, "KV offload"},
		{"offload and adapters", VLLM, `{"vllm_config":{"lora_config":{"max_loras":4},"cache_config":{"kv_offloading_size":8}}}`, "KV offload, LoRA"},
		{"a CPU", VLLM, `{"vllm_config":{"device_config":{"device":"cpu"},"lora_config":{"max_loras":4},"model_config":{"enforce_eager":true}}}`, "LoRA, a CPU (the law does not hold there)"},
		{"a GPU", VLLM, `{"vllm_config":{"device_config":{"device":"cuda"}}}`, ""},
		{"nothing", SGLang, `{"disaggregation_mode":"null","enable_lora":null,"lora_paths":null,"max_loras_per_batch":8,"lora_backend":"csgmv","hicache_ratio":2,"enable_hierarchical_cache":false}`, ""},
		{"all", SGLang, `{"disaggregation_mode":"decode","enable_hierarchical_cache":true,"lora_paths":[{"lora_name":"a"}],"enable_lora":true}`, "prefill/decode disaggregation, KV offload, LoRA"},
	} {
		if got := c.engine.Configuration([]byte(c.info)).Unmodelled; got != c.want {
			t.Errorf("%s of %s: %q, want %q", c.what, c.engine.Name, got, c.want)
		}
	}
	for value, want := range map[string]string{"None": "", "8.0": "KV offload"} {
		text := fmt.Sprintf("# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{block_size=\"16\",kv_offloading_size=%q} 1.0\n", value)
		if got := VLLM.Configuration(nil, []byte(text)).Unmodelled; got != want {
			t.Errorf("labels with %s: %q, want %q", value, got, want)
		}
	}
	// As a vLLM on a CPU and one on an H100 said it without its settings.
	for labels, want := range map[string]string{
		`block_size="128",kv_cache_memory_bytes="1073741824",user_specified_block_size="False"`: onCPU,
		`block_size="16",cpu_kvcache_space_bytes="4294967296"`:                                  onCPU,
		`block_size="128",kv_cache_memory_bytes="1073741824",user_specified_block_size="True"`:  "",
		`block_size="128",kv_cache_memory_bytes="None",user_specified_block_size="False"`:       "",
		`block_size="16",kv_cache_memory_bytes="None",user_specified_block_size="False"`:        "",
	} {
		text := "# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{" + labels + "} 1.0\n"
		if got := VLLM.Configuration(nil, []byte(text)).Unmodelled; got != want {
			t.Errorf("labels %s: %q, want %q", labels, got, want)
		}
	}
}
