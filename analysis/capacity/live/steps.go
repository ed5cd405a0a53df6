package live

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/internal/engine"
	"tidemark/replay"
	"tidemark/replay/plan"
)

// Steps is the step time of a server of which nothing is known, from a few dozen small requests: what a token takes alone and among eight,
// what a long prompt adds to the first token, and what its context adds to the others. It is a beginning: the search shifts its speed.
//
//	seconds = Base + Sequence * sequences + Context * tokens of context + Prompt * prompt tokens
type Steps struct{ Base, Sequence, Context, Prompt float64 }

// Time is the duration of a step.
func (s Steps) Time(step engine.Step) time.Duration {
	return time.Duration(1e9 * (s.Base + s.Sequence*float64(step.DecodeSequences) + s.Context*float64(step.ContextTokens) + s.Prompt*float64(step.PrefillTokens)))
}

// The requests that show the steps.
const (
	fewTokens  = 32 // of a prompt, and of an answer
	together   = 8  // requests at once
	eachOfThem = 3  // rounds

	unloadedRequests = 5 // before each run
)

// MeasureSteps sends them, with prompts of up to so many tokens, and says what the server tells of its settings.
func (s *Server) MeasureSteps(ctx context.Context, longPrompt int) (Steps, capacity.Settings, error) {
	work, err := os.MkdirTemp("", "tidemark-steps-")
	if err != nil {
		return Steps{}, capacity.Settings{}, err
	}
	defer os.RemoveAll(work)
	longPrompt = max(longPrompt, 4*fewTokens)
	alone, err := s.lookAt(ctx, filepath.Join(work, "alone"), 1, 6, fewTokens)
	if err != nil {
		return Steps{}, capacity.Settings{}, err
	}
	long, err := s.lookAt(ctx, filepath.Join(work, "long"), 1, 4, longPrompt)
	if err != nil {
		return Steps{}, capacity.Settings{}, err
	}
	many, err := s.lookAt(ctx, filepath.Join(work, "many"), together, together*eachOfThem, fewTokens)
	if err != nil {
		return Steps{}, capacity.Settings{}, err
	}
	r, err := readRecord(filepath.Join(work, "alone"))
	if err != nil {
		return Steps{}, capacity.Settings{}, err
	}
	steps := Steps{Sequence: max(0, (many.tpot-alone.tpot)/(together-1)), Context: max(0, (long.tpot-alone.tpot)/float64(longPrompt-fewTokens))}
	steps.Base = max(alone.tpot-steps.Sequence-steps.Context*1.5*fewTokens, 0.2*alone.tpot)
	steps.Prompt = max(0, (long.ttft-alone.ttft)/float64(longPrompt-fewTokens))
	return steps, r.said().Settings, nil
}

// looked is the medians of a few requests, seconds.
type looked struct{ ttft, tpot, e2e float64 }

func (s *Server) lookAt(ctx context.Context, folder string, atOnce, n, prompt int) (l looked, err error) {
	requests := make([]plan.Request, n)
	for i := range requests {
		requests[i] = plan.Request{Seq: int64(i), InputTokens: prompt, OutputTokens: fewTokens}
	}
	planned, err := s.plan(folder+".jsonl.zst", requests, "open")
	if err != nil {
		return l, err
	}
	settings := s.smallSettings(filepath.Base(folder))
	settings.Mode, settings.MaxConcurrency = "closed", atOnce
	w := newWatcher(n)
	settings.Watch = w.see
	if _, err := replay.Run(ctx, planned, settings, folder); err != nil {
		return l, err
	}
	var ttft, tpot, e2e []float64
	for _, r := range w.replies {
		if r.Last > r.First && !r.IsFailed && r.Tokens > 1 {
			ttft = append(ttft, (r.First - r.Sent).Seconds())
			e2e = append(e2e, (r.Last - r.Sent).Seconds())
			tpot = append(tpot, (r.Last-r.First).Seconds()/float64(r.Tokens-1))
		}
	}
	if len(tpot) == 0 {
		return l, fmt.Errorf("capacity: the server answered none of %d small requests with prompts of %d tokens", n, prompt)
	}
	return looked{median(ttft), median(tpot), median(e2e)}, nil
}

// median is the upper of two values in the middle: a time that was measured, not a mean of two (as stat.Median).
func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// Engine is what a server runs with, where it tells, and otherwise vLLM's defaults with room for the KV cache of all.
func Engine(said capacity.Settings, maxModelLen int) engine.Config {
	c := said.On(engine.Config{MaxNumSeqs: 256, MaxNumBatchedTokens: 8192, BlockSize: 16, EnablePrefixCaching: true, MaxModelLen: max(maxModelLen, 2)})
	c.MaxNumBatchedTokens = max(c.MaxNumBatchedTokens, c.MaxNumSeqs)
	ofOne := int(math.Ceil(float64(c.MaxModelLen) / 16))
	if c.KVBlocks == 0 {
		c.KVBlocks = ofOne * min(c.MaxNumSeqs, 64)
	}
	c.KVBlocks = max(c.KVBlocks, ofOne)
	return c
}
