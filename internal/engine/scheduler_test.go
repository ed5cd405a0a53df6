package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
)

// rig drives a scheduler without time and without HTTP.
type rig struct {
	t     *testing.T
	sched *Scheduler
	cfg   Config
	added []*Sequence // in order of arrival
	open  map[*Sequence]bool
}

func smallEngine() Config {
	return Config{
		MaxModelLen: 4096, MaxNumSeqs: 32, MaxNumBatchedTokens: 4096, BlockSize: 16, KVBlocks: 1024,
		EnablePrefixCaching: true, StepTime: func(Step) time.Duration { return time.Millisecond },
	}
}

func newRig(t *testing.T, c Config) *rig {
	cfg := must.Get(c.WithDefaults())(t)
	return &rig{t: t, sched: NewScheduler(cfg), cfg: cfg, open: map[*Sequence]bool{}}
}

func (r *rig) add(ids []int32, output int) *Sequence {
	seed := len(r.added)
	q := &Sequence{Prompt: len(ids), Output: output, Findable: math.MaxInt}
	q.Prefix = &Tokens{Prompt: ids, Output: func(i int) int32 { return answered(seed, i) }, Start: ChainStart, Hashes: HashBlocks(ids, ChainStart, r.cfg.BlockSize)}
	r.sched.Add(q)
	r.added = append(r.added, q)
	r.open[q] = true
	return q
}

// answered is the i-th token of the answer to a rig's n-th prompt: no two answers share one, nor with a prompt.
func answered(n, i int) int32 { return int32(1_000_000 + 10_000*n + i) }

// step runs one engine step and checks everything that must hold after any.
func (r *rig) step() (Batch, []*Sequence) {
	r.t.Helper()
	b := r.sched.Schedule()
	r.checkStep(b)
	r.checkBlocks()
	planned := slices.Clone(b.sequences)
	yielded := slices.Clone(r.sched.Complete(b))
	for _, q := range yielded {
		if q.IsGone {
			delete(r.open, q)
			if q.Generated != q.Output {
				r.t.Fatalf("a sequence left with %d of %d tokens", q.Generated, q.Output)
			}
		}
	}
	r.checkBlocks()
	r.checkLookup()
	b.sequences = planned
	return b, yielded
}

// checkLookup compares what is kept of the prefix cache for the sequence that waits longest with a new lookup.
func (r *rig) checkLookup() {
	r.t.Helper()
	if len(r.sched.waiting) == 0 {
		return
	}
	if kept, fresh := r.sched.lookUpHead(), r.sched.lookUp(r.sched.waiting[0]); !slices.Equal(kept, fresh) {
		r.t.Fatalf("blocks %v are kept of a lookup that finds %v", kept, fresh)
	}
}

func (r *rig) checkStep(b Batch) {
	r.t.Helper()
	tokens := 0
	for _, q := range b.sequences {
		tokens += q.planned
	}
	if tokens > r.cfg.MaxNumBatchedTokens || tokens != b.Step.DecodeSequences+b.Step.PrefillTokens {
		r.t.Fatalf("step of %d tokens, budget %d, told %+v", tokens, r.cfg.MaxNumBatchedTokens, b.Step)
	}
	if tokens == 0 && !r.sched.IsIdle() {
		r.t.Fatalf("an empty step with %d running and %d waiting", len(r.sched.running), len(r.sched.waiting))
	}
	if len(r.sched.running) > r.cfg.MaxNumSeqs {
		r.t.Fatalf("%d sequences run, at most %d may", len(r.sched.running), r.cfg.MaxNumSeqs)
	}
	// First come, first served: whoever runs came before whoever waits, but for
	// a preempted one, which waits at the head.
	newest := -1
	for _, q := range r.sched.running {
		newest = max(newest, slices.Index(r.added, q))
	}
	for _, q := range r.sched.waiting {
		if q.Preemptions == 0 && slices.Index(r.added, q) < newest {
			r.t.Fatalf("sequence %d waits while %d runs", slices.Index(r.added, q), newest)
		}
	}
}

// checkBlocks compares every reference count with the sequences' own lists.
func (r *rig) checkBlocks() {
	r.t.Helper()
	p := r.sched.pool
	refs := make([]int32, p.size)
	for q := range r.open {
		for _, i := range q.blocks {
			refs[i]++
		}
		if need := ceilDiv(q.computed, r.cfg.BlockSize); len(q.blocks) < need {
			r.t.Fatalf("%d blocks hold %d tokens", len(q.blocks), q.computed)
		}
	}
	if p.blocks == nil {
		for _, i := range p.blank {
			refs[i]++
		}
		if slices.ContainsFunc(refs, func(n int32) bool { return n != 1 }) || p.free != len(p.blank) {
			r.t.Fatalf("of the blank blocks, %d are free, %d counted; each is free or held once: %v", len(p.blank), p.free, refs)
		}
		return
	}
	free := 0
	for i := p.head; i != noBlock; i = p.blocks[i].next {
		if refs[i] != 0 {
			r.t.Fatalf("block %d is free and held %d times", i, refs[i])
		}
		free++
	}
	for i := range refs {
		if refs[i] != p.blocks[i].refs {
			r.t.Fatalf("block %d counts %d references, has %d", i, p.blocks[i].refs, refs[i])
		}
		if refs[i] == 0 {
			free--
		}
	}
	if free != 0 || p.free < 0 {
		r.t.Fatalf("the free list is off by %d", free)
	}
	for _, s := range p.byHash.slots {
		for i := s.block - 1; i != noBlock; i = p.blocks[i].twin {
			if !p.blocks[i].isCached || p.blocks[i].hash != s.hash {
				r.t.Fatalf("block %d is listed under a hash it does not have", i)
			}
		}
	}
}

func (r *rig) drain() (steps int) {
	r.t.Helper()
	for ; !r.sched.IsIdle(); steps++ {
		r.step()
		if steps > 1_000_000 {
			r.t.Fatal("the scheduler does not come to an end")
		}
	}
	return steps
}

func ids(from, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(from + i)
	}
	return out
}

func TestSchedulerHoldsItsPromises(t *testing.T) {
	rounds := proof.Many(50, 300)
	preempted := 0
	for round := range rounds {
		random := rand.New(rand.NewPCG(7, uint64(round)))
		size := 1 << random.IntN(6)
		longest := 2 + random.IntN(200)
		c := smallEngine()
		c.BlockSize, c.MaxModelLen = size, longest
		c.KVBlocks = ceilDiv(longest, size) + random.IntN(20)
		c.MaxNumSeqs = 1 + random.IntN(12)
		c.MaxNumBatchedTokens = c.MaxNumSeqs + random.IntN(100)
		c.EnablePrefixCaching = random.IntN(3) > 0
		r := newRig(t, c)
		for left := 1 + random.IntN(60); left > 0 || !r.sched.IsIdle(); {
			if left > 0 && (r.sched.IsIdle() || random.IntN(3) == 0) {
				prompt := 1 + random.IntN(longest-1)
				r.add(ids(1000*random.IntN(3), prompt), 1+random.IntN(longest-prompt))
				left--
			}
			if len(r.added) > 0 && random.IntN(20) == 0 {
				q := r.added[random.IntN(len(r.added))]
				r.sched.Abort(q)
				delete(r.open, q)
			}
			if !r.sched.IsIdle() {
				b, _ := r.step()
				preempted += len(b.Preempted)
			}
		}
		if p := r.sched.pool; p.free != p.size {
			t.Fatalf("round %d: %d of %d blocks free at the end", round, p.free, p.size)
		}
	}
	if preempted == 0 {
		t.Fatal("no round preempted anything: the test does not test that")
	}
}

func TestSchedulerChunksAPromptByTheBudget(t *testing.T) {
	c := smallEngine()
	c.MaxNumSeqs, c.MaxNumBatchedTokens = 8, 100
	r := newRig(t, c)
	r.add(ids(0, 10), 50)
	r.step() // the first sequence now decodes
	r.add(ids(500, 250), 2)
	// 99 tokens of a step are left next to the decode: 99, 99, 52, and then both
	// decode.
	for i, want := range []Step{
		{DecodeSequences: 1, ContextTokens: 11, WindowTokens: 11, PrefillTokens: 99, PrefillChunks: 1, PrefillPairs: 99 * 99 / 2.0},
		{DecodeSequences: 1, ContextTokens: 12, WindowTokens: 12, PrefillTokens: 99, PrefillChunks: 1, PrefillPairs: 99*99 + 99*99/2.0},
		{DecodeSequences: 1, ContextTokens: 13, WindowTokens: 13, PrefillTokens: 52, PrefillChunks: 1, PrefillPairs: 52*198 + 52*52/2.0},
		{DecodeSequences: 2, ContextTokens: 14 + 251, WindowTokens: 14 + 251},
	} {
		if b, _ := r.step(); b.Step != want {
			t.Fatalf("step %d: got %+v, want %+v", i, b.Step, want)
		}
	}
	r.drain()
}

func TestSchedulerCutsContextsAtTheWindow(t *testing.T) {
	c := smallEngine()
	c.SlidingWindow = 32
	r := newRig(t, c)
	r.add(ids(0, 10), 5)
	r.add(ids(500, 100), 5)
	r.step()
	b, _ := r.step()
	if b.Step.ContextTokens != 11+101 || b.Step.WindowTokens != 11+32 {
		t.Fatalf("got %+v, want contexts 11+101, in the window 11+32", b.Step)
	}
}

func TestSchedulerPreemptsTheLastAndItYieldsExactlyItsTokens(t *testing.T) {
	c := smallEngine()
	c.MaxModelLen, c.BlockSize, c.KVBlocks = 64, 4, 16 // 64 tokens in all
	r := newRig(t, c)
	first, last := r.add(ids(0, 16), 40), r.add(ids(100, 16), 40)
	yielded := map[*Sequence]int{}
	for !r.sched.IsIdle() {
		_, out := r.step()
		for _, q := range out {
			yielded[q]++
		}
	}
	// 64 tokens hold 32 of each; the 33rd needs a block that only the last can
	// give.
	if first.Preemptions != 0 || last.Preemptions == 0 {
		t.Errorf("preemptions: got %d and %d, want 0 and at least 1", first.Preemptions, last.Preemptions)
	}
	if yielded[first] != 40 || yielded[last] != 40 {
		t.Errorf("tokens: got %d and %d, want 40 of both", yielded[first], yielded[last])
	}
}

// A prompt brings one token. Of three guesses at a chance of 1 all are kept: four tokens a step, and what is left of the answer in the last; at 0 none is. A guess
// takes a place in the budget, and the step knows of it.
func TestGuessesAreKeptByTheirChance(t *testing.T) {
	for chance, want := range map[float64][]int{0: {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1: {1, 4, 4, 1}} {
		c := smallEngine()
		c.Drafts, c.Acceptance = 3, chance
		r := newRig(t, c)
		q := r.add(ids(1, 20), 10)
		var got []int
		for !q.IsGone {
			b, _ := r.step()
			got = append(got, q.Yielded)
			if guessed := q.Generated > 1 || q.IsGone; guessed && b.Step.Drafts != 3 {
				t.Errorf("at %v a step that decodes has %d guesses, want 3", chance, b.Step.Drafts)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("at a chance of %v: %v tokens a step, want %v", chance, got, want)
		}
	}
	c := smallEngine()
	c.Drafts, c.Acceptance = 3, 0.7
	r := newRig(t, c)
	q := r.add(ids(1, 20), 4000)
	steps := 0
	for ; !q.IsGone; steps++ {
		r.step()
	}
	// 1 + 0.7 + 0.49 + 0.343 tokens a step (macros.accepted_per_step).
	if mean := 4000 / float64(steps); math.Abs(mean-2.533) > 0.1 {
		t.Errorf("%.3f tokens a step, want 2.533", mean)
	}
}

func TestPrefixCacheFindsWholeBlocksBelowTheLastToken(t *testing.T) {
	c := smallEngine()
	c.BlockSize = 16
	shared := ids(0, 64)
	for _, one := range []struct {
		sentence string
		before   []int32
		prompt   []int32
		want     int
	}{
		{"nothing before it", nil, shared, 0},
		{"the same prompt: its last block is computed again", shared, shared, 48},
		{"the same and one token more: all four blocks", shared, append(slices.Clone(shared), 999), 64},
		{"a shared beginning of 40 tokens: two blocks", shared, append(slices.Clone(shared[:40]), ids(2000, 40)...), 32},
		{"another first token: nothing", shared, append([]int32{999}, shared[1:]...), 0},
		{"the same blocks in another place: nothing", shared, append(slices.Clone(shared[16:32]), shared[:32]...), 0},
	} {
		r := newRig(t, c)
		if one.before != nil {
			r.add(one.before, 1)
			r.drain()
		}
		q := r.add(one.prompt, 1)
		r.drain()
		if q.Cached != one.want {
			t.Errorf("%s: got %d cached tokens, want %d", one.sentence, q.Cached, one.want)
		}
	}
}

func TestPrefixCacheKeepsOutputs(t *testing.T) {
	r := newRig(t, smallEngine())
	r.add(ids(0, 20), 30)
	r.drain()
	// The next turn repeats prompt and output; the last of 50 tokens was never
	// computed, so 48 are cached.
	turn := ids(0, 20)
	for i := range 30 {
		turn = append(turn, answered(0, i))
	}
	q := r.add(append(turn, 7, 8, 9), 1)
	r.drain()
	if q.Cached != 48 {
		t.Errorf("got %d cached tokens, want 48", q.Cached)
	}
}

func TestPrefixCacheEvictsTheLeastRecentlyUsed(t *testing.T) {
	c := smallEngine()
	c.MaxModelLen, c.KVBlocks = 64, 8 // of 16 tokens
	r := newRig(t, c)
	hits := ""
	for _, prompt := range [][]int32{ids(0, 49), ids(1000, 49), ids(0, 49), ids(2000, 49), ids(0, 49), ids(1000, 49)} {
		q := r.add(prompt, 1)
		r.drain()
		hits += fmt.Sprintf(" %d", q.Cached)
	}
	// 3 full blocks and a part of one more each. The third request finds the
	// first's and makes them the newest; the fourth takes the second's.
	if hits != " 0 0 48 0 48 0" {
		t.Errorf("cached tokens:%s", hits)
	}
}

// BenchmarkScheduler is one step of 256 decoding sequences, without HTTP.
func BenchmarkScheduler(b *testing.B) {
	c := smallEngine()
	c.MaxNumSeqs, c.KVBlocks, c.MaxModelLen = 256, 1<<20, 1<<23
	cfg := must.Get(c.WithDefaults())(b)
	s := NewScheduler(cfg)
	for i := range 256 {
		prefix := &Tokens{Prompt: make([]int32, 16), Output: func(at int) int32 { return int32(i ^ at) }, Hashes: []uint64{uint64(i)}}
		s.Add(&Sequence{Prompt: 16, Output: 1 << 22, Prefix: prefix, Findable: math.MaxInt})
	}
	s.Complete(s.Schedule())
	for b.Loop() {
		s.Complete(s.Schedule())
	}
}
