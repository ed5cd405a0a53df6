// The numbers of a plan's header, counted while the requests pass: rates, lengths, sharing. Shared tokens are what an ideal
// cache without limit would find; what a server really finds is measured, not planned.

package plan

import (
	"slices"
	"time"
)

const (
	// idTokens are the tokens that tell any two block ids apart.
	idTokens = 16
	// MaxClasses is how many names of classes a header holds.
	MaxClasses = 100
	// sameInstant is what due times lose where they are rounded, at a low speed more than a nanosecond.
	sameInstant = time.Microsecond
)

// totals numbers the requests of a plan and counts what its header says.
type totals struct {
	header   *Header
	had      blockSet                // blocks of earlier requests
	sessions map[uint64]previousTurn // last turn of each session with a name
	recent   []time.Duration         // due times within the last second
	first    time.Duration
	last     time.Duration
}

// newTotals counts into a header.
func newTotals(header *Header) *totals {
	return &totals{header: header, had: newBlockSet(), sessions: map[uint64]previousTurn{}}
}

// add numbers the request by its place in the plan: what was dropped leaves no gap.
func (t *totals) add(req *Request) {
	h := t.header
	req.Seq = h.Requests
	t.blocks(req)
	t.history(req)
	t.class(req.Class)
	h.Requests++
	h.InputTokens += int64(req.InputTokens)
	h.OutputTokens += int64(req.OutputTokens)
	h.SharedTokens += int64(req.SharedTokens)
	h.LongestTokens = max(h.LongestTokens, req.InputTokens+req.OutputTokens)
	h.LongestInputTokens = max(h.LongestInputTokens, req.InputTokens)
	t.rate(req.Due)
}

// blocks cuts the ids that lie beyond the prompt and finds how much of it an earlier request had. Of a block that an
// earlier prompt ended in, only the tokens that it had are shared.
func (t *totals) blocks(req *Request) {
	req.SharedTokens = 0
	if len(req.Blocks) == 0 || req.BlockTokens < 1 {
		req.Blocks, req.BlockTokens = nil, 0
		return
	}
	t.header.BlockTokens = req.BlockTokens
	whole := (req.InputTokens + req.BlockTokens - 1) / req.BlockTokens
	req.Blocks = req.Blocks[:min(len(req.Blocks), whole)]
	isShared := true
	for i, id := range req.Blocks {
		tokens := min(req.BlockTokens, req.InputTokens-i*req.BlockTokens)
		if isShared {
			had := min(t.had.tokens(id, req.BlockTokens), tokens)
			// Where it leaves what others had: further on, all before it tells it from them.
			if had == 0 && tokens < req.BlockTokens && !identifies(id, tokens) {
				t.header.ShortLastBlocks++
			}
			req.SharedTokens += had
			isShared = had == req.BlockTokens
		}
		if !isShared {
			t.had.add(id, tokens, req.BlockTokens)
		}
	}
}

// identifies says whether the first tokens of a block say its id whole: they are its digits, in a base that is the number of
// token ids in use.
func identifies(id uint64, tokens int) bool {
	for ; id > 0 && tokens > 0; tokens-- {
		id /= DefaultVocabHigh - DefaultVocabLow
	}
	return id == 0
}

// class puts a name among those of the header.
func (t *totals) class(name string) {
	at, had := slices.BinarySearch(t.header.Classes, name)
	if name != "" && !had && len(t.header.Classes) < MaxClasses {
		t.header.Classes = slices.Insert(t.header.Classes, at, name)
	}
}

// previousTurn is what a turn must know of the one before it.
type previousTurn struct {
	input, output int32
	anchor        int32  // place of its last whole block, or 0
	id            uint64 // that block; ids are chained, so an equal id is an equal prompt up to it
	hasBlocks     bool   // they reach to the prompt's end
}

// history finds how much of the prompt repeats the turn before, where the source does not say.
func (t *totals) history(req *Request) {
	if req.Session == "" {
		t.header.Sessions++
		req.HistoryTokens = 0
		return
	}
	session := sessionKey(*req)
	before, isLater := t.sessions[session]
	switch {
	case !isLater:
		t.header.Sessions++
		req.HistoryTokens = 0
	case req.HistoryTokens == 0 && before.isExtendedBy(req):
		req.HistoryTokens = int(before.input + before.output)
	}
	req.HistoryTokens = min(req.HistoryTokens, req.InputTokens)
	t.sessions[session] = turnOf(req)
}

// turnOf keeps of a turn only what the next one is compared with.
func turnOf(req *Request) previousTurn {
	turn := previousTurn{input: int32(req.InputTokens), output: int32(req.OutputTokens)}
	if len(req.Blocks) == 0 {
		return turn
	}
	whole := max(req.InputTokens/req.BlockTokens, 1)
	// Blocks that end before the prompt does leave a rest that nobody repeats.
	if turn.hasBlocks = len(req.Blocks) >= whole; turn.hasBlocks {
		turn.anchor, turn.id = int32(whole-1), req.Blocks[whole-1]
	}
	return turn
}

// isExtendedBy compares one block: ids are chained, so the last whole block stands for the whole prompt up to it.
func (b previousTurn) isExtendedBy(req *Request) bool {
	return b.hasBlocks && req.InputTokens > int(b.input) && len(req.Blocks) > int(b.anchor) && req.Blocks[b.anchor] == b.id
}

// rate keeps the due times of the last second; the most there ever are is the peak rate.
func (t *totals) rate(due time.Duration) {
	if t.header.Requests == 1 {
		t.first = due
	}
	t.last = due
	old := 0
	// A second is half open: of requests just a second apart it holds the later one alone.
	for old < len(t.recent) && t.recent[old] <= due-time.Second+sameInstant {
		old++
	}
	t.recent = append(t.recent[old:], due)
	t.header.PeakRatePerS = max(t.header.PeakRatePerS, float64(len(t.recent)))
}

// end fills in what is known only after the last request.
func (t *totals) end() {
	t.header.DurationS = t.last.Seconds()
	// Of n requests there are n - 1 gaps: n over them would be a rate that no second of a short plan has.
	if span := (t.last - t.first).Seconds(); span > 0 {
		t.header.MeanRatePerS = float64(t.header.Requests-1) / span
	}
	t.header.PeakRatePerS = max(t.header.PeakRatePerS, t.header.MeanRatePerS)
}
