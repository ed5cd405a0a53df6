//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// What a name says of the format is believed, and what vLLM calls the same thing is no contradiction.
func TestAFormatInAModelsName(t *testing.T) {
	w := open(t)
	for _, test := range []struct{ model, asked, want string }{
		{"RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "", "gptq"},
		{"RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16", "compressed-tensors", "gptq"},
		{"Qwen/Qwen2-72B-Instruct-GPTQ-Int8", "gptq_marlin", "w8a16"},
		{"Qwen/Qwen3-8B-FP8", "fp8", "fp8_block"},
		{"Qwen/Qwen3-8B-AWQ", "awq_marlin", "awq"},
		{"Qwen/Qwen3-8B", "auto", "bf16"},
		{"openai/gpt-oss-20b", "", "mxfp4"},
		{"unsloth/gpt-oss-20b-BF16", "", "bf16"},
	} {
		got, err := analysis.Resolve(context.Background(), w.DB(), deployment.Deployment{GPU: "NVIDIA H200", CatalogModel: test.model, Quantization: test.asked})
		if err != nil || got.Quantization != test.want || got.GPU != "H200" {
			t.Errorf("%s with %q: got %q on %q, %v; want %q on H200", test.model, test.asked, got.Quantization, got.GPU, err, test.want)
		}
	}
}

func TestResolve(t *testing.T) {
	w := open(t)
	got, err := analysis.Resolve(context.Background(), w.DB(), deployment.Deployment{GPU: "h200-sxm", CatalogModel: "openai/gpt-oss-120b", EngineVersion: "0.24.0"})
	want := deployment.Deployment{
		GPU: "H200", CatalogModel: "gpt-oss-120b", TensorParallelSize: 1, Quantization: "mxfp4", KVCacheDtype: "bf16",
		Engine: "vllm", EngineVersion: "0.24.0", MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192,
	}
	if err != nil || got != want {
		t.Errorf("Resolve: got %+v, %v, want %+v", got, err, want)
	}
	for _, test := range []struct {
		d          deployment.Deployment
		text, hint string
	}{
		{deployment.Deployment{GPU: "cpu", CatalogModel: "qwen3-32b"}, "the law of predictions is of GPUs and does not hold on a CPU", "leave --gpu out"},
		{deployment.Deployment{GPU: "H300", CatalogModel: "qwen3-32b"}, `no GPU named "H300"`, "H100"},
		{deployment.Deployment{GPU: "H100", CatalogModel: "bert"}, `no model named "bert"`, "llama-3.1-8b"},
		{deployment.Deployment{GPU: "NVIDIA H100 PCI", CatalogModel: "qwen3-32b"}, `no GPU named "NVIDIA H100 PCI"`, "did you mean H100-PCIe"},
		{deployment.Deployment{GPU: "H100", CatalogModel: "meta-llama/Meta-Llama-3-9B"}, `no model named "meta-llama/Meta-Llama-3-9B"`, "did you mean llama-3-8b"},
		{deployment.Deployment{GPU: "H100", CatalogModel: "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"}, "no model named", "or give the path of its config.json"},
		{deployment.Deployment{GPU: "H100", CatalogModel: "unsloth/Qwen3-8B-bnb-4bit"}, "does not know the format that the name ends in", "name the model qwen3-8b"},
		{deployment.Deployment{GPU: "H100", CatalogModel: "Qwen/Qwen3-8B-AWQ", Quantization: "fp8"}, "Qwen/Qwen3-8B-AWQ is in awq by its name, and fp8 was asked for", "leave the weight format out"},
		{deployment.Deployment{GPU: "H100", CatalogModel: "qwen3-32b", Quantization: "fp3"}, `no weight format named "fp3"`, "awq"},
		{deployment.Deployment{GPU: "H100", CatalogModel: "qwen3-32b", KVCacheDtype: "awq"}, `no KV cache format named "awq"`, "bf16, fp8"},
		{deployment.Deployment{GPU: "H100", CatalogModel: "qwen3-32b", TensorParallelSize: 3}, "64 attention heads of qwen3-32b cannot be shared by 3 GPUs", "divides"},
		{deployment.Deployment{GPU: "H100", CatalogModel: "qwen3-32b", Quantization: "mxfp4"}, "quantizes experts alone", "leave the format out"},
	} {
		must.Refuse(analysis.Resolve(context.Background(), w.DB(), test.d))(t, test.text, test.hint)
	}
	must.Refuse(analysis.LoadStepCost(context.Background(), w.DB(), deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-70b"}))(t, "does not fit in the memory of 1 x H100", "more GPUs")
	// It fitted, with a KV cache of 293 tokens.
	must.Refuse(analysis.LoadStepCost(context.Background(), w.DB(), deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-70b", Quantization: "fp8"}))(t, "leaves room for the KV cache of 293 tokens", "more GPUs")
}

// The simulator's step time and the analysis' are one: what StepCost interpolates
// is what the macros say, on steps it has no point for.
func TestStepCostIsTheMacros(t *testing.T) {
	w := open(t)
	for _, d := range []deployment.Deployment{
		{GPU: "H100", CatalogModel: "llama-3.1-8b"},
		{GPU: "H200", CatalogModel: "llama-3.1-70b", TensorParallelSize: 4, Quantization: "fp8", KVCacheDtype: "fp8"},
		{GPU: "H100", CatalogModel: "qwen3-32b", TensorParallelSize: 8, Engine: "tensorrt-llm"}, // a harder roof
		{GPU: "H200", CatalogModel: "gpt-oss-120b", TensorParallelSize: 2},                      // experts and windows
		{GPU: "H200", CatalogModel: "deepseek-v3.2", TensorParallelSize: 8},                     // sparse attention
	} {
		cost := must.Get(analysis.LoadStepCost(context.Background(), w.DB(), d))(t)
		worst := worstStep(t, w, d, cost)
		if worst > 0.005 {
			t.Errorf("%s on %d x %s: a step is %.2f %% from the macros, want 0.5 %%", d.CatalogModel, d.TensorParallelSize, d.GPU, 100*worst)
		}
		window := map[string]int{"gpt-oss-120b": 128, "deepseek-v3.2": 2048}[d.CatalogModel]
		if cost.KVCapacityTokens <= 0 || cost.SlidingWindow != window {
			t.Errorf("%s: capacity %d tokens, window %d", d.CatalogModel, cost.KVCapacityTokens, cost.SlidingWindow)
		}
	}
}

// The known answer: llama-3.1-8b in BF16 on an H100, one sequence of 1000 tokens,
// step by step as the formulas say, to show that grid and macros are not both wrong.
func TestStepCostByHand(t *testing.T) {
	w := open(t)
	cost := must.Get(analysis.LoadStepCost(context.Background(), w.DB(), deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b"}))(t)
	weights := 2 * 7.504658432e9 / (3.35e12 * 0.87)
	multiply := 2 * 7.504658432e9 / (989e12 * 0.84)
	kv := 1000 * 131072 / (3.35e12 * 0.90)
	fixed := 32*44e-6 + 7e-6
	want := math.Hypot(weights, multiply) + kv + fixed
	if got := cost.Seconds(1, 1000, 1000, 0, 0, 0); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("Seconds: got %v, want %v", got, want)
	}
}

// 16 requests of 1,000 prompt and 80 answer tokens: with each step a fifth of a prompt joins, and all wait for it.
func TestTPOTOfAMix(t *testing.T) {
	w := open(t)
	cost := must.Get(analysis.LoadStepCost(context.Background(), w.DB(), deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b"}))(t)
	alone := cost.Seconds(16, 16*1040, 16*1040, 0, 0, 0)
	prompt := cost.Seconds(16, 16*1040, 16*1040, 1000, 1, 500_000) - alone
	for _, c := range []struct{ cached, output, want float64 }{
		{0, 80, alone + prompt/5},
		{0, 160, alone + prompt/10},
		{1000, 80, alone},
		{0, 0, alone},
	} {
		if got := cost.TPOT(16, 1040, 1000, c.cached, c.output); math.Abs(got/c.want-1) > 1e-12 {
			t.Errorf("%v cached, %v answered: %v, want %v", c.cached, c.output, got, c.want)
		}
	}
}

// worstStep is the largest relative difference over random steps.
func worstStep(t *testing.T, w *warehouse.Warehouse, d deployment.Deployment, cost analysis.StepCost) float64 {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var steps []string
	var got []float64
	for range 200 {
		decode := random.IntN(600)
		prefill := int(math.Exp(random.Float64() * math.Log(20_000)))
		chunks := 1 + random.IntN(3)
		if random.IntN(3) == 0 {
			decode, prefill, chunks = decode+1, 0, 0
		}
		contextTokens := int64(decode) * int64(1+random.IntN(8000))
		windowTokens := min(contextTokens, int64(decode)*128)
		pairs := float64(prefill) * float64(random.IntN(10_000))
		steps = append(steps, fmt.Sprintf("(%d, %d, %d, %d, %d, %d, %g::double)", len(steps), decode, contextTokens, windowTokens, prefill, chunks, pairs))
		got = append(got, cost.Seconds(decode, contextTokens, windowTokens, prefill, chunks, pairs))
	}
	table := must.Get(answers.Ask(context.Background(), w.DB(), `
select macros.engine_step_s(d, step.decode, step.context, step.windowed, step.prefill, step.chunks, step.pairs)
from macros.deployment(?::json) as d
cross join (values `+strings.Join(steps, ", ")+`) as step (seq, decode, context, windowed, prefill, chunks, pairs)
order by step.seq`, d.SQL()))(t)
	worst := 0.0
	for i, row := range table.Rows {
		worst = max(worst, math.Abs(got[i]/row[0].(float64)-1))
	}
	return worst
}

// An analyst who misspells a field in SQL is told so: the default would answer another question. A run's environment may have
// fields that this version does not know.
func TestAMisspeltFieldInSQL(t *testing.T) {
	w := open(t)
	must.Refuse(answers.Ask(context.Background(), w.DB(), "select gpu from macros.deployment({'gpu': 'H200', 'catalog_model': 'llama-3.1-70b', 'tp': 2})"))(t, "an unknown field")
	table, err := answers.Ask(context.Background(), w.DB(), `select tensor_parallel_size from macros.deployment('{"gpu": "H200", "catalog_model": "llama-3.1-70b", "of_later": 2}'::json)`)
	if err != nil || len(table.Rows) != 1 {
		t.Errorf("got %v, %v, want a row", table.Rows, err)
	}
}
