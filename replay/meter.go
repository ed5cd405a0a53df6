// Counters for the progress line. Many goroutines add without locks; one reports each second. Nothing here is kept: what a
// run says at its end is counted from its rows.

package replay

import (
	"sync/atomic"
	"time"

	"tidemark/replay/host"
)

// Progress is how a run stands, for a line that says so.
type Progress struct {
	Elapsed         time.Duration // since the first due time could come
	PlanDuration    time.Duration
	Model           string // the only model whose TPOT and prediction these are; empty: the requests ask for one alone
	Planned         int64
	Sent            int64
	InFlight        int64
	Completed       int64
	Failed          int64
	LateP50         time.Duration // over the run so far, within 3 %, as are the other quantiles
	LateP99         time.Duration
	TTFTP50         time.Duration // 0: no first token has come
	TTFTP99         time.Duration
	SentPerS        float64       // requests per second since the last report
	OutputTokensPer float64       // tokens per second likewise
	TPOT            time.Duration // mean time per output token since the last report, over the streams of the run's own model; 0: none came
	PredictedTPOT   time.Duration // for the number of its requests in flight now; 0: there is no prediction
	Throttled       string        // which GPUs' clocks are held down, by what and since when; empty: none, or nobody says
}

// meter counts while a run goes, for its progress line; the rows are the record.
type meter struct {
	sent, answeredSent, answered, failed atomic.Int64
	tokens, gaps, gapTokens              atomic.Int64
	othersInFlight                       atomic.Int64 // of requests to other models than the run's own
	lastTokens, lastGap, lastGapTokens   int64        // at the last report; its goroutine only
	lastSent                             int64        // likewise
	lastAt                               time.Duration
	late, ttft                           host.Histogram // of requests
}

// addFirst adds the n tokens that came first.
func (m *meter) addFirst(ttft time.Duration, n int64) {
	m.tokens.Add(n)
	m.ttft.Add(ttft)
}

// addGap adds n tokens that came so long after those before them; their mean gap is the TPOT of the progress line, which is beside a
// prediction of the run's own model: those of another only count as tokens.
func (m *meter) addGap(gap time.Duration, n int64, isOther bool) {
	m.tokens.Add(n)
	if isOther {
		return
	}
	m.gaps.Add(int64(gap))
	m.gapTokens.Add(n)
}

func (m *meter) addSent(r *row) {
	m.sent.Add(1)
	m.late.Add(r.lateness())
	if r.isOther {
		m.othersInFlight.Add(1)
	}
}

// end counts a row that is complete. A request that never left counts as failed and not as in flight.
func (m *meter) end(r *row) {
	if r.sent != unknown {
		m.answeredSent.Add(1)
		if r.isOther {
			m.othersInFlight.Add(-1)
		}
	}
	m.answered.Add(1)
	if r.failure != "" {
		m.failed.Add(1)
	}
}

// flight is how many requests were sent, and how many of these have ended.
func (m *meter) flight() (sent, ended int64) { return m.sent.Load(), m.answeredSent.Load() }

func (m *meter) inFlight() int64 { return m.sent.Load() - m.answeredSent.Load() }

// report is called by one goroutine; rates are over the time since its last call.
func (m *meter) report(now time.Duration) Progress {
	tokens, gap, gapTokens := m.tokens.Load(), m.gaps.Load(), m.gapTokens.Load()
	ended, failed := m.answered.Load(), m.failed.Load()
	p := Progress{Elapsed: now, Sent: m.sent.Load(), InFlight: m.inFlight(), Completed: ended - failed, Failed: failed,
		LateP50: m.late.Quantile(0.5), LateP99: m.late.Quantile(0.99), TTFTP50: m.ttft.Quantile(0.5), TTFTP99: m.ttft.Quantile(0.99)}
	if span := (now - m.lastAt).Seconds(); span > 0 {
		p.SentPerS = float64(p.Sent-m.lastSent) / span
		p.OutputTokensPer = float64(tokens-m.lastTokens) / span
	}
	if n := gapTokens - m.lastGapTokens; n > 0 {
		p.TPOT = time.Duration((gap - m.lastGap) / n)
	}
	m.lastTokens, m.lastGap, m.lastGapTokens, m.lastSent, m.lastAt = tokens, gap, gapTokens, p.Sent, now
	return p
}
