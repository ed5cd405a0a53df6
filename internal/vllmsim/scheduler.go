package vllmsim

import "slices"

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

// sequence is one output in the making: a prompt, how far its KV is computed,
// and the blocks that hold it.
type sequence struct {
	prompt   int // tokens
	output   int // tokens it will yield in all
	prefix   prefix
	findable int // how many leading tokens another sequence may have too; without a prefix 0
	owner    any // the caller's

	generated   int
	computed    int // tokens whose KV is in the cache
	planned     int // tokens in the current step
	blocks      []int32
	remembered  int // leading blocks already offered to the prefix cache
	cached      int // prompt tokens found in the cache when first admitted; -1 before
	preemptions int
	isGone      bool // finished or aborted
}

// prefix says what the prefix cache knows the blocks of a sequence by.
type prefix interface {
	// hash is that of a full block, which covers the whole prefix up to its end.
	hash(block, size int) uint64
}

func (s *sequence) tokens() int { return s.prompt + s.generated }

// hashed is how many leading blocks have a hash. Those that no other sequence can ask for count only once the sequence has
// been preempted: then it may find them itself.
func (s *sequence) hashed(size int) int {
	switch {
	case s.prefix == nil:
		return 0
	case s.preemptions > 0:
		return s.tokens() / size
	}
	return min(s.findable, s.tokens()) / size
}

// batch is the work of one step.
type batch struct {
	step      Step
	sequences []*sequence
	admitted  []*sequence // those of them that were waiting until now
	preempted []*sequence
	queried   int // tokens that first admissions looked up in the prefix cache
	hit       int // tokens of these that were found
}

// scheduler decides what an engine step holds. It knows neither time nor HTTP;
// schedule and complete are called in turn, with aborts in between.
type scheduler struct {
	cfg     Config
	pool    *blockPool
	running []*sequence // in order of admission
	waiting []*sequence
	scratch []*sequence // of the batch: schedule and complete take turns
	spare   [][]int32   // lists of blocks whose sequence has ended, to be used again
	head    lookup      // of the sequence that waits longest
}

// lookup is what the prefix cache has of a sequence. One that waits for room is looked at in every step, and a long prompt has
// thousands of blocks, so it is kept until the pool says that it is no longer so.
type lookup struct {
	of    *sequence
	found []int32
}

func newScheduler(cfg Config) *scheduler {
	return &scheduler{cfg: cfg, pool: newBlockPool(cfg.KVBlocks)}
}

func (s *scheduler) add(q *sequence) {
	q.cached = -1
	s.waiting = append(s.waiting, q)
}

func (s *scheduler) isIdle() bool { return len(s.running) == 0 && len(s.waiting) == 0 }

// rest lets go of the sequences of the last step: an idle engine holds no answer.
func (s *scheduler) rest() {
	clear(s.scratch[:cap(s.scratch)])
	s.pool.watch(s.head.found, nil, 0, false)
	s.head = lookup{}
}

// usage is the share of KV blocks in use.
func (s *scheduler) usage() float64 {
	return 1 - float64(s.pool.free)/float64(s.pool.size)
}

// schedule fills one step: running sequences in order, then, if none had to be
// preempted, waiting ones in order while budget, places and blocks last.
func (s *scheduler) schedule() batch {
	b := batch{sequences: s.scratch[:0]}
	budget := s.cfg.MaxNumBatchedTokens
	for i := 0; i < len(s.running) && budget > 0; i++ {
		q := s.running[i]
		n := min(q.tokens()-q.computed, budget)
		if !s.makeRoom(q, n, &b) {
			break
		}
		budget -= s.plan(&b, q, n)
	}
	if len(b.preempted) == 0 {
		s.admit(&b, budget)
	}
	return b
}

// makeRoom finds blocks for n more tokens of q by preempting from the end of
// the running list. It returns false when q itself was last and had to go.
func (s *scheduler) makeRoom(q *sequence, n int, b *batch) bool {
	for !s.grow(q, q.computed+n) {
		last := s.running[len(s.running)-1]
		s.running = s.running[:len(s.running)-1]
		s.preempt(last)
		b.preempted = append(b.preempted, last)
		if last == q {
			return false
		}
	}
	return true
}

// preempt frees a sequence's blocks; its tokens will be computed again (vLLM's
// recompute mode).
func (s *scheduler) preempt(q *sequence) {
	q.preemptions++
	s.remember(q, q.computed)
	s.drop(q)
	s.waiting = slices.Insert(s.waiting, 0, q)
}

// grow gives q blocks for that many tokens, or none at all.
func (s *scheduler) grow(q *sequence, tokens int) bool {
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
func (s *scheduler) admit(b *batch, budget int) {
	for len(s.waiting) > 0 && budget > 0 && len(s.running) < s.cfg.MaxNumSeqs {
		q := s.waiting[0]
		found := s.lookUpHead()
		// The whole sequence must fit, not only its first chunk. Otherwise many
		// long prompts would start and be preempted again.
		if ceilDiv(q.tokens(), s.cfg.BlockSize)-len(found)+s.pool.idle(found) > s.pool.free {
			return
		}
		for _, i := range found {
			s.pool.hold(i)
		}
		s.pool.watch(found, nil, 0, false)
		s.head = lookup{}
		q.blocks, q.remembered = found, len(found)
		q.computed = len(found) * s.cfg.BlockSize
		if q.cached < 0 {
			q.cached = q.computed
			if s.cfg.EnablePrefixCaching {
				b.queried += q.prompt
				b.hit += q.computed
			}
		}
		n := min(q.tokens()-q.computed, budget)
		s.grow(q, q.computed+n)
		s.waiting[0], s.waiting = nil, s.waiting[1:] // nil: the array keeps what lies before the queue
		s.running = append(s.running, q)
		b.admitted = append(b.admitted, q)
		budget -= s.plan(b, q, n)
	}
}

// canAdmit says whether the next step could admit the sequence that waits longest.
func (s *scheduler) canAdmit() bool {
	if len(s.running) >= min(s.cfg.MaxNumSeqs, s.cfg.MaxNumBatchedTokens) {
		return false
	}
	q := s.waiting[0]
	found := s.lookUpHead()
	return ceilDiv(q.tokens(), s.cfg.BlockSize)-len(found)+s.pool.idle(found) <= s.pool.free
}

// stepsWithRoom is for how many steps, at most so many, every running sequence can decode before blocks run out.
func (s *scheduler) stepsWithRoom(most int) int {
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

// decoded lets every running sequence decode so many tokens, as that many steps would, and returns them all. Those whose
// output is complete have left.
func (s *scheduler) decoded(steps int) []*sequence {
	yielded := append(s.scratch[:0], s.running...)
	s.scratch = yielded
	isAnyDone := false
	for _, q := range yielded {
		s.grow(q, q.computed+steps)
		q.generated += steps
		q.computed += steps
		s.remember(q, q.computed)
		if q.generated == q.output {
			isAnyDone = true
			s.end(q)
		}
	}
	if isAnyDone {
		s.running = slices.DeleteFunc(s.running, func(q *sequence) bool { return q.isGone })
	}
	return yielded
}

// lookUpHead is lookUp for the sequence that waits longest.
func (s *scheduler) lookUpHead() []int32 {
	q := s.waiting[0]
	if s.head.of == q && !s.pool.isStale {
		return s.head.found
	}
	found := s.lookUp(q)
	next := uint64(0)
	hasNext := s.cfg.EnablePrefixCaching && len(found) < min(q.hashed(s.cfg.BlockSize), (q.tokens()-1)/s.cfg.BlockSize)
	if hasNext {
		next = q.prefix.hash(len(found), s.cfg.BlockSize)
	}
	s.pool.watch(s.head.found, found, next, hasNext)
	s.head = lookup{q, found}
	return found
}

// lookUp finds q's cached blocks. The last token must be computed to yield the
// next, so the cache can supply at most tokens-1, in whole blocks.
func (s *scheduler) lookUp(q *sequence) []int32 {
	if !s.cfg.EnablePrefixCaching {
		return nil
	}
	most := min(q.hashed(s.cfg.BlockSize), (q.tokens()-1)/s.cfg.BlockSize)
	var found []int32
	for block := range most {
		i, isThere := s.pool.find(q.prefix.hash(block, s.cfg.BlockSize))
		if !isThere {
			break
		}
		found = append(found, i)
	}
	return found
}

// plan puts n tokens of q into the step. Blocks that the step fills can be
// found by other sequences from now on, even in the same step, as in vLLM.
func (s *scheduler) plan(b *batch, q *sequence, n int) int {
	q.planned = n
	b.sequences = append(b.sequences, q)
	if n == 1 && q.generated > 0 {
		context := int64(q.computed + 1)
		b.step.DecodeSequences++
		b.step.ContextTokens += context
		if w := int64(s.cfg.SlidingWindow); w > 0 {
			context = min(context, w)
		}
		b.step.WindowTokens += context
	} else {
		b.step.PrefillTokens += n
		b.step.PrefillChunks++
		b.step.PrefillPairs += float64(n)*float64(q.computed) + float64(n)*float64(n)/2
	}
	s.remember(q, q.computed+n)
	return n
}

// remember offers q's newly filled blocks to the prefix cache.
func (s *scheduler) remember(q *sequence, tokens int) {
	if !s.cfg.EnablePrefixCaching {
		return
	}
	for full := min(tokens/s.cfg.BlockSize, q.hashed(s.cfg.BlockSize)); q.remembered < full; q.remembered++ {
		s.pool.remember(q.blocks[q.remembered], q.prefix.hash(q.remembered, s.cfg.BlockSize))
	}
}

// complete ends the step and returns the sequences that have one more token.
// Those whose output is complete have left, and their blocks are free.
func (s *scheduler) complete(b batch) []*sequence {
	s.scratch = b.sequences
	yielded := b.sequences[:0]
	isAnyDone := false
	for _, q := range b.sequences {
		if q.isGone {
			continue // aborted during the step
		}
		q.computed += q.planned
		if q.computed < q.tokens() {
			continue // more prompt to compute
		}
		q.generated++
		yielded = append(yielded, q)
		if q.generated == q.output {
			isAnyDone = true
			s.end(q)
		}
	}
	if isAnyDone {
		s.running = slices.DeleteFunc(s.running, func(q *sequence) bool { return q.isGone })
	}
	return yielded
}

func (s *scheduler) drop(q *sequence) {
	s.pool.release(q.blocks)
	if cap(q.blocks) > 0 && len(s.spare) < s.cfg.MaxNumSeqs {
		s.spare = append(s.spare, q.blocks[:0])
	}
	q.blocks, q.remembered, q.computed = nil, 0, 0
}

// end frees what q holds, its prefix as well: that has a hash for each block of
// its prompt, and an answer may have thousands of outputs that end long before
// the last.
func (s *scheduler) end(q *sequence) {
	q.isGone = true
	s.drop(q)
	q.prefix = nil
}

// abort removes sequences wherever they are, in one pass: there may be
// thousands.
func (s *scheduler) abort(sequences ...*sequence) {
	for _, q := range sequences {
		if !q.isGone {
			s.end(q)
		}
	}
	isGone := func(q *sequence) bool { return q.isGone }
	s.running = slices.DeleteFunc(s.running, isGone)
	s.waiting = slices.DeleteFunc(s.waiting, isGone)
}
