package traces

import "tidemark/ingest/read"

// Rounds of agents whose prompts have no block ids, only how much of each was a prefix
// that the session had sent before. The ids are made here: they say the same as the
// prefixes, in whole blocks: a round shares up to a block less than its trace says, and
// cached_tokens has all of it.

// mostRoundTokens is the longest prompt or answer that is believed of one round.
const mostRoundTokens = 1 << 27

// roundSession is a session while its rounds come by. Rounds one after the other make
// one lane; a round that begins before the answer before it has ended makes another.
type roundSession struct {
	lanes []*roundLane
	block int64  // tokens that an id stands for
	space uint64 // of its ids: two sessions share nothing
	next  uint64 // id
	index int64  // of the latest round, as the file counts
}

// roundLane is a chain of rounds, each sent after the answer before it.
type roundLane struct {
	id string
	sessionSoFar
	known []blockSpan // the whole blocks of the latest prompt and of its answer
}

// blockSpan is ids one after the other: a long prompt is a few of them.
type blockSpan struct{ from, count uint64 }

// newRoundSession starts with its first lane, which has the session's own id.
func newRoundSession(id string, block int64) *roundSession {
	return &roundSession{block: block, space: read.HashText(id) << 24, lanes: []*roundLane{{id: id}}, index: -1}
}

// prompt makes the ids of a prompt: those that its lane had, as far as the prefix goes,
// and new ones behind them. Blocks that are not full have none, because the next prompt
// fills them. The answer has ids too, for a prefix that reaches into it. Beyond is how
// many tokens of the prefix this session never sent: another one did.
func (s *roundSession) prompt(lane *roundLane, prefix, input, output int64) (ids []uint64, beyond int64) {
	reach := prefix / s.block
	kept := lane.cut(uint64(reach))
	if int64(kept) < reach {
		beyond = prefix - int64(kept)*s.block
	}
	whole := uint64(input / s.block)
	if all := uint64((input + output) / s.block); all > kept {
		lane.known = append(lane.known, blockSpan{s.space + s.next, all - kept})
		s.next += all - kept
	}
	ids = make([]uint64, 0, whole)
	for _, span := range lane.known {
		for i := uint64(0); i < span.count && uint64(len(ids)) < whole; i++ {
			ids = append(ids, span.from+i)
		}
	}
	return ids, beyond
}

// cut keeps so many leading blocks of what is known, and says how many there were.
func (l *roundLane) cut(blocks uint64) (kept uint64) {
	for i, span := range l.known {
		if kept+span.count >= blocks {
			l.known[i].count = blocks - kept
			l.known = l.known[:i+1]
			return blocks
		}
		kept += span.count
	}
	return kept
}
