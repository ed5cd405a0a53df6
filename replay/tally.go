package replay

import "time"

// idTokens are the tokens that tell any two block ids apart.
const idTokens = 16

// tally numbers the requests of a plan and counts what its header says.
type tally struct {
	header *Header
	seen   map[uint64]struct{} // block ids of earlier requests
	recent []time.Duration     // due times within the last second
	first  time.Duration
	last   time.Duration
}

func (t *tally) add(req *Request) {
	h := t.header
	req.Seq = h.Requests
	t.blocks(req)
	h.Requests++
	h.InputTokens += int64(req.InputTokens)
	h.OutputTokens += int64(req.OutputTokens)
	h.SharedTokens += int64(req.SharedTokens)
	t.rate(req.Due)
}

// blocks cuts the ids that lie beyond the prompt and finds how much of it an earlier request had.
func (t *tally) blocks(req *Request) {
	req.SharedTokens = 0
	if len(req.Blocks) == 0 || req.BlockTokens < 1 {
		req.Blocks, req.BlockTokens = nil, 0
		return
	}
	t.header.BlockTokens = req.BlockTokens
	whole := (req.InputTokens + req.BlockTokens - 1) / req.BlockTokens
	req.Blocks = req.Blocks[:min(len(req.Blocks), whole)]
	if over := len(req.Blocks)*req.BlockTokens - req.InputTokens; over > 0 && req.BlockTokens-over < idTokens {
		t.header.ShortLastBlocks++
	}
	shared := 0
	for shared < len(req.Blocks) {
		if _, had := t.seen[req.Blocks[shared]]; !had {
			break
		}
		shared++
	}
	for _, id := range req.Blocks[shared:] {
		t.seen[id] = struct{}{}
	}
	req.SharedTokens = min(shared*req.BlockTokens, req.InputTokens)
}

// rate keeps the due times of the last second; the most there ever are is the peak rate.
func (t *tally) rate(due time.Duration) {
	if t.header.Requests == 1 {
		t.first = due
	}
	t.last = due
	old := 0
	for old < len(t.recent) && t.recent[old] <= due-time.Second {
		old++
	}
	t.recent = append(t.recent[old:], due)
	t.header.PeakRatePerS = max(t.header.PeakRatePerS, float64(len(t.recent)))
}

func (t *tally) end() {
	t.header.DurationS = t.last.Seconds()
	// Of n requests there are n - 1 gaps: n over them would be a rate that no second of a short plan has.
	if span := (t.last - t.first).Seconds(); span > 0 {
		t.header.MeanRatePerS = float64(t.header.Requests-1) / span
	}
	t.header.PeakRatePerS = max(t.header.PeakRatePerS, t.header.MeanRatePerS)
}
