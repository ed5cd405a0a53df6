package replay

import (
	"encoding/json"
	"strings"
	"testing"
)

// As vLLM 0.32 answers on a CPU, cut to what is read.
const (
	realInfo = `{"vllm_config":{
		"model_config":{"model":"/models/tiny-random","dtype":"torch.bfloat16","max_model_len":16384,"quantization":null,"enforce_eager":true,"hf_token":null},
		"cache_config":{"block_size":128,"gpu_memory_utilization":0.92,"cache_dtype":"auto","enable_prefix_caching":true,"num_gpu_blocks":4096,"kv_cache_size_tokens":524288},
		"parallel_config":{"tensor_parallel_size":2,"disable_custom_all_reduce":false},
		"scheduler_config":{"max_num_batched_tokens":4096,"max_num_seqs":32}},
		"vllm_env":{},"system_env":{}}`
	realLabels = `# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="128",cache_dtype="fp8",enable_prefix_caching="False",engine="0",gpu_memory_utilization="0.9",kv_cache_size_tokens="524288",num_gpu_blocks="4096",sliding_window="None"} 1.0
`
)

func effectiveIn(t *testing.T, fake *fakeVLLM) string {
	t.Helper()
	folder := ran(t, planOf(t, every(0, 1, 9, 3)), settingsFor(fake.URL))
	text, _ := json.Marshal(documentIn(t, folder).Effective)
	return string(text)
}

func TestTheEffectiveConfigurationIsWhatTheServerSays(t *testing.T) {
	for _, c := range []struct{ what, info, metrics, want string }{
		{"by /server_info", realInfo, "", `{"engine_version":"0.32.0","model":"/models/tiny-random","max_model_len":16384,"block_size":128,"num_gpu_blocks":4096,` +
			`"kv_cache_tokens":524288,"gpu_memory_utilization":0.92,"kv_cache_dtype":"auto","enable_prefix_caching":true,"max_num_seqs":32,` +
			`"max_num_batched_tokens":4096,"tensor_parallel_size":2,"dtype":"bfloat16","enforce_eager":true,"disable_custom_all_reduce":false}`},
		{"by its metrics", "", realLabels, `{"engine_version":"0.32.0","model":"tiny","max_model_len":4096,"block_size":128,"num_gpu_blocks":4096,` +
			`"kv_cache_tokens":524288,"gpu_memory_utilization":0.9,"kv_cache_dtype":"fp8","enable_prefix_caching":false}`},
		{"by a text", `{"vllm_config":"model='x', seed=0"}`, "", `{"engine_version":"0.32.0","model":"tiny","max_model_len":4096}`},
	} {
		fake := newFake(t, well(0))
		fake.info = c.info
		fake.metrics = func() string { return c.metrics }
		if got := effectiveIn(t, fake); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}

// A server that runs with what no model here has is measured, and the run says that a prediction beside it is of another.
func TestARunNamesWhatIsNotModelled(t *testing.T) {
	fake := newFake(t, well(0))
	fake.info = `{"vllm_config":{"lora_config":{"max_loras":4}}}`
	folder := ran(t, planOf(t, every(0, 1, 9, 3)), settingsFor(fake.URL))
	if d := documentIn(t, folder); d.Effective.Unmodelled != "LoRA" || len(d.Readiness.Notes) != 1 || !strings.Contains(d.Readiness.Notes[0], "not modelled, LoRA: no prediction stands beside this run") {
		t.Errorf("%q, %q", d.Effective.Unmodelled, d.Readiness.Notes)
	}
}

// Of several servers each one's own metrics count.
func TestMetricsOfAnotherServerSayNothingOfThisOne(t *testing.T) {
	one, two := newFake(t, well(0)), newFake(t, well(0))
	two.metrics = func() string { return realLabels }
	s := settingsFor(one.URL)
	s.BaseURLs = append(s.BaseURLs, two.URL)
	folder := ran(t, planOf(t, every(0, 1, 9, 3)), s)
	d := documentIn(t, folder)
	if d.Effective.BlockSize != 0 || len(d.Readiness.Notes) != 6 {
		t.Errorf("%+v, %q", d.Effective, d.Readiness.Notes)
	}
}
