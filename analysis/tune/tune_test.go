package tune

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

const head = "schema: tidemark.tune/1\nname: chat\ntraffic: t\nslo: s.yaml\ndeployment: {gpu: H100, model: llama-3.1-8b}\n"

func parsed(t *testing.T, text string) File {
	t.Helper()
	f := must.Get(Parse([]byte(head + text)))(t)
	return f
}

func TestCandidatesAreTheBaselineAndEveryCombination(t *testing.T) {
	f := parsed(t, "space:\n  max_num_seqs: [64, 128]\n  enable_prefix_caching: [true, false]\n  eager: {flag: --mode, values: [a, b]}\n")
	all, err := f.Candidates()
	if err != nil || len(all) != 9 || !all[0].IsBaseline || len(all[0].Flags()) != 0 {
		t.Fatalf("%d candidates, %v", len(all), err)
	}
	if got := strings.Join(all[4].Flags(), " "); got != "--max-num-seqs 64 --no-enable-prefix-caching --mode b" || all[4].IsCached || all[4].Deployment.MaxNumSeqs != 64 {
		t.Errorf("the fourth combination is %q of %+v", got, all[4])
	}
	if got := all[8].Label(); got != "seqs 128, no cache, eager b" {
		t.Errorf("label %q", got)
	}
}

func TestLiveKnobsNeedNoOtherStart(t *testing.T) {
	f := parsed(t, "live:\n  mode: {set: [curl, -d, \"m={value}\", \"http://h/set\"], values: [a, b]}\nspace: {max_num_seqs: [64]}\n")
	all := must.Get(f.Candidates())(t)
	if got := strings.Join(all[2].Flags(), " "); got != "--max-num-seqs 64 mode=b" || strings.Join(all[2].StartFlags(), " ") != "--max-num-seqs 64" {
		t.Errorf("flags %q, at the start %q", got, all[2].StartFlags())
	}
	if commands, areAll := all[2].Live(); !areAll || len(commands) != 1 || strings.Join(commands[0], " ") != "curl -d m=b http://h/set" {
		t.Errorf("%q, all %v", commands, areAll)
	}
	if commands, areAll := all[0].Live(); areAll || commands != nil {
		t.Errorf("the deployment says nothing of it, so that a server that had another is none: %q", commands)
	}
	for text, want := range map[string]string{
		"live: {mode: [a, b]}\n":                                                                           "live.mode: no program that sets it on a running server",
		"live: {mode: {set: [./set.sh], values: [a]}}\n":                                                   "with {value} among its arguments",
		"live: {mode: {set: [./set.sh, \"x{value}\"], values: [a, a]}}\n":                                  "a is there twice",
		"space: {max_num_seqs: [64]}\nlive: {max_num_seqs: {set: [./set.sh, \"{value}\"], values: [1]}}\n": "is under space and under live",
	} {
		if _, err := Parse([]byte(head + text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestWhatNoModelHasIsNeitherTunedNorStarted(t *testing.T) {
	for text, want := range map[string]string{
		"space: {kv_offloading_size: [4, 8]}\n":                    "space.kv_offloading_size: kv_offloading_size: KV offload is not modelled",
		"space: {adapters: {flag: --max-loras, values: [1, 4]}}\n": "--max-loras: LoRA is not modelled",
		"space: {lora: {flag: --adapters, values: [1, 4]}}\n":      "LoRA is not modelled",
		"space: {max_num_seqs: [64]}\nserver: {start: [vllm, serve, \"--kv-transfer-config={}\", \"{flags}\"], base_url: \"http://h:1\", model: m}\n": "--kv-transfer-config: prefill/decode disaggregation is not modelled",
	} {
		if _, err := Parse([]byte(head + text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestConstraintsCompareSettingsAndNumbers(t *testing.T) {
	f := parsed(t, "space: {max_num_seqs: [64, 128]}\nconstraints: [\"max_num_seqs < 100\"]\n")
	all, _ := f.Candidates()
	if all[1].breaks(f.Constraints) != "" || all[2].breaks(f.Constraints) != "max_num_seqs < 100" || all[0].breaks(f.Constraints) != "" {
		t.Error("64 keeps it, 128 breaks it, and what is not known breaks nothing")
	}
}

// question is about half a minute of even traffic on a server whose step takes 10 ms and 40 us for each token of a prompt.
func question(seqs, tokens, blocks int) capacity.Question {
	window := make([]plan.Request, 120)
	for i := range window {
		window[i] = plan.Request{Seq: int64(i), Due: time.Duration(i) * 250 * time.Millisecond, InputTokens: 400, OutputTokens: 20}
	}
	step := func(s engine.Step) time.Duration {
		return 10*time.Millisecond + time.Duration(s.DecodeSequences)*200*time.Microsecond + time.Duration(s.PrefillTokens)*40*time.Microsecond
	}
	return capacity.Question{
		Window: window, Length: 30 * time.Second, Seed: 1, Objectives: []capacity.Objective{{Metric: metric.TPOT, Quantile: 0.9, AtMost: 0.02}, {Metric: metric.TTFTFromDue, Quantile: 0.9, AtMost: 0.5}},
		Twin: capacity.Twin{Engine: engine.Config{MaxNumSeqs: seqs, MaxNumBatchedTokens: tokens, KVBlocks: blocks, BlockSize: 16, MaxModelLen: 1024}, StepTime: capacity.ShiftedSteps(step), Replicas: 1, AreSettingsCertain: true},
	}
}

// Limits that are never reached change nothing, so one rehearsal is that of all: each candidate must be told what it would be told alone.
func TestWhatTheEngineCannotTellApart(t *testing.T) {
	f := parsed(t, "space:\n  max_num_seqs: [4, 512, 1024]\n  max_num_batched_tokens: [1024, 65536, 131072]\n")
	candidates := must.Get(f.Candidates())(t)
	limits := func(c *Candidate) (seqs, tokens int) {
		if c.IsBaseline {
			return 1024, 65536
		}
		return c.Deployment.MaxNumSeqs, c.Deployment.MaxNumBatchedTokens
	}
	rows := must.Get(f.Rehearse(t.Context(), candidates, func(_ int, c *Candidate) (Modelled, error) {
		seqs, tokens := limits(c)
		return Modelled{Question: question(seqs, tokens, 1<<16), USDPerHour: 3.6}, nil
	}, func(chosen []Candidate) ([]float64, error) { return make([]float64, len(chosen)), nil }, func(string, int, int) {}))(t)
	classes := map[int]int{}
	for i, r := range rows {
		classes[r.Class]++
		seqs, tokens := limits(&candidates[i])
		q := question(seqs, tokens, 1<<16)
		alone, _, _, err := short(t.Context(), q, 0)
		if err != nil || math.Abs(alone/r.Short-1) > 0.02 {
			t.Errorf("%s: %v of its class and %v alone, %v", r.Label(), r.Short, alone, err)
		}
	}
	if len(classes) == len(rows) || len(classes) < 2 {
		t.Errorf("%d classes of %d candidates: want those that differ only beyond what is reached to be one", len(classes), len(rows))
	}
	best := slices.IndexFunc(rows, func(r Row) bool { return r.IsKnee })
	if best < 0 || rows[best].Full == nil {
		t.Fatal("nothing is to be set")
	}
	truth, err := capacity.Rehearse(t.Context(), question(1024, 65536, 1<<16))
	if err != nil || *truth.RatePerS != rows[0].RatePerS {
		t.Errorf("the baseline takes %v/s and by capacity %v/s: one question has one answer; %v", rows[0].RatePerS, *truth.RatePerS, err)
	}
	// 20 tokens each, 3.6 $/h: 0.001 $/s over 20 times the rate a second, times the share that misses nothing.
	if missed := rows[0].Full.Shares[1].Missed[0] + rows[0].Full.Shares[1].Missed[1]; math.Abs(*rows[0].USDPerMillion/(0.001/(rows[0].RatePerS*20*(1-missed)/1e6))-1) > 1e-9 {
		t.Errorf("%v $ for a million, at %v/s", *rows[0].USDPerMillion, rows[0].RatePerS)
	}
}

func TestFrontAndKnee(t *testing.T) {
	usd := func(v float64) *float64 { return &v }
	f := File{Objectives: []string{MostRate, LeastCost}}
	rows := []Row{
		{RatePerS: 10, USDPerMillion: usd(1)},   // the cheapest
		{RatePerS: 18, USDPerMillion: usd(1.1)}, // nearly the most, nearly the cheapest
		{RatePerS: 20, USDPerMillion: usd(2)},
		{RatePerS: 17, USDPerMillion: usd(1.2)}, // beaten by the second
		{},
	}
	f.markFront(rows)
	got := ""
	for _, r := range rows {
		got += fmt.Sprint(r.IsOnFront, r.IsKnee, " ")
	}
	if got != "true false true true true false false false false false " {
		t.Error(got)
	}
}
