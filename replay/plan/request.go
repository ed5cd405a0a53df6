package plan

import (
	"iter"
	"time"
)

// Request is one planned request: one line of plan.jsonl.zst.
type Request struct {
	Seq          int64
	Due          time.Duration // since the run begins
	InputTokens  int
	OutputTokens int
	Session      string         // requests of one session share it; empty: a session of its own
	Turn         int            // 0-based place in the session
	Think        *time.Duration // wait after the turn before; nil where the trace does not say
	Blocks       []uint64       // prefix block ids, chained: equal leading ids are an equal prefix
	BlockTokens  int            // tokens per block; the last block of a prompt may be shorter
	SharedTokens int            // leading prompt tokens whose blocks an earlier request of the plan already had
	Class        string
	// HistoryTokens are the leading prompt tokens that repeat the turn before: its prompt and its answer. 0: not known.
	HistoryTokens int
}

// Each are requests that lie in memory.
func Each(requests []Request) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		for _, r := range requests {
			if !yield(r, nil) {
				return
			}
		}
	}
}
