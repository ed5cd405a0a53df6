//go:build duckdb_arrow

package analysis_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	vllm "tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/replay/plan"
)

// A server whose machine and GPU are others than the built-in constants say answers the plan that was made for it, and the constants are found
// back: within their intervals but for one at most, and those that the plan is made to tell within 5 %, but for the time of layers: what it takes no burst of a
// dense model tells from the weights.
func TestTheConstantsOfAWholeServerAreFoundBack(t *testing.T) {
	w := open(t)
	d := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", EngineVersion: "0.26.0"}
	cost := must.Get(analysis.LoadStepCost(t.Context(), w.DB(), d))(t)
	requests, takes, err := cost.CalibrationPlan(t.Context(), 3*time.Minute)
	must.Do(t, err)
	if takes > 3*time.Minute || len(requests) < 1000 {
		t.Errorf("%d requests in %v; want more than a thousand in at most three minutes", len(requests), takes)
	}
	truth := map[string]float64{"layer_s": 1.08, "mixed_prompt_ratio": 0.9, "admission_s": 0.6, "send_token_s": 1.3}
	warehousetest.Put(t, w, manifest("other", d, len(requests), `"is_simulated": false`), playedRows(t, "other", rehearsal.Settings{Engine: alteredCost(t, w, d, truth).Engine(), IsCold: true}, requests))
	c := must.Get(analysis.CalibrateServer(t.Context(), w.DB(), []string{"other"}, someDay))(t)
	var outside []string
	for _, one := range c.Constants {
		factor, isAltered := truth[one.Name]
		if !isAltered {
			factor = 1
		}
		want := one.Before * factor
		if one.Held == "" && one.Name != "request_token_s" && (want < one.Low || want > one.High) { // that is admission_token_s again
			outside = append(outside, fmt.Sprintf("%s: truly %v, the interval is %v to %v", one.Name, want, one.Low, one.High))
		}
		most := 0.05
		if one.Name == "layer_s" {
			most = 0.09
		}
		if isAltered && math.Abs(one.Value/want-1) > most {
			t.Errorf("%s: %v (%s), truly %v", one.Name, one.Value, one.Held, want)
		}
	}
	if len(outside) > 1 { // of sixteen intervals of 90 %
		t.Error(strings.Join(outside, "; "))
	}
	if c.Before.Median < 0.03 || c.After.Median > 0.01 {
		t.Errorf("off by %.3f before and %.3f after; want more than 0.03 and less than 0.01", c.Before.Median, c.After.Median)
	}
}

// A GPU whose memory is much slower than that of the one that was named: a few short bursts cannot tell which constants it is, and say so, but times
// per token come out, and the interval of the weights holds the truth.
func TestAMuchSlowerMemoryIsFittedToTheEnd(t *testing.T) {
	d := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", EngineVersion: "0.26.0", MaxNumSeqs: 8, MaxModelLen: 256}
	for _, slower := range []float64{2200.0 / 3350, 0.5} {
		w := open(t)
		requests, _, err := must.Get(analysis.LoadStepCost(t.Context(), w.DB(), d))(t).CalibrationPlan(t.Context(), 3*time.Minute)
		must.Do(t, err)
		truth := map[string]float64{"weight_bandwidth_ratio": slower, "kv_bandwidth_ratio": slower}
		settings := rehearsal.Settings{Engine: alteredCost(t, w, d, truth).Engine(), IsCold: true, Noise: vllm.Noise{StepSD: 0.03, Seed: 1}}
		warehousetest.Put(t, w, manifest("slow", d, len(requests), `"is_simulated": false`), playedRows(t, "slow", settings, requests))
		c := must.Get(analysis.CalibrateServer(t.Context(), w.DB(), []string{"slow"}, someDay))(t)
		if c.Before.Median < 0.25 || c.After.Median > 0.02 {
			t.Errorf("%.2f: off by %.3f before and %.3f after; want 0.25 at least and 0.02 at most", slower, c.Before.Median, c.After.Median)
		}
		must.Say(t, strings.Join(c.Warnings, "\n"), "see whether the run's GPU")
		for _, one := range c.Constants {
			if want := slower * one.Before; one.Name == "weight_bandwidth_ratio" && (want < one.Low || want > one.High) {
				t.Errorf("%s: truly %.3f, the interval is %.3f to %.3f", one.Name, want, one.Low, one.High)
			}
		}
	}
}

// playedRows gives the insert of a run in which such a server answered the requests.
func playedRows(t *testing.T, run string, settings rehearsal.Settings, requests []plan.Request) string {
	t.Helper()
	var rows insertedRows
	settings.Engine.MaxModelLen = 32768
	must.Do(t, rehearsal.PlayAll(t.Context(), settings, requests, func(r *rehearsal.Request) error {
		rows.add(run, r)
		return nil
	}))
	return rows.insert()
}

// insertedRows are requests that become rows of raw.requests.
type insertedRows []string

func (rows *insertedRows) add(run string, r *rehearsal.Request) {
	offsets := ""
	for i, at := range r.Tokens {
		if i > 0 {
			offsets += ","
		}
		offsets += fmt.Sprint((at - r.Sent).Microseconds())
	}
	*rows = append(*rows, fmt.Sprintf("('%s', %d, '%s', false, %d, %d, %[6]v, %[6]v, %[7]v, %[8]v, %[8]v, %[5]d, [%[9]s])",
		run, r.Seq, r.Class, r.InputTokens, r.OutputTokens, r.Sent.Seconds(), r.First.Seconds(), r.Last.Seconds(), offsets))
}

func (rows insertedRows) insert() string {
	return `insert into raw.requests (run_id, seq, class, is_warm_up, input_tokens, output_tokens, due_s, sent_s,
		first_token_s, last_token_s, done_s, output_tokens_reported, chunk_offsets_us) values ` + strings.Join(rows, ",\n")
}
