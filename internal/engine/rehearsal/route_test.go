package rehearsal_test

import (
	"slices"
	"testing"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

// Four prompts of two histories, A, B, then B and A with a block more. By hand: a router that follows the prefix sends the later ones where their beginnings
// are, so that 300 of 400 tokens are cached; in turns they change places, and nothing is; the least loaded of two idle ones is the first, which had A.
// Then seventy of A at once: when the first replica has 65 more than the other, which has none, the next goes there, and as it has
// the beginning too then, so do the rest.
func TestARouterThatFollowsThePrefix(t *testing.T) {
	config := engine.Config{MaxNumSeqs: 256, MaxNumBatchedTokens: 8192, KVBlocks: 10_000, BlockSize: 100, EnablePrefixCaching: true, MaxModelLen: 10_000,
		StepTime: func(engine.Step) time.Duration { return 10 * time.Millisecond }}
	prompt := func(due time.Duration, blocks ...uint64) plan.Request {
		return plan.Request{Due: due, InputTokens: 100 * len(blocks), OutputTokens: 20, Blocks: blocks, BlockTokens: 100}
	}
	few := []plan.Request{prompt(0, 1, 2, 3), prompt(time.Millisecond, 7, 8, 9), prompt(10*time.Second, 7, 8, 9, 10), prompt(20*time.Second, 1, 2, 3, 4)}
	mostlyOwn := plan.Request{Due: 10 * time.Second, InputTokens: 1000, OutputTokens: 20, Blocks: []uint64{7}, BlockTokens: 100}
	many := few
	for range 70 {
		many = append(many, prompt(30*time.Second, 1, 2, 3, 4))
	}
	for _, one := range []struct {
		routing  string
		requests []plan.Request
		replicas []int
		cached   []int
	}{
		{rehearsal.Turns, few, []int{0, 1, 0, 1}, []int{0, 0, 0, 0}},
		{rehearsal.LeastLoaded, few, []int{0, 1, 0, 0}, []int{0, 0, 0, 300}},
		{rehearsal.Prefix, few, []int{0, 1, 1, 0}, []int{0, 0, 300, 300}},
		{rehearsal.Prefix, append(slices.Clone(few[:2]), mostlyOwn), []int{0, 1, 0}, []int{0, 0, 0}}, // 100 of its 1,000 tokens are there: too few
		{rehearsal.Prefix, many, []int{0, 1, 1, 0}, []int{0, 0, 300, 300}},
	} {
		replicas, cached := make([]int, len(one.requests)), make([]int, len(one.requests))
		for i := range one.requests {
			one.requests[i].Seq = int64(i)
		}
		must.Do(t, rehearsal.PlayAll(t.Context(), rehearsal.Settings{Engine: config, Replicas: 2, Routing: one.routing}, one.requests, func(r *rehearsal.Request) error {
			replicas[r.Seq], cached[r.Seq] = r.Replica, r.Cached
			return nil
		}))
		for i := range one.replicas {
			if replicas[i] != one.replicas[i] || cached[i] != one.cached[i] {
				t.Errorf("%s: request %d went to %d with %d tokens cached, want %d and %d", one.routing, i, replicas[i], cached[i], one.replicas[i], one.cached[i])
			}
		}
		other := 0
		for _, r := range replicas[min(4, len(replicas)):] {
			other += r
		}
		if len(one.requests) > 4 && other != 5 {
			t.Errorf("%d of seventy at once went to the other replica", other)
		}
	}
}
