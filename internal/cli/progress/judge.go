package progress

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/capacity/live"
	"tidemark/analysis/metric"
	"tidemark/internal/show"
	"tidemark/replay"
	"tidemark/replay/host"
	"tidemark/replay/plan"
)

// Judge counts how an SLO stands while a run goes. It is no verdict: that comes from the rows, with what is too few to decide.
type Judge struct {
	warmUp time.Duration
	bounds []*bound
	// readsGaps: an objective is about the gaps between chunks.
	readsGaps bool
}

// bound is an objective with what was seen of it. Many goroutines add to it, without a lock.
type bound struct {
	objective   analysis.Objective
	searched    capacity.Objective
	all, misses atomic.Int64
	values      host.Histogram
}

// NewJudge judges by an SLO as run.json holds it; of none there is nothing to judge. Requests that are due within the warm-up do not count.
func NewJudge(slo json.RawMessage, warmUp time.Duration) (*Judge, error) {
	j, read := &Judge{warmUp: warmUp}, analysis.SLO{}
	if slo == nil {
		return j, nil
	}
	if err := json.Unmarshal(slo, &read); err != nil {
		return nil, err
	}
	searched := read.Searched()
	for i, o := range read.Objectives {
		j.readsGaps = j.readsGaps || o.Metric == metric.ITL
		j.bounds = append(j.bounds, &bound{objective: o, searched: searched[i]})
	}
	return j, nil
}

// Watch is what the load engine calls; nil where there is nothing to judge.
func (j *Judge) Watch() func(replay.Watched) {
	if len(j.bounds) == 0 {
		return nil
	}
	return func(w replay.Watched) {
		if !w.IsOver || w.Due < j.warmUp {
			return
		}
		if !j.readsGaps {
			w.Gaps = nil
		}
		planned, reply := plan.Request{Class: w.Class, InputTokens: w.InputTokens}, live.ReplyOf(w)
		for _, b := range j.bounds {
			for _, v := range b.searched.Of(planned, reply) {
				b.add(v)
			}
		}
	}
}

func (b *bound) add(v float64) {
	b.all.Add(1)
	switch {
	case b.objective.Metric == metric.FailureRatio:
		b.misses.Add(int64(v))
	default:
		b.values.Add(time.Duration(v * float64(time.Second)))
		if v > b.objective.AtMost {
			b.misses.Add(1)
		}
	}
}

// Standing is an objective as it stands, for people.
type Standing struct {
	Objective, Value, AtMost string
	Judged, Missed           int64
	IsKnown, IsMet           bool // known: one request at least may be beyond the percentile, or one is
}

// Standings are those of all objectives, in the order of the file.
func (j *Judge) Standings() (all []Standing) {
	for _, b := range j.bounds {
		o := b.objective
		s := Standing{Objective: o.String(), Judged: b.all.Load(), Missed: b.misses.Load()}
		allowed, isShare := 1-o.Percentile/100, o.Metric == metric.FailureRatio
		if isShare {
			allowed = o.AtMost
		}
		isEnough := s.Judged > 0 && (isShare || allowed*float64(s.Judged) >= 1-1e-9) // 100 for a p99, as in every table
		s.IsKnown = isEnough || s.Missed > 0
		s.IsMet = s.IsKnown && float64(s.Missed) <= allowed*float64(s.Judged)
		switch {
		case isShare:
			s.AtMost = show.Percent(o.AtMost)
			if s.IsKnown {
				s.Value = show.Percent(float64(s.Missed) / float64(s.Judged))
			}
		default:
			s.AtMost = show.Duration(o.AtMost)
			if isEnough {
				s.Value = show.Duration(b.values.Quantile(o.Percentile / 100).Seconds())
			}
		}
		all = append(all, s)
	}
	return all
}

// Words are the SLO in a word or two for a line: the objective that is missed, or how many are.
func (j *Judge) Words() string {
	var missed []string
	isKnown := false
	for _, s := range j.Standings() {
		isKnown = isKnown || s.IsKnown
		if s.IsKnown && !s.IsMet {
			missed = append(missed, s.Objective)
		}
	}
	switch {
	case !isKnown:
		return ""
	case len(missed) == 0:
		return "SLO not missed so far"
	}
	return "SLO missed: " + strings.Join(missed, ", ")
}
