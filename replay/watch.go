// Whoever searches for a limit must know while a run goes what has become of its requests, so that a hopeless one is
// stopped. A watcher is told three times of each request: when it is sent, when its first token has come, and when it is
// over. Never of each token: that would cost the load what it measures.

package replay

import "time"

// Watched is a request as it stands. Instants are since the run began; one that was never reached is negative.
type Watched struct {
	Seq         int64
	Class       string
	InputTokens int // of its prompt, as planned
	Due, Sent   time.Duration
	First, Last time.Duration
	Tokens      int64 // received; of a request that is not over, 0
	IsOver      bool
	Failure     string                 // of one that is over; empty for a success
	Detail      string                 // of a failure, in the words of run folders
	Gaps        func() []time.Duration // between its chunks; nil until it is over, and not to be called after the watcher has returned
}

// tellWatcher says how a request stands that is not over.
func (x *exchange) tellWatcher() {
	if x.settings.Watch == nil {
		return
	}
	x.settings.Watch(Watched{Seq: x.row.req.Seq, Class: x.row.req.Class, InputTokens: x.row.req.InputTokens, Due: x.row.req.Due, Sent: x.row.sent, First: max(x.stream.first, -1), Last: -1})
}

// tellOver says what became of a request.
func (s *runState) tellOver(r *row) {
	if s.settings.Watch == nil {
		return
	}
	w := Watched{Seq: r.req.Seq, Class: r.req.Class, InputTokens: r.req.InputTokens, Due: r.req.Due, Sent: max(r.sent, -1), First: max(r.first, -1), Last: max(r.last, -1), IsOver: true, Failure: r.failure, Detail: r.detail, Gaps: r.gaps}
	if w.Tokens = r.counted; w.Tokens < 0 {
		w.Tokens = max(r.usage.Completion, 0)
	}
	s.settings.Watch(w)
}

// gaps are the times between chunks, made only for a watcher that asks.
func (r *row) gaps() (gaps []time.Duration) {
	for i := 1; i < len(r.offsets); i++ {
		gaps = append(gaps, time.Duration(r.offsets[i]-r.offsets[i-1])*time.Microsecond)
	}
	return gaps
}
