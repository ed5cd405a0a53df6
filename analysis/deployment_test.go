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
	"tidemark/internal/warehouse"
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
		got, err := analysis.Deployment{GPU: "NVIDIA H200", Model: test.model, WeightFormat: test.asked}.Resolve(context.Background(), w.DB())
		if err != nil || got.WeightFormat != test.want || got.GPU != "H200" {
			t.Errorf("%s with %q: got %q on %q, %v; want %q on H200", test.model, test.asked, got.WeightFormat, got.GPU, err, test.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	models := []string{"llama-2-7b", "llama-3-8b", "llama-3.1-8b", "llama-3.1-70b", "qwen2-72b", "qwen2.5-72b", "qwen3-8b", "gpt-oss-20b", "mixtral-8x7b"}
	for _, test := range []struct{ wanted, want string }{
		{"meta-llama/Meta-Llama-3-9B", "did you mean llama-3-8b, llama-3.1-8b or llama-2-7b?"},
		{"lama-3.1-8b", "did you mean llama-3.1-8b or llama-3-8b?"},
		{"Qwen/Qwen1.5-72B", "did you mean qwen2.5-72b or qwen2-72b?"},
		{"gpt-oss-21b", "did you mean gpt-oss-20b?"},
		{"mistral-7b", "did you mean mixtral-8x7b?"},
		{"bert-base", ""},
		{"", ""},
	} {
		if got := analysis.DidYouMean(models, test.wanted); got != test.want {
			t.Errorf("%s: got %q, want %q", test.wanted, got, test.want)
		}
	}
}

func TestResolve(t *testing.T) {
	w := open(t)
	got, err := analysis.Deployment{GPU: "h200-sxm", Model: "openai/gpt-oss-120b", EngineVersion: "0.24.0"}.Resolve(context.Background(), w.DB())
	want := analysis.Deployment{
		GPU: "H200", Model: "gpt-oss-120b", TensorParallelSize: 1, WeightFormat: "mxfp4", KVFormat: "bf16",
		Engine: "vllm", EngineVersion: "0.24.0", MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192,
	}
	if err != nil || got != want {
		t.Errorf("Resolve: got %+v, %v, want %+v", got, err, want)
	}
	for _, test := range []struct {
		d          analysis.Deployment
		text, hint string
	}{
		{analysis.Deployment{GPU: "H300", Model: "qwen3-32b"}, `no GPU named "H300"`, "H100"},
		{analysis.Deployment{GPU: "H100", Model: "bert"}, `no model named "bert"`, "llama-3.1-8b"},
		{analysis.Deployment{GPU: "NVIDIA H100 PCI", Model: "qwen3-32b"}, `no GPU named "NVIDIA H100 PCI"`, "did you mean H100-PCIe"},
		{analysis.Deployment{GPU: "H100", Model: "meta-llama/Meta-Llama-3-9B"}, `no model named "meta-llama/Meta-Llama-3-9B"`, "did you mean llama-3-8b"},
		{analysis.Deployment{GPU: "H100", Model: "deepseek-ai/DeepSeek-R1-Distill-Llama-8B"}, "no model named", "or give the path of its config.json"},
		{analysis.Deployment{GPU: "H100", Model: "unsloth/Qwen3-8B-bnb-4bit"}, "does not know the format that the name ends in", "name the model qwen3-8b"},
		{analysis.Deployment{GPU: "H100", Model: "Qwen/Qwen3-8B-AWQ", WeightFormat: "fp8"}, "Qwen/Qwen3-8B-AWQ is in awq by its name, and fp8 was asked for", "leave the weight format out"},
		{analysis.Deployment{GPU: "H100", Model: "qwen3-32b", WeightFormat: "fp3"}, `no weight format named "fp3"`, "awq"},
		{analysis.Deployment{GPU: "H100", Model: "qwen3-32b", KVFormat: "awq"}, `no KV cache format named "awq"`, "bf16, fp8"},
		{analysis.Deployment{GPU: "H100", Model: "qwen3-32b", TensorParallelSize: 3}, "64 attention heads of qwen3-32b cannot be shared by 3 GPUs", "divides"},
		{analysis.Deployment{GPU: "H100", Model: "qwen3-32b", WeightFormat: "mxfp4"}, "quantizes experts alone", "leave the format out"},
	} {
		wantError(t, test.d.Validate(context.Background(), w.DB()), test.text, test.hint)
	}
	_, err = analysis.LoadStepCost(context.Background(), w.DB(), analysis.Deployment{GPU: "H100", Model: "llama-3.1-70b"})
	wantError(t, err, "does not fit in the memory of 1 x H100", "more GPUs")
	// It fitted, with a KV cache of 293 tokens.
	_, err = analysis.LoadStepCost(context.Background(), w.DB(), analysis.Deployment{GPU: "H100", Model: "llama-3.1-70b", WeightFormat: "fp8"})
	wantError(t, err, "leaves room for the KV cache of 293 tokens", "more GPUs")
}

// The simulator's step time and the analysis' are one: what StepCost interpolates
// is what the macros say, on steps it has no point for.
func TestStepCostIsTheMacros(t *testing.T) {
	w := open(t)
	for _, d := range []analysis.Deployment{
		{GPU: "H100", Model: "llama-3.1-8b"},
		{GPU: "H200", Model: "llama-3.1-70b", TensorParallelSize: 4, WeightFormat: "fp8", KVFormat: "fp8"},
		{GPU: "H100", Model: "qwen3-32b", TensorParallelSize: 8, Engine: "tensorrt-llm"}, // a harder roof
		{GPU: "H200", Model: "gpt-oss-120b", TensorParallelSize: 2},                      // experts and windows
	} {
		cost, err := analysis.LoadStepCost(context.Background(), w.DB(), d)
		if err != nil {
			t.Fatal(err)
		}
		worst := worstStep(t, w, d, cost)
		if worst > 0.005 {
			t.Errorf("%s on %d x %s: a step is %.2f %% from the macros, want 0.5 %%", d.Model, d.TensorParallelSize, d.GPU, 100*worst)
		}
		if cost.KVCapacityTokens <= 0 || (d.Model == "gpt-oss-120b") != (cost.SlidingWindow == 128) {
			t.Errorf("%s: capacity %d tokens, window %d", d.Model, cost.KVCapacityTokens, cost.SlidingWindow)
		}
	}
}

// The known answer: llama-3.1-8b in BF16 on an H100, one sequence of 1000 tokens,
// step by step as the formulas say, to show that grid and macros are not both wrong.
func TestStepCostByHand(t *testing.T) {
	w := open(t)
	cost, err := analysis.LoadStepCost(context.Background(), w.DB(), analysis.Deployment{GPU: "H100", Model: "llama-3.1-8b"})
	if err != nil {
		t.Fatal(err)
	}
	weights := 2 * 7.504658432e9 / (3.35e12 * 0.89)
	multiply := 2 * 7.504658432e9 / (989e12 * 0.84)
	kv := 1000 * 131072 / (3.35e12 * 0.90)
	fixed := 32*44.5e-6 + 390e-6 + 20e-6
	want := weights + multiply + kv + fixed
	if got := cost.Seconds(1, 1000, 1000, 0, 0, 0); math.Abs(got/want-1) > 1e-9 {
		t.Errorf("Seconds: got %v, want %v", got, want)
	}
}

// worstStep is the largest relative difference over random steps.
func worstStep(t *testing.T, w *warehouse.Warehouse, d analysis.Deployment, cost analysis.StepCost) float64 {
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
	table, err := analysis.Query(context.Background(), w.DB(), `
select macros.engine_step_s(d, step.decode, step.context, step.windowed, step.prefill, step.chunks, step.pairs)
from macros.deployment(?, ?, greatest(?, 1), nullif(?, ''), nullif(?, ''), ?, null, null, null) as d
cross join (values `+strings.Join(steps, ", ")+`) as step (seq, decode, context, windowed, prefill, chunks, pairs)
order by step.seq`, d.GPU, d.Model, d.TensorParallelSize, d.WeightFormat, d.KVFormat, d.Engine)
	if err != nil {
		t.Fatal(err)
	}
	worst := 0.0
	for i, row := range table.Rows {
		worst = max(worst, math.Abs(got[i]/row[0].(float64)-1))
	}
	return worst
}
