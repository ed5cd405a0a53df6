package capacity

import (
	"encoding/json"
	"testing"
	"time"

	"tidemark/internal/vllmsim"
)

func engine(budget, blocks int) vllmsim.Config {
	return vllmsim.Config{MaxNumBatchedTokens: budget, MaxNumSeqs: 256, KVBlocks: blocks, MaxModelLen: 32768}
}

// asked is a question about Poisson traffic on the twin of an 8B model.
func asked() Question {
	return Question{
		Window: poisson(6, 5*time.Minute, 3), Length: 5 * time.Minute,
		Objectives: []Objective{{Metric: TTFTFromDue, Quantile: 0.99, AtMost: 1}, {Metric: TPOT, Quantile: 0.99, AtMost: 0.04}},
		Twin:       Twin{Engine: engine(2048, 26000), StepTime: ShiftedSteps(llama8B.time)},
	}
}

// server is a rehearsed one whose constants are these, with noise and stalls, and which tells its settings.
func server(q *Question, s steps, seed uint64) *Rehearsed {
	config := q.Twin.Engine
	config.StepTime = s.time
	return &Rehearsed{Question: q, Engine: config, Noise: vllmsim.Noise{StepSD: 0.05, StallEvery: 30 * time.Second, Stall: 150 * time.Millisecond, Seed: seed},
		Says: Settings{MaxNumBatchedTokens: config.MaxNumBatchedTokens, MaxNumSeqs: 256, KVBlocks: config.KVBlocks, PrefixCaching: &config.EnablePrefixCaching}}
}

func TestSearchFindsTheLimit(t *testing.T) {
	q := asked()
	q, err := q.settled()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	a, err := Search(t.Context(), q, server(&q, llama8B.off(1.3, 1.2, 1.25, 1), 1), nil, func(e Event) error {
		if e.Kind == "run" {
			t.Logf("%v run %d %s scale %.3f start %.0f: %d requests, %s", time.Since(began).Round(time.Millisecond), e.Run.Number, e.Run.Why, e.Run.Scale, e.Run.StartS, e.Run.Count, e.Run.Verdict)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.MarshalIndent(a, "", " ")
	t.Logf("%v %s", time.Since(began), text)
}
