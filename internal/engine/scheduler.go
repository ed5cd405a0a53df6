package engine

import (
	"math/rand/v2"
	"slices"
)

// The scheduler follows vLLM's V1 scheduler (vllm/v1/core/sched/scheduler.py):
// there are no separate prefill and decode phases. A step has a budget of
// MaxNumBatchedTokens. Running sequences take from it first, in order of
// admission: one token each if they decode, the rest of their prompt or of the
// budget if they do not (chunked prefill). If KV blocks run out, the sequence
// admitted last is preempted: it loses its blocks, returns to the head of the
// waiting queue and is computed again later. What is left of the budget admits
// waiting sequences in order of arrival, but not in a step that preempted one.
//
// A sequence is admitted only if all its tokens so far fit into free blocks,
// counting those that the prefix cache already has.

// Sequence is one output in the making: a prompt, how far its KV is computed,
// and the blocks that hold it. The caller fills in the first group and reads
// the second.
type Sequence struct {
	Prompt   int    // tokens
	Output   int    // tokens it will yield in all
	Prefix   prefix // *Content or *Tokens; nil: it is not found in the prefix cache, not even by itself
	Findable int    // how many leading tokens another sequence may have too
	Owner    any    // the caller's

	Generated   int // tokens so far
	Yielded     int // of these, in the last step: several where guesses were kept
	Cached      int // prompt tokens found in the cache when first admitted; -1 before
	Preemptions int
	Recomputed  int  // tokens computed again after preemptions
	IsGone      bool // finished or aborted

	computed   int // tokens whose KV is in the cache
	lost       int // of these, what the last preemption took
	planned    int // tokens in the current step
	blocks     []int32
	remembered int // leading blocks already offered to the prefix cache
}

// prefix says what the prefix cache knows the blocks of a sequence by.
type prefix interface {
	// hash is that of a full block, which covers the whole prefix up to its end.
	hash(block, size int) uint64
}

func (s *Sequence) tokens() int { return s.Prompt + s.Generated }

// isDecoding says what the current step does for a sequence: one more token, or a part of its prompt.
func (s *Sequence) isDecoding() bool { return s.planned == 1 && s.Generated > 0 }

// hashed is how many leading blocks have a hash. Those that no other sequence can ask for count only once the sequence has
// been preempted: then it may find them itself.
func (s *Sequence) hashed(size int) int {
	switch {
	case s.Prefix == nil:
		return 0
	case s.Preemptions > 0:
		return s.tokens() / size
	}
	return min(s.Findable, s.tokens()) / size
}

// Batch is the work of one step.
type Batch struct {
	Step      Step
	sequences []*Sequence
	Admitted  []*Sequence // those of them that were waiting until now
	Preempted []*Sequence
	Queried   int // tokens that first admissions looked up in the prefix cache
	Hit       int // tokens of these that were found
}

// Scheduler decides what an engine step holds. It knows no time. Schedule and
// Complete are called in turn, with Add and Abort in between.
type Scheduler struct {
	cfg     Config
	pool    *blockPool
	running []*Sequence // in order of admission
	waiting []*Sequence
	scratch []*Sequence // of the batch: schedule and complete take turns
	chance  *rand.Rand  // whether a guess is kept
	spare   [][]int32   // lists of blocks whose sequence has ended, to be used again
	head    lookup      // of the sequence that waits longest
}

// lookup is the blocks that the prefix cache has of a sequence. The sequence that waits longest is looked up in every step, and
// a long prompt has thousands of blocks, so the result is kept until the pool says that it is stale.
type lookup struct {
	of    *Sequence
	found []int32
}

// NewScheduler takes settings that WithDefaults has completed.
func NewScheduler(cfg Config) *Scheduler {
	return &Scheduler{cfg: cfg, pool: newBlockPool(cfg.KVBlocks), chance: rand.New(rand.NewPCG(1, 1))}
}

// Add lets a sequence wait behind the others.
func (s *Scheduler) Add(q *Sequence) {
	q.Cached = -1
	s.waiting = append(s.waiting, q)
}

// IsIdle says that nothing runs and nothing waits.
func (s *Scheduler) IsIdle() bool { return len(s.running) == 0 && len(s.waiting) == 0 }

// Rest lets go of the sequences of the last step: an idle engine holds no answer.
func (s *Scheduler) Rest() {
	clear(s.scratch[:cap(s.scratch)])
	s.pool.watch(s.head.found, nil, 0, false)
	s.head = lookup{}
}

// Load is how many sequences run and how many wait.
func (s *Scheduler) Load() (running, waiting int) { return len(s.running), len(s.waiting) }

// ResetPrefixCache forgets the cached blocks, unless one of them is in use.
func (s *Scheduler) ResetPrefixCache() bool { return s.pool.reset() }

// Usage is the share of KV blocks in use.
func (s *Scheduler) Usage() float64 {
	return 1 - float64(s.pool.free)/float64(s.pool.size)
}

// Schedule fills one step: running sequences in order, then, if none had to be
// preempted, waiting ones in order while budget, places and blocks last.
func (s *Scheduler) Schedule() Batch {
	b := Batch{sequences: s.scratch[:0]}
	budget := s.cfg.MaxNumBatchedTokens
	for i := 0; i < len(s.running) && budget > 0; i++ {
		q := s.running[i]
		n := min(q.tokens()-q.computed, budget)
		if !s.makeRoom(q, n+s.drafts(q, n), &b) {
			break
		}
		budget -= s.plan(&b, q, n)
	}
	if len(b.Preempted) == 0 {
		s.admit(&b, budget)
	}
	return b
}

// drafts are the tokens that a step checks for q beside the n that it is given: those guessed ahead, where it decodes, as far as its answer goes.
func (s *Scheduler) drafts(q *Sequence, n int) int {
	if n > 1 || q.Generated == 0 {
		return 0
	}
	return min(s.cfg.Drafts, q.Output-q.Generated-1)
}

// kept is how many of q's guesses were right.
func (s *Scheduler) kept(q *Sequence) (n int) {
	for n < s.drafts(q, q.planned) && s.chance.Float64() < s.cfg.Acceptance {
		n++
	}
	return n
}

// makeRoom finds blocks for n more tokens of q by preempting from the end of
// the running list. It returns false when q itself was last and had to go.
func (s *Scheduler) makeRoom(q *Sequence, n int, b *Batch) bool {
	for !s.grow(q, q.computed+n) {
		last := s.running[len(s.running)-1]
		s.running = s.running[:len(s.running)-1]
		s.preempt(last)
		b.Preempted = append(b.Preempted, last)
		if last == q {
			return false
		}
	}
	return true
}

// preempt frees a sequence's blocks; its tokens will be computed again (vLLM's
// recompute mode).
func (s *Scheduler) preempt(q *Sequence) {
	q.Preemptions++
	q.lost = q.computed
	s.remember(q, q.computed)
	s.drop(q)
	s.waiting = slices.Insert(s.waiting, 0, q)
}

// grow gives q blocks for that many tokens, or none at all.
func (s *Scheduler) grow(q *Sequence, tokens int) bool {
	need := ceilDiv(tokens, s.cfg.BlockSize) - len(q.blocks)
	if need > s.pool.free {
		return false
	}
	if last := len(s.spare) - 1; q.blocks == nil && last >= 0 {
		q.blocks, s.spare = s.spare[last], s.spare[:last]
	}
	if need > 0 {
		q.blocks = s.pool.take(q.blocks, need)
	}
	return true
}

// admit starts waiting sequences, first come first served. One that does not
// fit blocks those behind it, as in vLLM.
func (s *Scheduler) admit(b *Batch, budget int) {
	for len(s.waiting) > 0 && budget > 0 && len(s.running) < s.cfg.MaxNumSeqs {
		q := s.waiting[0]
		found := s.lookUpHead()
		if !s.fits(q, found) {
			return
		}
		for _, i := range found {
			s.pool.hold(i)
		}
		s.pool.watch(found, nil, 0, false)
		s.head = lookup{}
		q.blocks, q.remembered = found, len(found)
		q.computed = len(found) * s.cfg.BlockSize
		if q.Cached < 0 {
			q.Cached = q.computed
			if s.cfg.EnablePrefixCaching {
				b.Queried += q.Prompt
				b.Hit += q.computed
			}
		}
		q.Recomputed += max(q.lost-q.computed, 0)
		q.lost = 0
		n := min(q.tokens()-q.computed, budget)
		s.grow(q, q.computed+n)
		s.waiting[0], s.waiting = nil, s.waiting[1:] // nil: the array keeps what lies before the queue
		s.running = append(s.running, q)
		b.Admitted = append(b.Admitted, q)
		budget -= s.plan(b, q, n)
	}
}

// canAdmit says whether the next step could admit the sequence that waits longest.
func (s *Scheduler) canAdmit() bool {
	if len(s.running) >= min(s.cfg.MaxNumSeqs, s.cfg.MaxNumBatchedTokens) {
		return false
	}
	return s.fits(s.waiting[0], s.lookUpHead())
}

// fits says whether there is room for a sequence of which these blocks were found. The whole sequence must fit, not only its
// first chunk. Otherwise many long prompts would start and be preempted again.
func (s *Scheduler) fits(q *Sequence, found []int32) bool {
	return ceilDiv(q.tokens(), s.cfg.BlockSize)-len(found)+s.pool.idle(found) <= s.pool.free
}

// stepsWithRoom is the number of steps, up to a largest, that all running sequences can decode before blocks run out.
func (s *Scheduler) stepsWithRoom(most int) int {
	if len(s.running)*(most/s.cfg.BlockSize+1) <= s.pool.free {
		return most
	}
	fits := func(steps int) bool {
		need := 0
		for _, q := range s.running {
			need += ceilDiv(q.computed+steps, s.cfg.BlockSize) - len(q.blocks)
		}
		return need <= s.pool.free
	}
	low, high := 0, most+1 // low fits, high does not
	for high-low > 1 {
		if middle := (low + high) / 2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// decoded does as many steps of decoding at once and returns all running sequences. Those whose output is complete have left.
func (s *Scheduler) decoded(steps int) []*Sequence {
	yielded := append(s.scratch[:0], s.running...)
	s.scratch = yielded
	isAnyDone := false
	for _, q := range yielded {
		s.grow(q, q.computed+steps)
		q.Generated += steps
		q.computed += steps
		s.remember(q, q.computed)
		if q.Generated == q.Output {
			isAnyDone = true
			s.end(q)
		}
	}
	if isAnyDone {
		s.running = slices.DeleteFunc(s.running, func(q *Sequence) bool { return q.IsGone })
	}
	return yielded
}

// lookUpHead is lookUp for the sequence that waits longest.
func (s *Scheduler) lookUpHead() []int32 {
	q := s.waiting[0]
	if s.head.of == q && !s.pool.isStale {
		return s.head.found
	}
	found := s.lookUp(q)
	next := uint64(0)
	hasNext := s.cfg.EnablePrefixCaching && len(found) < min(q.hashed(s.cfg.BlockSize), (q.tokens()-1)/s.cfg.BlockSize)
	if hasNext {
		next = q.Prefix.hash(len(found), s.cfg.BlockSize)
	}
	s.pool.watch(s.head.found, found, next, hasNext)
	s.head = lookup{q, found}
	return found
}

// lookUp finds q's cached blocks. The last token must be computed to yield the
// next, so the cache can supply at most tokens-1, in whole blocks.
func (s *Scheduler) lookUp(q *Sequence) []int32 {
	if !s.cfg.EnablePrefixCaching {
		return nil
	}
	most := min(q.hashed(s.cfg.BlockSize), (q.tokens()-1)/s.cfg.BlockSize)
	var found []int32
	for block := range most {
		i, isThere := s.pool.byHash.get(q.Prefix.hash(block, s.cfg.BlockSize))
		if !isThere {
			break
		}
		found = append(found, i)
	}
	return found
}

// plan puts n tokens of q into the step. Blocks that the step fills can be
// found by other sequences from now on, even in the same step, as in vLLM.
func (s *Scheduler) plan(b *Batch, q *Sequence, n int) int {
	q.planned = n
	b.sequences = append(b.sequences, q)
	if q.isDecoding() {
		context := int64(q.computed + 1)
		b.Step.DecodeSequences++
		b.Step.Drafts = s.cfg.Drafts
		b.Step.ContextTokens += context
		if w := int64(s.cfg.SlidingWindow); w > 0 {
			context = min(context, w)
		}
		b.Step.WindowTokens += context
	} else {
		b.Step.PrefillTokens += n
		b.Step.PrefillChunks++
		b.Step.PrefillPairs += float64(n)*float64(q.computed) + float64(n)*float64(n)/2
	}
	s.remember(q, q.computed+n)
	return n + s.drafts(q, n)
}

// remember offers q's newly filled blocks to the prefix cache.
func (s *Scheduler) remember(q *Sequence, tokens int) {
	if !s.cfg.EnablePrefixCaching {
		return
	}
	for full := min(tokens/s.cfg.BlockSize, q.hashed(s.cfg.BlockSize)); q.remembered < full; q.remembered++ {
		s.pool.remember(q.blocks[q.remembered], q.Prefix.hash(q.remembered, s.cfg.BlockSize))
	}
}

// Complete ends the step and returns the sequences that have one more token, or several where guesses were kept.
// Those whose output is complete have left, and their blocks are free.
func (s *Scheduler) Complete(b Batch) []*Sequence {
	s.scratch = b.sequences
	yielded := b.sequences[:0]
	isAnyDone := false
	for _, q := range b.sequences {
		if q.IsGone {
			continue // aborted during the step
		}
		q.computed += q.planned
		if q.computed < q.tokens() {
			continue // more prompt to compute
		}
		q.Yielded = 1 + s.kept(q)
		q.computed += q.Yielded - 1
		q.Generated += q.Yielded
		yielded = append(yielded, q)
		if q.Generated == q.Output {
			isAnyDone = true
			s.end(q)
		}
	}
	if isAnyDone {
		s.running = slices.DeleteFunc(s.running, func(q *Sequence) bool { return q.IsGone })
	}
	return yielded
}

func (s *Scheduler) drop(q *Sequence) {
	s.pool.release(q.blocks)
	if cap(q.blocks) > 0 && len(s.spare) < s.cfg.MaxNumSeqs {
		s.spare = append(s.spare, q.blocks[:0])
	}
	q.blocks, q.remembered, q.computed = nil, 0, 0
}

// end frees what q holds, its prefix as well: that has a hash for each block of
// its prompt, and an answer may have thousands of outputs that end long before
// the last.
func (s *Scheduler) end(q *Sequence) {
	q.IsGone = true
	s.drop(q)
	q.Prefix = nil
}

// Abort removes sequences wherever they are, in one pass: there may be
// thousands.
func (s *Scheduler) Abort(sequences ...*Sequence) {
	for _, q := range sequences {
		if !q.IsGone {
			s.end(q)
		}
	}
	isGone := func(q *Sequence) bool { return q.IsGone }
	s.running = slices.DeleteFunc(s.running, isGone)
	s.waiting = slices.DeleteFunc(s.waiting, isGone)
}
