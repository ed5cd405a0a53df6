package capacity

import (
	"cmp"
	"fmt"
	"time"

	"tidemark/analysis/metric"
	"tidemark/replay/plan"
)

// Event is a step of a search. Written to a file as a line of JSON each, the events are the search's state: Search takes them again.
type Event struct {
	Question string  `json:"question"` // hash of what was asked
	Kind     string  `json:"kind"`     // "start" of a run, "run" that has ended, or "answer"
	Run      *Run    `json:"run,omitempty"`
	Answer   *Answer `json:"answer,omitempty"`
}

// Run is a run of a search: what was sent, and what was measured in short form.
type Run struct {
	Number  int     `json:"number"` // from 1
	Why     string  `json:"why"`
	Scale   float64 `json:"scale"`
	Seed    uint64  `json:"seed"`    // of the sessions drawn
	StartS  float64 `json:"start_s"` // place in the window at this multiple
	LengthS float64 `json:"length_s"`
	First   int     `json:"first"` // of the whole plan's requests
	Count   int     `json:"count"`

	ID           string        `json:"id"`
	LoadS        float64       `json:"load_s"`
	CutAt        time.Duration `json:"cut_ns,omitempty"`
	LatenessP99S float64       `json:"lateness_p99_s"`
	Fault        string        `json:"client_fault,omitempty"` // for which the run does not count
	Said         Said          `json:"said"`
	Measured     short         `json:"measured"`
	Verdict      string        `json:"verdict"`

	requests []plan.Request
	replies  []Reply
	reading  reading
}

// short is the replies of a run, an element for each request. Instants are in microseconds; -1: not known or not sent.
type short struct {
	DueUS   []int64   `json:"due_us"`
	SentUS  []int64   `json:"sent_us"`
	FirstUS []int64   `json:"first_us"`
	LastUS  []int64   `json:"last_us"`
	Tokens  []int     `json:"tokens"`
	Failed  []int     `json:"failed,omitempty"` // indexes
	GapsUS  [][]int64 `json:"gaps_us,omitempty"`
}

func shorten(replies []Reply, keepsGaps bool) short {
	us := func(d time.Duration, isThere bool) int64 {
		if !isThere {
			return -1
		}
		return d.Microseconds()
	}
	var s short
	for i, r := range replies {
		s.DueUS = append(s.DueUS, us(r.Due, r.IsSent))
		s.SentUS = append(s.SentUS, us(r.Sent, r.IsSent))
		s.FirstUS = append(s.FirstUS, us(r.First, r.First > 0))
		s.LastUS = append(s.LastUS, us(r.Last, r.Last > 0))
		s.Tokens = append(s.Tokens, r.Tokens)
		if r.IsFailed {
			s.Failed = append(s.Failed, i)
		}
		if keepsGaps {
			gaps := make([]int64, len(r.Gaps))
			for n, gap := range r.Gaps {
				gaps[n] = gap.Microseconds()
			}
			s.GapsUS = append(s.GapsUS, gaps)
		}
	}
	return s
}

func (s short) replies() []Reply {
	at := func(us int64) time.Duration { return time.Duration(max(us, 0)) * time.Microsecond }
	all := make([]Reply, len(s.SentUS))
	for i := range all {
		all[i] = Reply{IsSent: s.SentUS[i] >= 0, Due: at(s.DueUS[i]), Sent: at(s.SentUS[i]), First: at(s.FirstUS[i]), Last: at(s.LastUS[i]), Tokens: s.Tokens[i]}
		if len(s.GapsUS) > 0 {
			for _, gap := range s.GapsUS[i] {
				all[i].Gaps = append(all[i].Gaps, at(gap))
			}
		}
	}
	for _, i := range s.Failed {
		all[i].IsFailed = true
	}
	return all
}

// isLate says that the client spoilt the run.
func (r *Run) isLate(q *Question) bool { return r.LatenessP99S > q.MaxLatenessS || r.Fault != "" }

// lateness is how the client spoilt it.
func (r *Run) lateness() string {
	return cmp.Or(r.Fault, fmt.Sprintf("the client was late, p99 %.3g s", r.LatenessP99S))
}

// plan fills in the requests that the run sends.
func (r *Run) plan(p *plans) error {
	whole, err := p.whole(r.Scale, r.Seed)
	if err != nil {
		return err
	}
	start := time.Duration(r.StartS * 1e9)
	r.requests = append([]plan.Request(nil), whole[r.First:r.First+r.Count]...)
	for i := range r.requests {
		r.requests[i].Seq = int64(i)
		r.requests[i].Due = max(r.requests[i].Due-start, 0)
	}
	return nil
}

// take puts what was measured into the run, in the form in which it is kept: a search that goes on sees the same numbers.
func (r *Run) take(q *Question, m Measured) {
	keepsGaps := false
	for _, o := range q.Objectives {
		keepsGaps = keepsGaps || o.Metric == metric.ITL
	}
	r.ID, r.LoadS, r.CutAt, r.LatenessP99S, r.Fault, r.Said = m.RunID, m.LoadS, m.CutAt, m.LatenessP99S, m.Fault, m.Said
	r.Measured = shorten(m.Replies, keepsGaps)
	r.recall(q)
	r.Verdict = q.row(r).Verdict
}

func (r *Run) recall(q *Question) {
	r.replies = r.Measured.replies()
	r.reading = q.read(r.requests, r.replies, r.CutAt)
}
