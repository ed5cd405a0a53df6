package capacity

import (
	"math"
	"slices"
	"time"

	"tidemark/analysis/metric"
	"tidemark/replay/plan"
)

// The outcomes.
const (
	Found       = "found"
	AboveMax    = "above_max"    // the largest multiple is within the objectives
	BelowMin    = "below_min"    // the smallest is not
	NotPossible = "not_possible" // not even a request alone is
	Undecided   = "undecided"
	Invalid     = "invalid" // the server died, or changed, or the client was late
)

// Answer is what a search found. Pointers are nil where there is no value; JSON has null there.
type Answer struct {
	Outcome          string   `json:"outcome"`
	Scale            *float64 `json:"scale"` // multiple of the window's traffic; in a closed loop the concurrency
	ScaleLow         *float64 `json:"scale_low"`
	ScaleHigh        *float64 `json:"scale_high"` // of a 90 % interval
	RatePerS         *float64 `json:"rate_per_s"`
	RateLowPerS      *float64 `json:"rate_low_per_s"`
	RateHighPerS     *float64 `json:"rate_high_per_s"`
	DrawsRatio       *float64 `json:"draws_ratio,omitempty"` // rehearsed: half of the interval that the draws alone leave, over the multiple
	BindingObjective *string  `json:"binding_objective"`
	PredictedScale   *float64 `json:"predicted_scale"` // of the twin before the first run
	Confirmed        *bool    `json:"confirmed"`
	ThinkS           *float64 `json:"-"`           // mean think time of these users, seconds; nil: there is none
	Users            *float64 `json:"users"`       // sessions under way at a time, on average over the window
	Concurrency      *int     `json:"concurrency"` // of a closed loop
	Runs             []string `json:"runs"`        // their ids
	LoadS            float64  `json:"load_s"`      // seconds in which load was sent

	IsWeak        bool      `json:"is_weak"`        // found without a usable twin
	Why           string    `json:"why"`            // of an outcome other than found: what stands in the way
	MinutesEnough *float64  `json:"minutes_enough"` // undecided: of load, all runs together, that would probably do
	Notes         []string  `json:"notes"`
	Table         []Row     `json:"table"`
	Shares        []ShareAt `json:"shares"` // of misses of the twin at 0.9, 1 and 1.1 of the limit
	Curve         []CurveAt `json:"curve"`
	Settings      Settings  `json:"settings"` // of the twin that was used, where they were told or found
	Shift         Shift     `json:"shift"`    // of its speed, ln
}

// Row is a run in the table.
type Row struct {
	RunID       string  `json:"run_id"`
	Why         string  `json:"why"`
	Scale       float64 `json:"scale"`
	RatePerS    float64 `json:"rate_per_s"`   // as sent
	MissedRatio float64 `json:"missed_ratio"` // of the objective that the run missed most of, against what is allowed
	Objective   string  `json:"objective"`    // that one
	Verdict     string  `json:"verdict"`      // Within, Beyond, hopeless, late, died, restarted, shared
	Seconds     float64 `json:"seconds"`
}

// ShareAt is the share of misses of each objective at a part of the limit.
type ShareAt struct {
	OfLimit float64   `json:"of_limit"`
	Missed  []float64 `json:"missed_ratios"` // as the question's objectives
}

// CurveAt is a point of the curve of the binding objective: its share of misses over the whole window, and those of the twin at the
// ends of its speed's interval.
type CurveAt struct {
	Scale      float64 `json:"scale"`
	Missed     float64 `json:"missed_ratio"`
	MissedLow  float64 `json:"missed_low_ratio"`
	MissedHigh float64 `json:"missed_high_ratio"`
}

// What a run that counts says: its share of misses is within what is allowed, or beyond. Whether the run met the SLO is another question, which
// the warehouse answers (marts.verdicts): a run of a minute that missed nothing may have too few samples for a p99.
const (
	Within = "within"
	Beyond = "beyond"
	late   = "late" // the client spoilt it
)

// IsClients says that the client spoilt every run, so that the answer is none and says nothing of the server.
func (a Answer) IsClients() bool {
	return a.Outcome == Invalid && len(a.Table) > 0 && !slices.ContainsFunc(a.Table, func(r Row) bool { return r.Verdict != late })
}

// row of a run for the table.
func (q *Question) row(r *Run) Row {
	row := Row{RunID: r.ID, Why: r.Why, Scale: r.Scale, Seconds: r.LoadS, Verdict: Within}
	sent := 0
	for _, reply := range r.replies {
		if reply.IsSent {
			sent++
		}
	}
	seconds := min(r.LoadS, r.LengthS) // the last answers may take longer
	if q.isClosed() {
		seconds = r.LoadS
	}
	if seconds > 0 {
		row.RatePerS = float64(sent) / seconds
	}
	worst := math.Inf(-1)
	for i, o := range q.Objectives {
		share, excess := q.missed(r.reading.tallies[i], o)
		if excess > 0 {
			row.Verdict = Beyond
		}
		if excess > worst {
			worst, row.MissedRatio, row.Objective = excess, share, o.String()
		}
	}
	switch {
	case r.Said.IsDead:
		row.Verdict = "died"
	case r.Said.IsRestarted, r.Said.IsReplaced:
		row.Verdict = "restarted"
	case r.Said.IsShared:
		row.Verdict = "shared"
	case r.isLate(q):
		row.Verdict = late
	case r.CutAt > 0:
		row.Verdict = "hopeless"
	}
	return row
}

// missed is the share of misses, and its ratio to what is allowed less one; of a mean the second is that of the mean to its bound.
func (q *Question) missed(t tally, o Objective) (share, excess float64) {
	if t.n == 0 {
		return 0, -1
	}
	share = float64(t.misses) / float64(t.n)
	switch {
	case o.Metric == metric.FailureRatio:
		share = t.sum / float64(t.n)
		return share, share/max(o.AtMost, 1e-9) - 1
	case o.Quantile == 0:
		return share, t.sum/float64(t.n)/o.AtMost - 1
	}
	return share, share/o.allowed() - 1
}

// setScale fills in the multiple and what follows from it.
func (a *Answer) setScale(q *Question, ln, low, high float64) {
	value := func(ln float64) *float64 {
		if math.IsInf(ln, 0) || math.IsNaN(ln) {
			return nil
		}
		v := math.Exp(ln)
		return &v
	}
	a.Scale, a.ScaleLow, a.ScaleHigh = value(ln), value(low), value(high)
	a.RatePerS, a.RateLowPerS, a.RateHighPerS = q.rate(a.Scale), q.rate(a.ScaleLow), q.rate(a.ScaleHigh)
	a.Concurrency = nil
	if q.isClosed() && a.Scale != nil {
		n := int(*a.Scale) // the largest that is within
		a.Concurrency = &n
	}
}

// rate of a multiple of the window, requests per second; a closed loop has none of its own.
func (q *Question) rate(scale *float64) *float64 {
	if scale == nil || q.isClosed() {
		return nil
	}
	v := *scale * q.meanRate()
	return &v
}

// meanThink of the turns that wait for an answer, seconds; nil: none does.
func meanThink(requests []plan.Request) *float64 {
	total, turns := time.Duration(0), 0
	for i := range requests {
		if think := requests[i].Think; think != nil {
			total, turns = total+*think, turns+1
		}
	}
	if turns == 0 {
		return nil
	}
	mean := total.Seconds() / float64(turns)
	return &mean
}

// users is the mean number of sessions under way over the window: from when the first turn is due to the end of the last.
func users(requests []plan.Request, replies []Reply, length time.Duration) float64 {
	type span struct{ from, to time.Duration }
	spans := map[string]span{}
	total := time.Duration(0)
	for i, r := range replies {
		if !r.IsSent {
			continue
		}
		to := max(r.Last, r.Due)
		if requests[i].Session == "" {
			total += min(to, length) - min(r.Due, length)
			continue
		}
		s, isThere := spans[requests[i].Session]
		if !isThere {
			s = span{r.Due, to}
		}
		s.from, s.to = min(s.from, r.Due), max(s.to, to)
		spans[requests[i].Session] = s
	}
	for _, s := range spans {
		total += min(s.to, length) - min(s.from, length)
	}
	return total.Seconds() / length.Seconds()
}
