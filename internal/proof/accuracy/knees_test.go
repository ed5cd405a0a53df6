//go:build duckdb_arrow && knees

package accuracy_test

import (
	"cmp"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/proof/accuracy"
	"tidemark/internal/proof/must"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/replay/plan"
)

var updateKnees = flag.Bool("update-knees", false, "write the tables of docs/capacity-knees.md anew")

// sweep is the stages that one server was sent.
type sweep struct {
	name      string
	server    deployment.Deployment
	isCaching bool
	drafts    int // guessed a step by a speculating engine
	rules     []rule
	other     *change // rehearsed a second time, to show what a miss is made of
	stages    []accuracy.Stage
}

// change is one quantity set to something else than the catalogue has.
type change struct {
	name     string
	kvBlocks int     // 0: as they are
	hbm      float64 // bytes/s of one GPU's memory; 0: as it is
}

// rule finds a knee in a sweep.
type rule struct {
	name string
	knee func(levels []float64, of []accuracy.Figures) float64
}

var mostPerS = rule{"most requests/s", func(_ []float64, of []accuracy.Figures) float64 { return accuracy.Most(of) }}

func passes(name string, bound float64, figure func(accuracy.Figures) float64) rule {
	return rule{name, func(levels []float64, of []accuracy.Figures) float64 {
		values := make([]float64, len(of))
		for i, f := range of {
			values[i] = figure(f)
		}
		return accuracy.Crossing(levels, values, bound)
	}}
}

// ofItsMost is the level at which a sweep reaches a share of its largest throughput.
func ofItsMost(name string, share float64) rule {
	return rule{name, func(levels []float64, of []accuracy.Figures) float64 {
		most := accuracy.Most(of)
		return passes(name, share*most, func(f accuracy.Figures) float64 { return f.PerS }).knee(levels, of)
	}}
}

// ratios are rehearsed over measured as docs/capacity-knees.md has them: the first rule of each sweep.
var ratios = map[string]float64{
	"vllm": 0.96, "vllm_batch_size": 0.99, "vllm_eagle": 1.34, "batch limits": 0.99,
	"405B served": 1.06, "405B offline, input 128": 1.42, "405B offline, input 2048": 1.56, "405B offline, input 32784": 2.39,
}

func TestKnees(t *testing.T) {
	folder := filepath.Join(cmp.Or(os.Getenv("TIDEMARK_SHARED"), "../../../../shared"), "traces")
	if _, err := os.Stat(folder); err != nil {
		fmt.Println("LEFT OUT: rehearsed capacity beside measured knees; say where the traces are in TIDEMARK_SHARED; docs/capacity-knees.md has the last tables")
		t.Skip(err)
	}
	db := warehousetest.Open(t).DB()
	stages := accuracy.NewTable("server", "load", "requests/s", "rehearsed", "p50 TTFT", "rehearsed", "p99 TTFT", "rehearsed", "p50 TPOT ms", "rehearsed", "p99 TPOT ms", "rehearsed")
	knees := accuracy.NewTable("server", "knee", "measured", "rehearsed", "ratio", "a second rehearsal with", "gives", "ratio")
	for _, s := range sweeps(t, folder) {
		var levels []float64
		var measured, plain, changed []accuracy.Figures
		for _, stage := range s.stages {
			m, r := stage.Measured, rehearsed(t, db, s, stage, change{})
			levels, measured, plain = append(levels, stage.Level), append(measured, m), append(plain, r)
			if s.other != nil {
				changed = append(changed, rehearsed(t, db, s, stage, *s.other))
			}
			stages.Add(s.name, stage.Name, figures(m.PerS), figures(r.PerS), duration(m.P50TTFT), duration(r.P50TTFT), duration(m.P99TTFT), duration(r.P99TTFT),
				figures(1e3*m.P50TPOT), figures(1e3*r.P50TPOT), figures(1e3*m.P99TPOT), figures(1e3*r.P99TPOT))
		}
		for i, rule := range s.rules {
			m, r := rule.knee(levels, measured), rule.knee(levels, plain)
			cells := []string{s.name, rule.name, figures(m), figures(r), fmt.Sprintf("%.2f", r/m), "", "", ""}
			if s.other != nil {
				c := rule.knee(levels, changed)
				cells = append(cells[:5], s.other.name, figures(c), fmt.Sprintf("%.2f", c/m))
			}
			knees.Add(cells...)
			if want := ratios[s.name]; i == 0 && math.Abs(math.Log(r/m/want)) > 0.03 {
				t.Errorf("%s, %s: rehearsed over measured %.3f, want %.2f within 3 %%", s.name, rule.name, r/m, want)
			}
		}
	}
	putTable(t, "../../../docs/capacity-knees.md", "stages", stages.String(), "make capacity-knees", *updateKnees)
	putTable(t, "../../../docs/capacity-knees.md", "knees", knees.String(), "make capacity-knees", *updateKnees)
}

// figures writes a number with three figures, and nothing where the file says nothing.
func figures(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return show.Figures(x)
}

func duration(seconds float64) string {
	if math.IsNaN(seconds) {
		return "-"
	}
	return show.Duration(seconds)
}

// llama405 is the checkpoint meta-llama/Llama-3.1-405B-FP8: attention, head and two layers' MLP stay in BF16, which gives the 56.8 GiB
// a GPU that the publisher of the measurements reports.
const llama405 = `{"model_type": "llama", "num_hidden_layers": 126, "hidden_size": 16384, "num_attention_heads": 128,
	"num_key_value_heads": 8, "intermediate_size": 53248, "vocab_size": 128256, "max_position_embeddings": 131072, "tie_word_embeddings": false,
	"quantization_config": {"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}}`

// stacks64GB is the peak of four stacks of HBM, 1,024 bits wide each, at the memory clock of 1,593 MHz that the files of the H100 with 64 GB
// have, twice a clock: bytes/s.
const stacks64GB = 4 * 1024 / 8 * 2 * 1593e6

func sweeps(t *testing.T, folder string) []sweep {
	t.Helper()
	h100 := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3-8b", Engine: "vllm", EngineVersion: "0.11.0", MaxNumSeqs: 128, MaxNumBatchedTokens: 8192, MaxModelLen: 512}
	h100x192 := h100
	h100x192.MaxNumSeqs = 192
	kubecon := filepath.Join(folder, "inference-perf", "kubecon-na-2025-llama3-8b")
	of := func(name string) []accuracy.Stage {
		return must.Get(accuracy.ReadSweep(filepath.Join(kubecon, name), 1))(t)
	}
	eagle := of("vllm_eagle")
	for i := range eagle {
		accuracy.SharePrefixes(eagle[i].Requests, rand.New(rand.NewPCG(2, uint64(i))))
	}
	old := deployment.Deployment{GPU: "H100", CatalogModel: "llama-2-7b", Engine: "vllm", EngineVersion: "0.6.3", MaxNumBatchedTokens: 512, HBMBytesPerS: stacks64GB}
	config := filepath.Join(t.TempDir(), "llama-3.1-405b-fp8.json")
	must.Do(t, os.WriteFile(config, []byte(llama405), 0o644))
	big := deployment.Deployment{GPU: "H100", CatalogModel: config, TensorParallelSize: 8, Engine: "vllm", EngineVersion: "0.6.3", MaxNumSeqs: 256, MaxNumBatchedTokens: 512}
	offline := filepath.Join(folder, "vllm-bench", "dstack-8xh100-llama405b-throughput")
	serving := must.Get(accuracy.ReadServing(filepath.Join(folder, "vllm-bench", "dstack-8xh100-llama405b", "*.json.gz"), 1))(t)
	kv := &change{name: "a KV cache of 91,680 tokens", kvBlocks: 91680 / 16}
	memory := &change{name: "memory of 2.02 TB/s", hbm: 2.02e12}
	ofRate := func(stages []accuracy.Stage) []rule {
		lowest := stages[0].Measured.P50TPOT
		return []rule{
			mostPerS,
			passes(fmt.Sprintf("requests/s at which p99 TPOT passes %s ms", figures(2e3*lowest)), 2*lowest, func(f accuracy.Figures) float64 { return f.P99TPOT }),
			passes("requests/s at which p99 TTFT passes 250 ms", 0.25, func(f accuracy.Figures) float64 { return f.P99TTFT }),
		}
	}
	sweeps := []sweep{
		{name: "vllm", server: h100, stages: of("vllm")},
		{name: "vllm_batch_size", server: h100x192, stages: of("vllm_batch_size")},
		{name: "vllm_eagle", server: h100, isCaching: true, drafts: 4, stages: eagle},
	}
	for i := range sweeps {
		sweeps[i].rules = ofRate(sweeps[i].stages)
	}
	sweeps = append(sweeps,
		sweep{name: "batch limits", server: old, rules: []rule{mostPerS, ofItsMost("batch limit that gives 90 % of it", 0.9)}, other: memory, stages: must.Get(accuracy.ReadBatchLimits(filepath.Join(folder, "vllm-runs")))(t)},
		sweep{name: "405B served", server: big, rules: []rule{mostPerS}, other: kv, stages: []accuracy.Stage{serving}})
	for _, o := range []struct {
		input   int
		batches []int
	}{{128, []int{4, 8, 16, 32, 64, 128, 256}}, {2048, []int{4, 8, 16, 32, 64, 128, 256}}, {32784, []int{4, 8, 16}}} {
		sweeps = append(sweeps, sweep{
			name: fmt.Sprintf("405B offline, input %d", o.input), server: big, rules: []rule{mostPerS}, other: kv, stages: must.Get(accuracy.ReadOffline(offline, o.input, o.batches...))(t),
		})
	}
	return sweeps
}

// rehearsed plays a stage with the constants as they are.
func rehearsed(t *testing.T, db *sql.DB, s sweep, stage accuracy.Stage, c change) accuracy.Figures {
	t.Helper()
	d := s.server
	d.MaxNumSeqs = cmp.Or(stage.MaxNumSeqs, d.MaxNumSeqs)
	d.HBMBytesPerS = cmp.Or(c.hbm, d.HBMBytesPerS)
	cfg := engineOfKnees(t, db, d, s, c)
	cfg.KVBlocks = cmp.Or(stage.KVBlocks, c.kvBlocks, cfg.KVBlocks)
	cfg.MaxModelLen = min(131072, 16*cfg.KVBlocks)
	var sum rehearsal.Summary
	steps := func(output int) int { return max(1, int(math.Round(float64(output)/stage.PerStep))) }
	requests := func(yield func(plan.Request, error) bool) {
		for _, r := range stage.Requests {
			r.OutputTokens = steps(r.OutputTokens)
			if !yield(r, nil) {
				return
			}
		}
	}
	settings := rehearsal.Settings{Engine: cfg, MaxConcurrency: stage.InFlight}
	must.Do(t, rehearsal.Play(t.Context(), settings, requests, sum.Add))
	if sum.Requests != len(stage.Requests) {
		t.Fatalf("%s, %s: %d of %d requests were served", s.name, stage.Name, sum.Requests, len(stage.Requests))
	}
	span := (sum.End - stage.Requests[0].Due).Seconds()
	tokens := float64(stage.Requests[0].OutputTokens)
	perToken := 1.0
	if stage.PerStep > 1 { // steps between the first token and the last, as time per token
		perToken = float64(steps(int(tokens))-1) / (tokens - 1)
	}
	return accuracy.Figures{
		PerS: float64(sum.Requests) / span, P50TTFT: sum.TTFT.Quantile(0.5), P99TTFT: sum.TTFT.Quantile(0.99),
		P50TPOT: perToken * sum.TPOT.Quantile(0.5), P99TPOT: perToken * sum.TPOT.Quantile(0.99),
	}
}

// engineOfKnees is the engine as "tidemark rehearse" would have it. Drafts are added to a step as macros.drafted_s adds them.
func engineOfKnees(t *testing.T, db *sql.DB, d deployment.Deployment, s sweep, c change) engine.Config {
	t.Helper()
	ctx := context.Background()
	cost := must.Get(analysis.LoadStepCost(ctx, db, d))(t)
	d = cost.Deployment
	var draftS, sequenceS float64
	must.Do(t, db.QueryRow("select macros.draft_s(d), d.sequence_s from (select d from macros.deployment(?::json) as d)", d.SQL()).Scan(&draftS, &sequenceS))
	step := func(st engine.Step) time.Duration {
		guessed := float64(s.drafts * st.DecodeSequences)
		seconds := cost.Seconds(st.DecodeSequences*(1+s.drafts), st.ContextTokens, st.WindowTokens, st.PrefillTokens, st.PrefillChunks, st.PrefillPairs) -
			guessed*sequenceS + float64(s.drafts)*draftS
		return time.Duration(seconds * 1e9)
	}
	return engine.Config{
		MaxNumSeqs: d.MaxNumSeqs, MaxNumBatchedTokens: d.MaxNumBatchedTokens, BlockSize: 16, SlidingWindow: cost.SlidingWindow,
		KVBlocks: int(cost.KVCapacityTokens / 16), EnablePrefixCaching: s.isCaching, StepTime: step,
	}
}
