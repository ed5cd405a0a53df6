// From chunks to tokens. A chunk is not a token: servers merge tokens when they are ahead of their sockets, hold text back
// at UTF-8 borders, send empty text for a real token, and repeat the prompt in an opening chunk. So a chunk counts as
// bearing tokens by the best evidence it has: token ids, else a running usage that grew, else text. Where nothing counts a
// chunk's tokens its count is unknown (0), and TPOT rests on the total in the final usage; without that it is not known at
// all, and nothing is made up.
//
// Sources: vLLM's vllm/entrypoints/openai, SGLang's srt/entrypoints/openai, and transcripts in testdata/streams.

package replay

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/replay/wire"
)

// stream turns the events of one answer into the instants and counts of its tokens.
type stream struct {
	sent    time.Duration // instants are since the run began
	first   time.Duration // unknown: no token yet
	last    time.Duration
	meter   *meter
	isOther bool // asks for another model than the run's own
	read    int  // the read that is being parsed
	marked  int  // the last read that brought a token
	reads   int  // reads that brought one

	offsets          []int64 // of token-bearing chunks, microseconds since sent
	counts           []int32 // tokens of each; 0 where the server does not say
	hasUnknownCounts bool    // some chunk's tokens are not known
	counted          int64   // entries of token_ids
	keepsIDs         bool    // ids are kept
	ids              []int32 // as far as the server says them
	hasIDs           bool    // the server sends token_ids
	hasUncounted     bool    // some chunk that may bear tokens has no token_ids
	tokensArrived    int64   // tokens, a chunk of unknown ones as one
	hasRunningUsage  bool    // every chunk carries the usage so far
	usageSoFar       int64   // tokens by the last running usage

	tokenless      int64         // chunks that show no token although the stream may hold some
	tokenlessFirst time.Duration // of those
	tokenlessLast  time.Duration
	inferred       bool // the token instants are those of plain chunks

	usage       wire.Usage
	timing      wire.Timing
	absurdCount int64 // a count in a usage that no answer has
	hasTotal    bool  // a usage that is no running one came
	finish      string
	isDone      bool // [DONE] came
	doneAt      time.Duration
	failure     *wire.ServerError
	protocol    error
}

// reset keeps the slices of the answer before, which the row has given back.
func (s *stream) reset(sent time.Duration, m *meter, keepsIDs bool) {
	none := wire.EmptyChunk()
	*s = stream{sent: sent, first: unknown, last: unknown, tokenlessFirst: unknown, tokenlessLast: unknown, meter: m, marked: -1,
		offsets: s.offsets[:0], counts: s.counts[:0], ids: s.ids[:0], keepsIDs: keepsIDs, usage: none.Usage, timing: none.Timing}
}

// grow makes room for the tokens of an answer, as far as they are worth it, before they come.
func (s *stream) grow(tokens int) {
	tokens = min(tokens, 512)
	s.offsets, s.counts = slices.Grow(s.offsets[:0], tokens), slices.Grow(s.counts[:0], tokens)
}

var doneMark = []byte("[DONE]")

// event takes one event of the stream, which came with the read at the given instant.
func (s *stream) event(name, data []byte, at time.Duration) {
	if len(data) == 0 || s.isDone {
		return
	}
	if bytes.Equal(bytes.TrimSpace(data), doneMark) {
		s.isDone, s.doneAt = true, at
		return
	}
	if string(name) == "error" {
		s.failure = wire.ErrorBody(data)
		return
	}
	c, err := s.chunk(data)
	if err != nil {
		if s.protocol == nil {
			s.protocol = err
		}
		return
	}
	s.take(c, at)
}

// take adds one chunk: its tokens, its usage, its finish reason.
func (s *stream) take(c wire.Chunk, at time.Duration) {
	if c.Failure != nil {
		s.failure = c.Failure
		return
	}
	if tokens, is := s.tokens(c); is {
		s.token(tokens, at)
	} else if c.HasChoices && !c.HasRole && !c.HasPromptIDs {
		if s.tokenlessFirst == unknown {
			s.tokenlessFirst = at
		}
		s.tokenlessLast = at
		s.tokenless++
		s.hasUncounted = s.hasUncounted || c.Tokens == wire.NoTokenIDs && c.Finish == ""
	}
	if c.HasUsage {
		s.count(c.Usage)
		s.hasTotal = s.hasTotal || !c.HasChoices || c.Finish != ""
	}
	if c.Finish != "" {
		s.finish = c.Finish
	}
	if c.Timing != wire.EmptyChunk().Timing {
		s.timing = c.Timing
	}
}

// chunk keeps the token ids only where a later turn repeats them.
func (s *stream) chunk(data []byte) (wire.Chunk, error) {
	if s.keepsIDs {
		return wire.ParseChunk(data, &s.ids)
	}
	return wire.ParseChunk(data, nil)
}

// tokens says whether the chunk bears tokens, and how many; 0 when the server does not say. Token ids decide, then a
// running usage, then text: an empty text may hide a token, and a role or a repeated prompt is none.
func (s *stream) tokens(c wire.Chunk) (n int64, is bool) {
	if c.Tokens != wire.NoTokenIDs {
		s.hasIDs = true
		s.counted += int64(c.Tokens)
		return int64(c.Tokens), c.Tokens > 0
	}
	if c.HasUsage && c.HasChoices && c.Usage.Completion != wire.UnknownCount && (s.hasRunningUsage || s.first == unknown) {
		n = c.Usage.Completion - s.usageSoFar
		s.usageSoFar = c.Usage.Completion
		s.hasRunningUsage = s.hasRunningUsage || n > 0
		s.hasUncounted = s.hasUncounted || n > 0
		return n, n > 0
	}
	s.hasUncounted = s.hasUncounted || c.HasText
	return 0, c.HasText
}

// token notes n tokens at an instant; n is 0 where the server does not say how many.
func (s *stream) token(n int64, at time.Duration) {
	if s.first == unknown {
		s.first = at
		s.meter.addFirst(at-s.sent, max(n, 1))
	} else {
		s.meter.addGap(at-s.last, max(n, 1), s.isOther)
	}
	s.last = at
	if s.marked != s.read {
		s.marked = s.read
		s.reads++
	}
	s.hasUnknownCounts = s.hasUnknownCounts || n == 0
	s.tokensArrived += max(n, 1)
	s.offsets = append(s.offsets, (at - s.sent).Microseconds())
	s.counts = append(s.counts, int32(min(n, math.MaxInt32)))
}

// count takes what a usage says, except what does not even fit the column it is kept in.
func (s *stream) count(u wire.Usage) {
	if most := max(u.Prompt, u.Completion, u.Cached); most > math.MaxInt32 {
		s.absurdCount = most
		return
	}
	if u.Prompt != wire.UnknownCount {
		s.usage.Prompt = u.Prompt
	}
	if u.Completion != wire.UnknownCount {
		s.usage.Completion = u.Completion
	}
	if u.Cached != wire.UnknownCount {
		s.usage.Cached = u.Cached
	}
}

// received is the number of tokens that came: the server's count, else the ids seen, else not known.
func (s *stream) received() (n int64, isKnown bool) {
	if s.usage.Completion != wire.UnknownCount {
		return s.usage.Completion, true
	}
	return s.counted, s.hasIDs
}

// arrived says in words how much of an answer came: tokens where all of them are counted, else chunks.
func (s *stream) arrived(asked int64) string {
	got, isKnown := s.received()
	chunks := int64(len(s.offsets)) + s.tokenless
	isCounted := isKnown && (s.usage.Completion != wire.UnknownCount || !s.hasUnknownCounts)
	isStale := got == 0 && len(s.offsets) > 0 // a usage of the first chunk alone
	switch {
	case isCounted && !isStale || chunks == 0:
		return fmt.Sprintf("%d of %d tokens", got, asked)
	case chunks == 1:
		return fmt.Sprintf("1 chunk (its tokens are not counted), asked for %d tokens", asked)
	}
	return fmt.Sprintf("%d chunks (their tokens are not counted), asked for %d tokens", chunks, asked)
}

// longMargin is by how many tokens an answer may pass what was asked for before it is left; a chunk of text of unknown
// tokens may be a single character of one.
const (
	longMargin    = 64
	chunksInToken = 16
)

// isLong says that the server does not keep to the length that was asked for, and that waiting for its end is no use.
func (s *stream) isLong(asked int) bool {
	limit := int64(asked)
	if s.hasUnknownCounts {
		limit *= chunksInToken
	}
	return s.tokensArrived > limit+longMargin
}

// isConcluded says that the server itself has ended the stream, by any of the three ways it has.
func (s *stream) isConcluded() bool { return s.finish != "" || s.isDone || s.hasTotal }

// isMiscounted says that the server's count is not that of its token ids. With ids on every chunk vLLM's agree exactly.
func (s *stream) isMiscounted() bool {
	return s.hasIDs && !s.hasUncounted && s.usage.Completion != wire.UnknownCount && s.usage.Completion != s.counted
}

// infer takes the instants of the first and last plain chunk where no chunk showed a token and the server still counts
// some; such a row is marked.
func (s *stream) infer() {
	if s.first == unknown && s.usage.Completion > 0 && s.tokenlessFirst != unknown {
		s.first, s.last, s.inferred = s.tokenlessFirst, s.tokenlessLast, true
	}
}
