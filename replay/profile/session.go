package profile

import (
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"time"

	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
)

const (
	// maxPrefixes and prefixBlocks keep the block ids of all shared prefixes
	// within the range that the first three tokens of a prompt can tell apart.
	maxPrefixes  = 100_000
	prefixBlocks = 1 << 16
)

// sampler is a class ready to be drawn from.
type sampler struct {
	name    string
	until   float64 // upper end of its part of the class ranks
	drawn   uint64  // sessions so far
	turns   quantile
	listed  int           // turns that are listed, or 0
	of      []turnSampler // each turn that is described; the last stands for all after it
	dealt   []uint64      // turns drawn of each of them
	joint   *jointSampler
	growing bool
	shared  *prefixPool

	blockTokens                                                 int
	turnRanks, inputRanks, outputRanks, thinkRanks, prefixRanks rankStream
}

// turnSampler draws a turn. input and output are nil where the joint
// distribution has them, and think where there is none.
type turnSampler struct{ input, output, think quantile }

// prefixPool is the shared prefixes of a class: streams of tokens that its
// sessions start with.
type prefixPool struct {
	first   uint64    // id of the first prefix's first block
	sums    []float64 // of popularity
	tokens  []int     // of each
	follows quantile  // in place of tokens: by the rank of the input
	ratio   float64   // in place of both: share of the first prompt
	// The first prompt that uses a part of a prefix shares it with nobody,
	// although the ratio counts it. These tokens are owed, and later prompts
	// share more to make up for them. Only ratio does this; the others ask for
	// lengths.
	longest []int // longest part of each prefix in a prompt so far, tokens
	owed    float64
}

// session is one that has started, with all its turns.
type session struct {
	number  int64
	name    string // empty: one turn
	class   string
	turns   []turn
	turn    int // the next one
	due     time.Duration
	prefix  uint64 // id of its prefix's first block
	shared  int    // tokens of its prefix
	own     uint64 // id of its own first block
	growing bool
}

type turn struct {
	input, output int
	history       int // leading tokens of the prompt that repeat the turn before
	fresh         int // new text
	think         time.Duration
}

// session draws the session of that number.
func (m *generator) session(number int64, at time.Duration) *session {
	k := m.pick(m.classes.rank(uint64(number), rand.New(rand.NewPCG(m.seed, uint64(number))).Float64()))
	nth := k.drawn
	k.drawn++
	rnd := rand.New(rand.NewPCG(m.seed^splitmix.Hash(k.name), nth))
	s := &session{number: number, class: k.name, due: at, growing: k.growing}
	count := k.listed
	if count == 0 {
		count = int(k.turns(k.turnRanks.rank(nth, rnd.Float64())))
	}
	if count > 1 {
		s.name = k.name + "-" + strconv.FormatInt(number, 10)
	}
	s.turns = make([]turn, count)
	clock := (m.begin + at) % day
	for i := range s.turns {
		rank := k.draw(&s.turns[i], i, clock, rnd)
		which := 0
		if i == 0 {
			which = k.begin(s, rank, nth, rnd)
		}
		k.lay(s, i)
		if i == 0 && k.shared != nil {
			k.shared.settle(which, s.shared, s.turns[0].input)
		}
	}
	m.number(s, k)
	return s
}

func (m *generator) pick(rank float64) *sampler {
	for _, k := range m.samplers {
		if rank < k.until {
			return k
		}
	}
	return m.samplers[len(m.samplers)-1]
}

// draw gives a turn its lengths and its think time. It returns the rank of the
// input, which a prefix may follow.
func (k *sampler) draw(t *turn, i int, clock time.Duration, rnd *rand.Rand) (rank float64) {
	place := min(i, len(k.of)-1)
	of, nth := k.of[place], k.dealt[place]
	k.dealt[place]++
	rank = k.inputRanks.nth(place).rank(nth, rnd.Float64())
	out := k.outputRanks.nth(place).rank(nth, rnd.Float64())
	if k.joint != nil {
		t.fresh, t.output = k.joint.at(clock).at(rank, rnd.Float64(), out)
	} else {
		t.fresh, t.output = int(of.input(rank)), int(of.output(out))
	}
	if i > 0 && of.think != nil {
		t.think = time.Duration(of.think(k.thinkRanks.nth(place).rank(nth, rnd.Float64())) * 1e9)
	}
	return rank
}

// begin chooses the session's shared prefix and how much of it there is.
func (k *sampler) begin(s *session, rank float64, nth uint64, rnd *rand.Rand) (which int) {
	if k.shared == nil {
		return 0
	}
	which = k.shared.pick(k.prefixRanks.rank(nth, rnd.Float64()))
	s.prefix = k.shared.first + uint64(which)*prefixBlocks
	tokens := 0.0
	switch fresh := float64(s.turns[0].fresh); {
	case k.shared.follows != nil:
		tokens = k.shared.follows(rank)
	case k.shared.tokens != nil:
		tokens = float64(k.shared.tokens[which])
	case k.growing: // fresh text is added to it
		tokens = fresh * k.shared.ratio / (1 - k.shared.ratio)
		tokens += max(0, min(k.shared.owed, tokens/4))
	default:
		tokens = fresh * k.shared.ratio
		tokens += max(0, min(k.shared.owed, tokens/4, (fresh-tokens)/2))
	}
	// In whole blocks, rounded up or down at random so that the mean is right.
	s.shared = int(math.Floor(tokens/float64(k.blockTokens)+rnd.Float64())) * k.blockTokens
	s.shared = min(s.shared, (prefixBlocks-1)*k.blockTokens)
	return which
}

// settle records how much of the first prompt was really shared, and what the
// ratio still owes.
func (s *prefixPool) settle(which, shared, input int) {
	if s.ratio == 0 {
		return
	}
	s.owed += s.ratio*float64(input) - float64(min(shared, s.longest[which]))
	s.longest[which] = max(s.longest[which], shared)
}

// lay computes the prompt of a turn from the turns before it.
func (k *sampler) lay(s *session, i int) {
	t := &s.turns[i]
	switch {
	case !k.growing:
		t.input = t.fresh
		// At least one token of a prompt is its own.
		s.shared = min(s.shared, max(0, s.turns[0].input-1)/k.blockTokens*k.blockTokens)
	case i == 0:
		t.input = s.shared + t.fresh
	default:
		before := s.turns[i-1]
		t.history = before.input + before.output
		t.input = t.history + t.fresh
	}
}

// number reserves ids for the session's own blocks. Only a session whose later
// turns repeat them needs any.
func (m *generator) number(s *session, k *sampler) {
	last := s.turns[len(s.turns)-1]
	if k.growing && len(s.turns) > 1 {
		s.own = m.nextID
		m.nextID += uint64((last.input-s.shared)/k.blockTokens + 1)
	}
}

// request is the session's next turn.
func (m *generator) request(s *session) plan.Request {
	t := s.turns[s.turn]
	req := plan.Request{Due: s.due, InputTokens: t.input, OutputTokens: t.output, Session: s.name, Turn: s.turn,
		Class: s.class, HistoryTokens: t.history}
	if s.turn > 0 {
		think := t.think
		req.Think = &think
	}
	if blocks := m.blocks(s, t); len(blocks) > 0 {
		req.Blocks, req.BlockTokens = blocks, m.blockTokens
	}
	return req
}

// blocks are those of the prefix, then the session's own where a later turn
// repeats them. The rest of a prompt that no turn continues is in no block:
// nobody shares it.
func (m *generator) blocks(s *session, t turn) []uint64 {
	shared := min(s.shared, max(0, t.input-1)/m.blockTokens*m.blockTokens) / m.blockTokens
	all := shared
	if s.own > 0 {
		all = (t.input + m.blockTokens - 1) / m.blockTokens
	}
	if all == 0 {
		return nil
	}
	ids := make([]uint64, all)
	for i := range ids {
		if i < shared {
			ids[i] = s.prefix + uint64(i)
		} else {
			ids[i] = s.own + uint64(i-shared)
		}
	}
	return ids
}

func (s *prefixPool) pick(rank float64) int {
	return min(sort.SearchFloat64s(s.sums, rank*s.sums[len(s.sums)-1]), len(s.sums)-1)
}
