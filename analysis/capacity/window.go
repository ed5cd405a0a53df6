package capacity

import (
	"fmt"
	"slices"
	"time"

	"tidemark/internal/show"
	"tidemark/internal/stat"
	"tidemark/replay/plan"
)

// Window is a part of a trace, with how busy it is and how much it resembles the whole.
type Window struct {
	From, Until time.Duration
	RatePerS    float64
	BusiestPerS float64 // of a cut: what all requests of the window came at, where RatePerS is of the sessions that begin in it and outlast it; 0: as RatePerS
	Distance    float64 // the larger of the Kolmogorov-Smirnov distances of prompt and answer lengths from the whole trace's; 0 is the same
}

// TimesBusiest is a rate, requests per second, as a multiple of BusiestPerS.
func (w Window) TimesBusiest(perS float64) float64 { return perS / w.BusiestPerS }

// Length is how long the window is.
func (w Window) Length() time.Duration { return w.Until - w.From }

// Span is a window as a search keeps it: by the clock of the source, with what is in it.
type Span struct {
	FromS    float64 `json:"from_s"`
	UntilS   float64 `json:"until_s"`
	Requests int     `json:"requests"`
	Sessions int     `json:"sessions"` // a request without a session is one
	RatePerS float64 `json:"rate_per_s"`

	// BusiestPerS is what all requests of the window came at, requests per second, where those that are played are of the sessions that begin in it and
	// outlast it. 0: as RatePerS.
	BusiestPerS float64 `json:"busiest_per_s,omitempty"`
}

// At is the rate of the span at a multiple, requests per second.
func (s Span) At(scale float64) float64 { return scale * s.RatePerS }

// Span is the span of the window with its requests, cut out of the plan of that header.
func (w Window) Span(requests []plan.Request, of plan.Header) Span {
	from := startOf(of)
	span := Span{FromS: from + w.From.Seconds(), UntilS: from + w.Until.Seconds(), Requests: len(requests), RatePerS: float64(len(requests)) / w.Length().Seconds(), BusiestPerS: w.BusiestPerS}
	sessions := map[string]bool{}
	for _, r := range requests {
		if r.Session == "" {
			span.Sessions++
		} else {
			sessions[r.Session] = true
		}
	}
	span.Sessions += len(sessions)
	return span
}

// startOf is where a plan starts, in seconds of its source's clock.
func startOf(h plan.Header) float64 {
	if h.Scaling.FromS == nil {
		return 0
	}
	return *h.Scaling.FromS
}

// WholeWindow is all of a plan. What is quiet before its end belongs to it, but for a closed loop or sessions, whose requests end it.
func WholeWindow(requests []plan.Request, h plan.Header, mode string) Window {
	end := requests[len(requests)-1].Due + time.Millisecond
	if until := h.Scaling.UntilS; until != nil && mode == "open" {
		end = max(end, plan.FromSeconds((*until-startOf(h))/max(h.Scaling.Speed, 1e-9)))
	}
	return Window{Until: end, RatePerS: float64(len(requests)) / end.Seconds()}
}

// CutWindow is what of a plan is asked about: the busiest part, so long, that resembles the whole, or with a length of 0 all of it. Until is 0
// where no part has enough requests. caution is of sessions that outlast it; empty: none.
func CutWindow(all []plan.Request, h plan.Header, mode string, length time.Duration) (cut []plan.Request, w Window, caution string) {
	if length == 0 {
		return all, WholeWindow(all, h, mode), ""
	}
	if w = BusiestWindow(all, length, mode == "sessions"); w.Until == 0 {
		return nil, w, ""
	}
	return w.Cut(all, mode == "sessions")
}

// mostUnlike is how far lengths of a window may be from the whole trace's, for it to stand for it.
const mostUnlike = 0.1

// FewestOfWindow are the requests that a part of a trace needs to resemble the whole.
const FewestOfWindow = 20

// BusiestWindow finds the busiest part of a trace, so long, that still resembles the whole. If none does, it is the one that resembles it
// most. A trace that is hardly longer is taken whole. It is empty where no part has FewestOfWindow requests. Requests are in order of due time.
// Where sessions are cut whole, those that count begin in the window: while the last ones go on, there are none.
func BusiestWindow(requests []plan.Request, length time.Duration, isWhole bool) Window {
	end := requests[len(requests)-1].Due + time.Millisecond
	if end < length+length/5 {
		return Window{Until: end, RatePerS: float64(len(requests)) / end.Seconds()}
	}
	inputs, outputs := lengthsOf(requests)
	var best, nearest Window
	first, last := 0, 0
	begins := func(r plan.Request) bool { return !isWhole || r.Session == "" || r.Turn == 0 }
	for from := time.Duration(0); from+length <= end; from += max(length/10, time.Second) {
		for first < len(requests) && requests[first].Due < from {
			first++
		}
		for last = max(last, first); last < len(requests) && requests[last].Due < from+length; last++ {
		}
		if last-first < FewestOfWindow || !slices.ContainsFunc(requests[first:last], begins) {
			continue
		}
		w := Window{From: from, Until: from + length, RatePerS: float64(last-first) / length.Seconds()}
		if w.RatePerS <= best.RatePerS && nearest.Until > 0 && best.Until > 0 {
			continue // not busier: it need not be compared
		}
		in, out := lengthsOf(requests[first:last])
		w.Distance = max(stat.Distance(inputs, in), stat.Distance(outputs, out))
		if w.Distance <= mostUnlike && w.RatePerS > best.RatePerS {
			best = w
		}
		if nearest.Until == 0 || w.Distance < nearest.Distance {
			nearest = w
		}
	}
	if best.Until > 0 {
		return best
	}
	return nearest
}

// Cut is the part of a trace in a window, due from 0. Of sessions those that begin in it, whole. Where many of their requests come after it, the
// window that was taken goes on until the last of them is due: their number over the first window alone would be a rate that nobody ever sent;
// caution says so then, for the answer's notes.
func (w Window) Cut(requests []plan.Request, isWhole bool) (cut []plan.Request, taken Window, caution string) {
	begun := map[string]bool{}
	for _, r := range requests {
		isIn := r.Due >= w.From && r.Due < w.Until
		if isWhole && r.Session != "" {
			if isIn && r.Turn == 0 {
				begun[r.Session] = true
			}
			isIn = begun[r.Session]
		}
		if !isIn {
			continue
		}
		r.Due -= w.From
		r.Seq = int64(len(cut))
		cut = append(cut, r)
	}
	taken = w
	if share := w.outlastBy(cut); share > 0 {
		taken.Until = w.From + cut[len(cut)-1].Due + time.Millisecond
		taken.RatePerS, taken.BusiestPerS = float64(len(cut))/taken.Length().Seconds(), w.RatePerS
		caution = fmt.Sprintf("%s of the requests of sessions that begin in the window are due after it, and rates are over the %s that all of them take. "+
			"Fewer run at once than where sessions begin all the time, so the answer is too high: tidemark capacity with a longer --window is nearer", show.Percent(share), show.Duration(taken.Length().Seconds()))
	}
	return cut, taken, caution
}

// muchLater is the share of requests due after the window from which they count as a part of it, and an answer needs a word about them.
const muchLater = 0.25

// outlastBy is the share of cut requests that are due after the window; 0 where that is little.
func (w Window) outlastBy(cut []plan.Request) float64 {
	later := 0
	for _, r := range cut {
		if r.Due >= w.Length() {
			later++
		}
	}
	if share := float64(later) / float64(max(len(cut), 1)); share > muchLater {
		return share
	}
	return 0
}

func lengthsOf(requests []plan.Request) (inputs, outputs []int) {
	for _, r := range requests {
		inputs, outputs = append(inputs, r.InputTokens), append(outputs, r.OutputTokens)
	}
	slices.Sort(inputs)
	slices.Sort(outputs)
	return inputs, outputs
}
