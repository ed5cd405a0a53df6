package replay

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Progress is how a run stands, for a line that says so.
type Progress struct {
	Elapsed         time.Duration // since the first due time could come
	PlanDuration    time.Duration
	Planned         int64
	Sent            int64
	InFlight        int64
	Completed       int64
	Failed          int64
	LateP99         time.Duration // over the run so far, within 4 %
	OutputTokensPer float64       // tokens per second since the last report
	TPOT            time.Duration // mean time per output token since the last report, over all streams; 0: none came
	PredictedTPOT   time.Duration // at what is in flight now; 0: nobody predicts
}

// meter counts while a run goes, for its progress line; what is kept is in the rows.
type meter struct {
	sent, left, ended, failed          atomic.Int64
	tokens, gaps, gapTokens            atomic.Int64
	lastTokens, lastGap, lastGapTokens int64 // at the last report; its goroutine only
	lastAt                             time.Duration

	mu   sync.Mutex
	late [240]int64 // requests by lateness, in steps of 8 % from 1 us on
}

func (m *meter) addTokens(n int64) { m.tokens.Add(n) }

func (m *meter) addGap(gap time.Duration, n int64) {
	m.tokens.Add(n)
	m.gaps.Add(int64(gap))
	m.gapTokens.Add(n)
}

const lateStep = 1.08

func (m *meter) addSent(lateness time.Duration) {
	m.sent.Add(1)
	step := 0
	if us := lateness.Seconds() * 1e6; us > 1 {
		step = min(int(math.Log(us)/math.Log(lateStep))+1, len(m.late)-1)
	}
	m.mu.Lock()
	m.late[step]++
	m.mu.Unlock()
}

func (m *meter) end(r *row) {
	if r.sent != unknown {
		m.left.Add(1)
	}
	m.ended.Add(1)
	if r.failure != "" {
		m.failed.Add(1)
	}
}

// flight is how many requests were sent, and how many of these have ended.
func (m *meter) flight() (sent, ended int64) { return m.sent.Load(), m.left.Load() }

func (m *meter) inFlight() int64 { return m.sent.Load() - m.left.Load() }

func (m *meter) lateP99() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := int64(0)
	for _, n := range m.late {
		all += n
	}
	below := int64(0)
	for step, n := range m.late {
		if below += n; all > 0 && below*100 >= all*99 {
			return time.Duration(math.Pow(lateStep, float64(step)-0.5) * 1e3)
		}
	}
	return 0
}

func (m *meter) report(now time.Duration) Progress {
	tokens, gap, gapTokens := m.tokens.Load(), m.gaps.Load(), m.gapTokens.Load()
	ended, failed := m.ended.Load(), m.failed.Load()
	p := Progress{Elapsed: now, Sent: m.sent.Load(), InFlight: m.inFlight(), Completed: ended - failed, Failed: failed, LateP99: m.lateP99()}
	if span := (now - m.lastAt).Seconds(); span > 0 {
		p.OutputTokensPer = float64(tokens-m.lastTokens) / span
	}
	if n := gapTokens - m.lastGapTokens; n > 0 {
		p.TPOT = time.Duration((gap - m.lastGap) / n)
	}
	m.lastTokens, m.lastGap, m.lastGapTokens, m.lastAt = tokens, gap, gapTokens, now
	return p
}
