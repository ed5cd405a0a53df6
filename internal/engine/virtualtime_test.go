package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// Steps of 10 ms: the first job's prompt takes one, which yields a token, and two more follow; the second comes during the
// second step, shares the third, and goes on alone. The third finds nobody.
func TestVirtualTimeByHand(t *testing.T) {
	v := must.Get(NewVirtual(Config{StepTime: func(Step) time.Duration { return 10 * time.Millisecond }}, Noise{}, false))(t)
	ms := time.Millisecond
	jobs := []*Job{{Prompt: 100, Output: 3}, {Prompt: 50, Output: 2}, {Prompt: 7, Output: 1}}
	playOn(v, jobs, []time.Duration{0, 15 * ms, time.Hour}, nil)
	want := [][2]time.Duration{{10 * ms, 30 * ms}, {30 * ms, 40 * ms}, {time.Hour + 10*ms, time.Hour + 10*ms}}
	for i, job := range jobs {
		if job.First != want[i][0] || job.Last != want[i][1] {
			t.Errorf("job %d: first %v, last %v; want %v", i, job.First, job.Last, want[i])
		}
	}
	if v.Fits(&Job{Prompt: 0, Output: 1}) == nil || v.Fits(&Job{Prompt: 131072, Output: 1}) == nil {
		t.Error("a job that no server takes fits")
	}
}

// A prompt's token takes 1 ms, and a step that decodes 10 ms more. The first job has 4 ms of its prompt and 10 of its second token; the third comes
// from a step that also holds the 6 tokens of the second job: 10 ms are the first's and 6 the second's, which then decodes alone for 10.
func TestStepsAreSharedByHand(t *testing.T) {
	v := must.Get(NewVirtual(Config{StepTime: func(s Step) time.Duration {
		return time.Duration(s.PrefillTokens+10*min(s.DecodeSequences, 1)) * time.Millisecond
	}}, Noise{}, true))(t)
	jobs := []*Job{{Prompt: 4, Output: 3}, {Prompt: 6, Output: 2}}
	playOn(v, jobs, []time.Duration{0, 8 * time.Millisecond}, nil)
	if math.Abs(jobs[0].EngineS-0.024) > 1e-9 || math.Abs(jobs[1].EngineS-0.016) > 1e-9 {
		t.Errorf("shares %v and %v, want 0.024 and 0.016", jobs[0].EngineS, jobs[1].EngineS)
	}
}

// Four blocks of four tokens hold two prompts of six until the ninth token of one: the other loses the eight that it has, and computes them
// again once the first is done. All steps together are the shares of both.
func TestRecomputedTokensByHand(t *testing.T) {
	v := must.Get(NewVirtual(Config{KVBlocks: 4, BlockSize: 4, MaxModelLen: 16, StepTime: func(Step) time.Duration { return 10 * time.Millisecond }}, Noise{}, true))(t)
	jobs := []*Job{{Prompt: 6, Output: 6}, {Prompt: 6, Output: 6}}
	playOn(v, jobs, []time.Duration{0, 0}, nil)
	if jobs[0].Recomputed != 0 || jobs[1].Recomputed != 8 || jobs[1].Preemptions != 1 {
		t.Errorf("recomputed %d and %d, preempted %d; want 0, 8 and 1", jobs[0].Recomputed, jobs[1].Recomputed, jobs[1].Preemptions)
	}
	if all := jobs[0].EngineS + jobs[1].EngineS; math.Abs(all-jobs[1].Last.Seconds()) > 1e-9 {
		t.Errorf("shares add up to %v, steps to %v", all, jobs[1].Last.Seconds())
	}
}

// playOn lets the jobs arrive at their instants.
func playOn(v *Virtual, jobs []*Job, at []time.Duration, tokens map[*Job][]time.Duration) {
	for next := 0; next < len(jobs) || v.End() != Never; {
		if next < len(jobs) && at[next] <= v.End() {
			v.Add(jobs[next], at[next])
			next++
			continue
		}
		v.Finish(func(job *Job) {
			if tokens != nil {
				tokens[job] = v.TokenTimes(nil, job)
			}
		})
	}
}

// Instants of a request that had just ended were dropped with those that nobody needed any more: every 4,096 stretches it got others',
// or none.
func TestTokensOfARequestThatHasJustEndedAreKept(t *testing.T) {
	v := must.Get(NewVirtual(Config{StepTime: func(Step) time.Duration { return 10 * time.Millisecond }}, Noise{}, true))(t)
	var jobs []*Job
	var at []time.Duration
	for i := range 5000 { // each alone: its prompt is a stretch, and its other tokens are one
		jobs, at = append(jobs, &Job{Prompt: 100, Output: 3}), append(at, time.Duration(i)*time.Second)
	}
	tokens := map[*Job][]time.Duration{}
	playOn(v, jobs, at, tokens)
	for i, job := range jobs {
		ms := 10 * time.Millisecond
		if want := []time.Duration{at[i] + ms, at[i] + 2*ms, at[i] + 3*ms}; !slices.Equal(tokens[job], want) {
			t.Fatalf("job %d: got %v, want %v", i, tokens[job], want)
		}
	}
}

// walked plays the same jobs step by step, as the engine behind HTTP does: what Virtual must agree with.
func walked(cfg Config, jobs []*Job, at []time.Duration) (tokens map[*Job][]time.Duration, preempted, hits int) {
	cfg, _ = cfg.WithDefaults()
	s := NewScheduler(cfg)
	tokens = map[*Job][]time.Duration{}
	clock, next := time.Duration(0), 0
	for next < len(jobs) || !s.IsIdle() {
		if s.IsIdle() {
			clock = max(clock, at[next])
		}
		for ; next < len(jobs) && at[next] <= clock; next++ {
			s.Add(jobs[next].sequence())
		}
		b := s.Schedule()
		preempted += len(b.Preempted)
		hits += b.Hit
		clock += cfg.StepTime(b.Step)
		for _, q := range s.Complete(b) {
			job := q.Owner.(*Job)
			tokens[job] = append(tokens[job], clock)
		}
	}
	return tokens, preempted, hits
}

// A stretch of steps at once gives every token the instant that walking each step gives it, with queues, preemption,
// prefixes and a window.
func TestVirtualTimeIsThatOfEveryStep(t *testing.T) {
	preempted, hits := 0, 0
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		cfg := Config{
			MaxModelLen: 600, MaxNumSeqs: 1 + rnd.IntN(12), MaxNumBatchedTokens: 64 + rnd.IntN(500), BlockSize: 16,
			KVBlocks: 38 + rnd.IntN(120), EnablePrefixCaching: seed%2 == 0, SlidingWindow: int(seed%3) * 150,
			StepTime: func(s Step) time.Duration {
				return time.Duration(2_000_000 + 10_000*s.DecodeSequences + 30*int(s.ContextTokens) + 70*int(s.WindowTokens) + 9_000*s.PrefillTokens)
			},
		}
		var jobs []*Job
		var at []time.Duration
		clock := time.Duration(0)
		for i := range 60 {
			clock += time.Duration(rnd.ExpFloat64() * float64(60*time.Millisecond))
			job := &Job{Prompt: 1 + rnd.IntN(300), Output: 1 + rnd.IntN(250)}
			if rnd.IntN(2) == 0 {
				family := uint64(rnd.IntN(4))
				job.Content = &Content{Blocks: []uint64{family<<8 | 1, family<<8 | 2, uint64(i)<<32 | 3}, BlockTokens: 50, Own: uint64(i) << 40}
				job.Content.BlocksEnd = min(150, job.Prompt)
				job.Content.Findable = job.Content.BlocksEnd
			}
			jobs, at = append(jobs, job), append(at, clock)
		}
		want, p, h := walked(cfg, jobs, at)
		preempted, hits = preempted+p, hits+h
		v := must.Get(NewVirtual(cfg, Noise{}, true))(t)
		got := map[*Job][]time.Duration{}
		playOn(v, jobs, at, got)
		if c := v.Counts(clock); int(c.Preemptions) != p || int(c.PrefixHits) != h || c.Finished != int64(len(jobs)) {
			t.Fatalf("seed %d: %+v; want %d preemptions, %d hits", seed, c, p, h)
		}
		for i, job := range jobs {
			if err := agree(got[job], want[job]); err != nil || job.Last != got[job][len(got[job])-1] {
				t.Fatalf("seed %d, job %d: %v", seed, i, err)
			}
		}
	}
	if preempted < 1000 || hits < 1000 {
		t.Errorf("%d preemptions and %d cached tokens prove little", preempted, hits)
	}
}

// agree allows a microsecond: the step time is rounded to nanoseconds in each step of one, and once in the other.
func agree(got, want []time.Duration) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d tokens, want %d", len(got), len(want))
	}
	for i := range got {
		if d := got[i] - want[i]; d.Abs() > time.Microsecond {
			return fmt.Errorf("token %d at %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}

// Noise keeps the mean, and a stall is as long as it was said to be.
func TestNoise(t *testing.T) {
	play := func(n Noise) time.Duration {
		v := must.Get(NewVirtual(Config{StepTime: func(Step) time.Duration { return 10 * time.Millisecond }}, n, false))(t)
		job := &Job{Prompt: 1, Output: 30_000}
		playOn(v, []*Job{job}, []time.Duration{0}, nil)
		return job.Last
	}
	quiet := play(Noise{})
	if noisy := play(Noise{StepSD: 0.05, Seed: 1}); noisy == quiet || (noisy-quiet).Abs() > quiet/50 {
		t.Errorf("%v with noise, %v without", noisy, quiet)
	}
	stalled := play(Noise{StallEvery: 10 * time.Second, Stall: 150 * time.Millisecond, Seed: 2}) - quiet
	if stalls := stalled / (150 * time.Millisecond); stalled%(150*time.Millisecond) != 0 || stalls < 15 || stalls > 50 {
		t.Errorf("stalls took %v", stalled)
	}
	if !slices.Equal([]time.Duration{play(Noise{StepSD: 0.1, Seed: 3})}, []time.Duration{play(Noise{StepSD: 0.1, Seed: 3})}) {
		t.Error("the same seed, another time")
	}
}
