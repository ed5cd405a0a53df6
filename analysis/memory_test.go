//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
)

func TestFitSubtractsWeightsFirst(t *testing.T) {
	w := open(t)
	number := func(x float64) *float64 { return &x }
	for _, test := range []struct {
		what string
		d    deployment.Deployment
		m    analysis.Memory
		want map[string]any // numbers within 0.1 %
	}{
		{
			"70B in 16 bits is 141.1 GB of weights: more than an H100 has",
			deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-70b"}, analysis.Memory{Tokens: 2048},
			map[string]any{"verdict": "does not fit", "weight_bytes": 141.1e9, "kv_tokens": 0.0, "requests": 0.0},
		},
		{
			"8 bits by the post's numbers: 0.9 * 80 - 70 = 2 GB, 2.98 requests of 671 MB; vLLM would print 2.98x too",
			deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-70b", Quantization: "fp8"},
			analysis.Memory{Tokens: 2048, MemoryBytes: number(80e9), WeightBytes: number(70e9), OtherBytes: number(0)},
			map[string]any{"verdict": "fits", "kv_room_bytes": 2e9, "requests": 2.980, "preemption_onset_requests": 2.0, "low_kv_tokens": nil},
		},
		{
			"and twice as many with an FP8 cache",
			deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-70b", Quantization: "fp8", KVCacheDtype: "fp8"},
			analysis.Memory{Tokens: 2048, MemoryBytes: number(80e9), WeightBytes: number(70e9), OtherBytes: number(0)},
			map[string]any{"requests": 5.960, "preemption_onset_requests": 5.0},
		},
		{
			"what the driver and the engine really leave: 76.95 - 72.65 - 4.2 GB, room for 293 tokens",
			deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-70b", Quantization: "fp8"}, analysis.Memory{Tokens: 2048},
			map[string]any{"verdict": "no room for one request", "kv_tokens": 293.0, "longest_request_tokens": 293.0, "low_kv_tokens": 0.0},
		},
		{
			"PLAN's H200 at 0.90: vLLM said 53.15 GiB = 57.07 GB, 174,161 tokens; what is kept beside follows",
			deployment.Deployment{GPU: "H200", CatalogModel: "llama-3.1-70b", Quantization: "fp8"},
			analysis.Memory{Tokens: 2048, KVTokens: number(174161)},
			map[string]any{"kv_room_bytes": 57.07e9, "other_bytes": 135.675e9 - 72.654e9 - 57.069e9, "kv_tokens": 174161.0, "high_kv_tokens": nil},
		},
		{
			"answers half done on the mean: 2048 - 512/2 = 1792 tokens; a prefix of 1024 is held once",
			deployment.Deployment{GPU: "H200", CatalogModel: "llama-3.1-70b", Quantization: "fp8"},
			analysis.Memory{Tokens: 2048, OutputTokens: 512, SharedTokens: 1024, KVTokens: number(174080)},
			map[string]any{"requests": 85.0, "longest_request_tokens": 131072.0, "requests_with_shared_prefix": 169.0, "steady_requests": (174080 - 1024.0) / 768, "limited_by": "KV cache"},
		},
		{
			"16 GPUs, 8 KV heads: held twice, so a GPU still holds one, an eighth",
			deployment.Deployment{GPU: "H200", CatalogModel: "llama-3.1-70b", TensorParallelSize: 16}, analysis.Memory{Tokens: 2048},
			map[string]any{"kv_token_bytes": 40960.0, "limited_by": "max_num_seqs"},
		},
		{
			"an A100 has no FP8: bytes of FP8, arithmetic of BF16",
			deployment.Deployment{GPU: "A100", CatalogModel: "llama-3.1-70b", Quantization: "fp8"}, analysis.Memory{Tokens: 2048},
			map[string]any{"weight_format": "fp8", "compute_format": "bf16"},
		},
	} {
		table, err := analysis.Fit(context.Background(), w.DB(), test.d, test.m)
		if err != nil || len(table.Rows) != 1 {
			t.Fatalf("%s: %d rows, %v", test.what, len(table.Rows), err)
		}
		got := map[string]any{}
		for i, column := range table.Columns {
			got[column] = table.Rows[0][i]
		}
		for name, want := range test.want {
			if !near(got[name], want) {
				t.Errorf("%s: %s: got %v, want %v", test.what, name, got[name], want)
			}
		}
	}
}

func near(got, want any) bool {
	x, isNumber := got.(float64)
	y, isWanted := want.(float64)
	if !isNumber || !isWanted {
		return got == want
	}
	return math.Abs(x-y) <= 1e-3*math.Abs(y)
}

// What to change is said by kind, the smallest change first: two H100 hold 141 GB, FP8 leaves no room for a request.
func TestFitOptions(t *testing.T) {
	w := open(t)
	table, err := analysis.FitOptions(context.Background(), w.DB(), deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-70b"}, analysis.Memory{Tokens: 2048})
	if err != nil || len(table.Rows) == 0 {
		t.Fatalf("got %d rows, %v", len(table.Rows), err)
	}
	first := map[string][]any{}
	for _, row := range table.Rows {
		if kind := row[0].(string); first[kind] == nil {
			first[kind] = row
		}
	}
	if row := first["more GPUs"]; row == nil || row[2] != int64(2) {
		t.Errorf("more GPUs: got %v, want 2", row)
	}
	if row := first["smaller weights"]; row == nil || row[3] == "fp8" || row[4].(float64) > 50e9 {
		t.Errorf("smaller weights: got %v, want a format of 4 bits", row)
	}
	if row := first["another GPU"]; row == nil || row[1] == "H200" {
		t.Errorf("another GPU: got %v: an H200 has 135.7 GB for 141.1", row)
	}
}

func TestFitOfNonsense(t *testing.T) {
	w := open(t)
	d := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b"}
	for _, test := range []struct {
		d          deployment.Deployment
		m          analysis.Memory
		text, hint string
	}{
		{d, analysis.Memory{}, "a request of 0 tokens", ""},
		{d, analysis.Memory{Tokens: 10, OutputTokens: 11}, "an answer of 11 tokens", "among"},
		{d, analysis.Memory{Tokens: 10, SharedTokens: 10}, "a shared prefix of 10 tokens", "of its own"},
		{deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", GPUMemoryUtilization: math.NaN()}, analysis.Memory{Tokens: 10}, "gpu_memory_utilization: NaN is not a number", ""},
		{deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", GPUMemoryUtilization: 90}, analysis.Memory{Tokens: 10}, "gpu_memory_utilization: 90: at most 1", ""},
		{deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", TensorParallelSize: 64}, analysis.Memory{Tokens: 10}, "32 attention heads", "divides"},
		{d, analysis.Memory{Tokens: 131073}, "131073 tokens: llama-3.1-8b takes at most 131072", "max_position_embeddings"},
		{deployment.Deployment{GPU: "H300", CatalogModel: "llama-3.1-8b"}, analysis.Memory{Tokens: 10}, `no GPU named "H300"`, "H100"},
	} {
		must.Refuse(analysis.Fit(context.Background(), w.DB(), test.d, test.m))(t, test.text, test.hint)
	}
}

// 0.1 and 0.2: 64 heads give 5.37 GB for 2,048 tokens, the model's 8 KV heads 671 MB, half of that in FP8.
func TestKVCosts(t *testing.T) {
	w := open(t)
	ctx := context.Background()
	if bytes, err := analysis.HeadKV(ctx, w.DB(), 80, 64, 128, 2, 2048); err != nil || bytes != 5368709120 {
		t.Errorf("HeadKV: got %v, %v", bytes, err)
	}
	table, err := analysis.KVCosts(ctx, w.DB(), deployment.Deployment{CatalogModel: "llama-3.1-70b", TensorParallelSize: 16}, []int64{2048})
	if err != nil || len(table.Rows) != 2 {
		t.Fatalf("KVCosts: %v, %v", table.Rows, err)
	}
	for i, want := range [][]any{
		{"llama-3.1-70b", "bf16", 2048.0, 327680.0, 671088640.0, int64(16), 671088640.0 / 8, nil},
		{"llama-3.1-70b", "fp8", 2048.0, 163840.0, 335544320.0, int64(16), 335544320.0 / 8, nil},
	} {
		for j := range want {
			if !near(table.Rows[i][j], want[j]) {
				t.Errorf("%s of %s: got %v, want %v", table.Columns[j], want[1], table.Rows[i][j], want[j])
			}
		}
	}
	// 0.671 GB take 0.140 ms at 4.8 TB/s, and not twice as long.
	table, err = analysis.KVCosts(ctx, w.DB(), deployment.Deployment{GPU: "H200", CatalogModel: "llama-3.1-70b", KVCacheDtype: "bf16"}, []int64{2048})
	if err != nil || len(table.Rows) != 1 || table.Rows[0][7].(float64) < 0.67108864/4800 || table.Rows[0][7].(float64) > 2*0.67108864/4800 {
		t.Errorf("read_s: got %v, %v", table.Rows, err)
	}
	must.Refuse(analysis.KVCosts(ctx, w.DB(), deployment.Deployment{CatalogModel: "llama-3.1-8b"}, []int64{0}))(t, "a context of 0 tokens", "")
	must.Refuse(analysis.KVCosts(ctx, w.DB(), deployment.Deployment{CatalogModel: "no-such"}, []int64{1}))(t, `no model named "no-such"`, "llama-3.1-8b")
}

// 0.2: a config without num_key_value_heads falls back to its attention heads, and that is said.
func TestLacksKVHeads(t *testing.T) {
	w := open(t)
	folder := t.TempDir()
	for _, test := range []struct {
		what, config string
		lacks        bool
	}{
		{"grouped", `{"model_type": "llama", "num_attention_heads": 64, "num_key_value_heads": 8}`, false},
		{"not said", `{"model_type": "llama", "num_attention_heads": 64}`, true},
		{"in a model that sees", `{"text_config": {"num_attention_heads": 64, "num_key_value_heads": 8}}`, false},
		{"one for all", `{"model_type": "falcon", "num_attention_heads": 71, "multi_query": true}`, false},
		{"latent", `{"model_type": "deepseek_v3", "num_attention_heads": 128, "kv_lora_rank": 512}`, false},
	} {
		path := filepath.Join(folder, "config.json")
		must.Do(t, os.WriteFile(path, []byte(test.config), 0o644))
		for _, model := range []string{path, folder} {
			if lacks, err := analysis.LacksKVHeads(context.Background(), w.DB(), model); err != nil || lacks != test.lacks {
				t.Errorf("%s, %s: got %v, %v, want %v", test.what, model, lacks, err, test.lacks)
			}
		}
	}
	if lacks, err := analysis.LacksKVHeads(context.Background(), w.DB(), "llama-3.1-8b"); err != nil || lacks {
		t.Errorf("a model of the catalogue: got %v, %v", lacks, err)
	}
}
