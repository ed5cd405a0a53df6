package capacity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/internal/stat"
	"tidemark/replay/schedule"
)

// How long runs are, and where they go.
const (
	firstLength  = 60 * time.Second
	usualLength  = 120 * time.Second
	leastLength  = 10 * time.Second // a shorter run tells nothing
	firstOfLimit = 0.75             // the first run's multiple, of the predicted limit
	mostGrowth   = 2.5              // of the multiple from one run to the next
	closeBy      = 0.15             // ln: two runs must be so near the answer
	mostLate     = 3                // late runs in a row
	mostMisfits  = 5                // runs after which a twin that does not fit is given up
)

// Search finds the limit on a server. It goes on where the events of an earlier call of the same question ended; events of other
// questions are passed over. log is given every event as it happens, and may be nil.
func Search(ctx context.Context, q Question, server Server, earlier []Event, log func(Event) error) (Answer, error) {
	q, err := q.settled()
	if err != nil {
		return Answer{}, err
	}
	s := newSearch(ctx, &q)
	if err := s.recall(earlier); err != nil {
		return Answer{}, err
	}
	return s.run(server, log)
}

func newSearch(ctx context.Context, q *Question) *search {
	return &search{ctx: ctx, q: q, plans: newPlans(q), hash: q.hash(), twins: map[string]*calibrated{}, fits: map[string]Shift{}, distances: map[string]float64{}}
}

// run measures until there is an answer.
func (s *search) run(server Server, log func(Event) error) (Answer, error) {
	if log == nil {
		log = func(Event) error { return nil }
	}
	if err := s.predict(); err != nil {
		return Answer{}, err
	}
	for {
		next, answer, err := s.step()
		if err != nil {
			return Answer{}, err
		}
		if answer != nil {
			return *answer, log(Event{Question: s.hash, Kind: "answer", Answer: answer})
		}
		if err := log(Event{Question: s.hash, Kind: "start", Run: next}); err != nil {
			return Answer{}, err
		}
		if err := s.measure(server, next); err != nil {
			return Answer{}, err
		}
		if err := log(Event{Question: s.hash, Kind: "run", Run: next}); err != nil {
			return Answer{}, err
		}
	}
}

// search is one search while it goes. All that it knows follows from the question and the runs, so that a killed one can go on.
type search struct {
	ctx   context.Context
	q     *Question
	plans *plans
	hash  string

	runs      []*Run  // all, late ones too
	brokenOff float64 // seconds of load of runs that a kill ended: at most as long as they were to be
	predicted float64 // ln of the multiple, before the first run
	twins     map[string]*calibrated
	rivals    []*calibrated // the twins that fit the runs, best first

	fits      map[string]Shift   // speeds of candidates, by their settings
	distances map[string]float64 // of candidates from runs

	watch func(*estimate) // sees each estimate; nil: nobody does
}

// recall takes the runs of earlier events.
func (s *search) recall(events []Event) error {
	begun := 0.0 // length of a run that has not ended
	for _, e := range events {
		if e.Question != s.hash || e.Run == nil {
			continue
		}
		if e.Kind == "start" {
			s.brokenOff, begun = s.brokenOff+begun, e.Run.LengthS
		}
		if e.Kind != "run" {
			continue
		}
		begun = 0
		r := *e.Run
		if err := r.plan(s.plans); err != nil {
			return err
		}
		r.recall(s.q)
		s.runs = append(s.runs, &r)
	}
	s.brokenOff += begun
	return nil
}

// predict reads the limit off the twin as it is.
func (s *search) predict() error {
	t := newTwin(s.ctx, s.q, Settings{})
	c := newCurve(t, s.plans, Shift{}, s.q.curveRequests/4)
	guess := math.Log(math.Sqrt(s.q.MinScale * s.q.MaxScale))
	c.look(guess)
	s.predicted = math.Inf(1)
	for j, o := range s.q.Objectives {
		if o.Metric != metric.FailureRatio {
			s.predicted = min(s.predicted, c.limit(j, 0, min(s.predicted, guess)).lnScale)
		}
	}
	return c.err
}

func (s *search) measure(server Server, r *Run) error {
	probe := Probe{
		Number: r.Number, Why: r.Why, Scale: r.Scale, Length: time.Duration(r.LengthS * 1e9), Requests: r.requests,
		Mode: s.q.Mode, MaxConcurrency: s.q.concurrency(r.Scale),
	}
	probe.Hopeless = func(at time.Duration, replies []Reply) bool { return s.q.isHopeless(at, r.requests, replies) }
	m, err := server.Measure(s.ctx, probe)
	if err != nil {
		return fmt.Errorf("capacity: run %d: %w", r.Number, err)
	}
	if len(m.Replies) != len(r.requests) {
		return fmt.Errorf("capacity: run %d: %d replies to %d requests", r.Number, len(m.Replies), len(r.requests))
	}
	r.take(s.q, m)
	s.runs = append(s.runs, r)
	return nil
}

// usable are the runs that count.
func (s *search) usable() []*Run {
	return slices.DeleteFunc(slices.Clone(s.runs), func(r *Run) bool { return r.isLate(s.q) })
}

func (s *search) loadS() float64 {
	sum := 0.0
	for _, r := range s.runs {
		sum += r.LoadS
	}
	return sum
}

// left is what remains of the budget.
func (s *search) left() time.Duration {
	return s.q.Budget - time.Duration((s.loadS()+s.brokenOff)*1e9)
}

// step decides what comes next: a run, or the answer.
func (s *search) step() (*Run, *Answer, error) {
	if why := s.spoilt(); why != "" {
		return nil, s.answer(Invalid, nil, why), nil
	}
	runs := s.usable()
	if len(runs) == 0 {
		r, err := s.firstRun()
		if n := len(s.runs); r == nil && err == nil && n > 0 { // they sent load, and the client spoilt them all
			return nil, s.answer(Invalid, nil, "no run counts, and the budget has no room for another; of the last: "+s.runs[n-1].lateness()), nil
		}
		if r == nil && err == nil {
			return nil, s.answer(Undecided, nil, "the budget is too small for a run"), nil
		}
		return r, nil, err
	}
	if err := s.calibrate(runs); err != nil {
		return nil, nil, err
	}
	e, err := s.estimate(runs)
	if err != nil {
		return nil, nil, err
	}
	if s.watch != nil {
		s.watch(e)
	}
	if last := runs[len(runs)-1]; last.Why == whyConfirm {
		if confirmed := s.confirms(last, e); confirmed == nil || *confirmed || s.confirmations(runs) > 1 {
			return nil, s.confirmed(e, confirmed), nil
		}
	}
	if outcome, why := s.outcome(runs, e); outcome != "" {
		if outcome == Found && s.q.Confirm {
			if r, err := s.confirmingRun(e); r != nil || err != nil {
				return r, nil, err
			}
			if s.confirmations(runs) > 0 { // it said no, and the budget has no room for another
				no := false
				return nil, s.confirmed(e, &no), nil
			}
		}
		return nil, s.answer(outcome, e, why), nil
	}
	if len(runs) >= mostMisfits && e.misfit != "" {
		return s.fallback(runs, e)
	}
	return s.nearRun(runs, e)
}

// spoilt says why nothing can be learned any more.
func (s *search) spoilt() string {
	late := 0
	for i, r := range s.runs {
		late++
		if !r.isLate(s.q) {
			late = 0
		}
		switch {
		case r.Said.IsDead:
			return fmt.Sprintf("the server died in run %d, at %.3g of the window's traffic", r.Number, r.Scale)
		case r.Said.IsRestarted || i > 0 && r.Said.Settings.differsFrom(s.runs[0].Said.Settings):
			return fmt.Sprintf("before the end of run %d the server was restarted with other settings", r.Number)
		case r.Said.IsReplaced:
			return fmt.Sprintf("the server was restarted in run %d", r.Number)
		case r.Said.IsShared:
			return fmt.Sprintf("others used the server in run %d: more was in flight there than the run had", r.Number)
		case s.runs[0].Said.HasDrifted(r.Said):
			return fmt.Sprintf("the server changed: its unloaded latency was %.3g s before run %d and %.3g s before run %d", s.runs[0].Said.UnloadedS, s.runs[0].Number, r.Said.UnloadedS, r.Number)
		}
	}
	if late >= mostLate {
		return fmt.Sprintf("%d runs in a row do not count; of the last: %s", late, s.runs[len(s.runs)-1].lateness())
	}
	return ""
}

// outcome is empty while the search must go on.
func (s *search) outcome(runs []*Run, e *estimate) (outcome, why string) {
	least, most := math.Log(s.q.MinScale), math.Log(s.q.MaxScale)
	if o := s.impossible(runs, e); o != "" {
		return NotPossible, o + " is missed by requests that have the server to themselves"
	}
	if why := s.failures(runs, e); why != "" {
		return Undecided, why
	}
	atMost, atLeast := 0, 0
	for _, r := range runs {
		isWithin := s.q.isWithin(r)
		if math.Log(r.Scale) > most-0.05 && isWithin {
			atMost++
		}
		if math.Log(r.Scale) < least+0.05 && !isWithin {
			atLeast++
		}
	}
	switch {
	case e.low > most && atMost > 0 && e.misfit == "", atMost >= 2 && e.ln > most || atMost >= 3:
		return AboveMax, "the largest multiple that was asked about is within the objectives"
	case e.high < least && atLeast > 0:
		return BelowMin, "the smallest multiple that was asked about is not within the objectives"
	}
	if e.misfit == "" && !e.lacksFar() && s.isNarrow(e) && near(runs, e.ln) >= 2 && e.ln <= most && e.ln >= least && s.isAnyWithin(runs) {
		return Found, ""
	}
	return "", ""
}

// isAnyWithin says that some run kept the SLO. Where none did, only the twin says that a lower multiple does.
func (s *search) isAnyWithin(runs []*Run) bool { return slices.ContainsFunc(runs, s.q.isWithin) }

func (q *Question) isWithin(r *Run) bool { return q.row(r).Verdict == Within }

// isNarrow says that the interval is as narrow as asked. Of a concurrency no more than one half can be asked.
func (s *search) isNarrow(e *estimate) bool {
	wanted := math.Log1p(s.q.Precision)
	if s.q.isClosed() {
		wanted = max(wanted, 0.5/math.Exp(e.ln))
	}
	return e.half() <= wanted
}

// near counts the runs by the answer.
func near(runs []*Run, ln float64) int {
	n := 0
	for _, r := range runs {
		if math.Abs(math.Log(r.Scale)-ln) <= closeBy {
			n++
		}
	}
	return n
}

// impossible names an objective that is missed even without load, in the run and, with room for its error, by the twin.
func (s *search) impossible(runs []*Run, e *estimate) string {
	for j, o := range s.q.Objectives {
		if _, excess := s.q.missed(runs[len(runs)-1].reading.tallies[j], o); o.Metric == metric.FailureRatio || excess <= 0 {
			continue
		}
		if s.isMissedAlone(j, e.of[j].k-3*e.of[j].se) {
			return o.String()
		}
	}
	return ""
}

// isMissedAlone says whether requests that have the twin to themselves miss an objective, with its speed shifted by so much.
func (s *search) isMissedAlone(j int, shiftBy float64) bool {
	c := s.rivals[0]
	shift := c.shift
	shift.All += shiftBy
	_, isMissed := c.alone(j, shift)
	return isMissed
}

// alone is what an objective is about where each request has a twin at a speed to itself, in the unit of its bound, and whether it is missed.
func (t *twin) alone(j int, shift Shift) (value float64, isMissed bool) {
	q, o := t.q, t.q.Objectives[j]
	requests := slices.Clone(q.Window[:min(len(q.Window), 1000)])
	for i := range requests {
		requests[i].Due, requests[i].Session, requests[i].Seq = time.Duration(i)*time.Hour, "", int64(i)
	}
	engine := t.engine
	engine.StepTime = q.Twin.StepTime(shift)
	settings := q.rehearsal(engine, 1)
	settings.Mode, settings.MaxConcurrency = schedule.Open, 0
	alone, err := replies(t.ctx, settings, requests)
	if err != nil {
		return 0, false
	}
	values := o.values(requests, alone, math.MaxInt64)
	tally := o.tally(values)
	value = tally.sum / float64(max(tally.n, 1))
	if o.Quantile > 0 {
		value = stat.Quantile(values, o.Quantile)
	}
	return value, o.excess(pooled{float64(tally.n), float64(tally.misses), tally.sum}) > 0
}

// failures says that more requests fail than may, where the traffic is no more than the answer. A share of failures is not fitted.
func (s *search) failures(runs []*Run, e *estimate) string {
	for j, o := range s.q.Objectives {
		if o.Metric != metric.FailureRatio {
			continue
		}
		for _, r := range runs {
			t := r.reading.tallies[j]
			failed := math.Round(t.sum)
			if math.Log(r.Scale) <= e.ln+0.01 && failed >= 3 && failed > 2*o.AtMost*float64(t.n) {
				return fmt.Sprintf("%.0f of %d requests failed at %.3g of the window's traffic, within the limit of the latencies", failed, t.n, r.Scale)
			}
		}
	}
	return ""
}

// firstRun is short and below the predicted limit: it calibrates the twin. It is nil where the budget has no room for it.
func (s *search) firstRun() (*Run, error) {
	ln := s.predicted
	if math.IsInf(ln, 1) {
		ln = math.Log(s.q.MaxScale)
	}
	return s.newRun("first: calibrates the model", math.Exp(ln)*firstOfLimit, firstLength, nil)
}

// nearRun is a run at the answer so far, every second one a little above.
func (s *search) nearRun(runs []*Run, e *estimate) (*Run, *Answer, error) {
	ln, why := e.ln, "at the limit so far"
	if len(runs)%2 == 0 {
		ln, why = ln+math.Log(1.04), "a little above the limit so far"
	}
	switch {
	case len(runs) > 1 && !s.isAnyWithin(runs):
		ln, why = e.low+math.Log(0.8), "below the limit: no run kept the SLO"
	case e.lacksFar() && e.misfit == "":
		ln, why = e.ln+math.Log(0.8), "below the limit: the first run does not count"
	}
	scale := min(math.Exp(min(ln, 50)), mostGrowth*runs[len(runs)-1].Scale)
	r, err := s.newRun(why, scale, usualLength, e)
	if err != nil || r != nil {
		return r, nil, err
	}
	why = "the budget is used up"
	if e.misfit != "" {
		why += "; the model does not fit: " + e.misfit
	}
	return nil, s.answer(Undecided, e, why), nil
}

const whyConfirm = "confirms: at the lower end"

// confirmingRun is nil where the budget has no room for it.
func (s *search) confirmingRun(e *estimate) (*Run, error) {
	scale := max(math.Exp(e.low), s.q.MinScale)
	length := min(s.q.length(scale), s.left())
	if length < firstLength && length < s.q.length(scale) {
		return nil, nil
	}
	return s.newRun(whyConfirm, scale, length, e)
}

// newRun places a run: where the twin expects most misses of ten places, or by golden-ratio steps without an estimate. It is nil where
// the budget has no room for it.
func (s *search) newRun(why string, scale float64, length time.Duration, e *estimate) (*Run, error) {
	scale = max(s.q.MinScale, min(s.q.MaxScale, scale))
	if s.q.isClosed() {
		scale = math.Round(scale)
	}
	number := len(s.runs) + 1
	r := &Run{Number: number, Why: why, Scale: scale, Seed: s.q.probeSeed(number)}
	window := s.q.length(scale)
	length = min(length, window)
	if length > s.left() {
		if length = s.left(); length < leastLength || e != nil && length < min(firstLength, window) {
			return nil, nil
		}
	}
	r.LengthS = length.Seconds()
	whole, err := s.plans.whole(scale, r.Seed)
	if err != nil {
		return nil, err
	}
	start := golden(window, length, number)
	if e != nil && !s.q.isClosed() {
		if start, err = s.worstPlace(r, e); err != nil {
			return nil, err
		}
	}
	r.StartS = start.Seconds()
	start = time.Duration(r.StartS * 1e9)
	if s.q.isClosed() {
		err = s.countClosed(r, e, start)
	} else {
		for i := range whole {
			if whole[i].Due < start {
				r.First = i + 1
			} else if whole[i].Due < start+length {
				r.Count++
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return r, r.plan(s.plans)
}

// worstPlace is, of ten, the one where the twin expects most misses of the binding objective and that no run was at.
func (s *search) worstPlace(r *Run, e *estimate) (time.Duration, error) {
	c, length := s.rivals[0], time.Duration(r.LengthS*1e9)
	whole, err := s.plans.whole(r.Scale, r.Seed)
	if err != nil {
		return 0, err
	}
	shift := c.shift
	shift.All += e.of[e.binding].k
	best, most := time.Duration(0), -1.0
	for _, start := range places(s.q.length(r.Scale), length, 10) {
		requests := piece(whole, start, length)
		replies, err := c.play(requests, r.Scale, shift, engine.Noise{})
		if err != nil {
			return 0, err
		}
		t := s.q.read(requests, replies, 0).tallies[e.binding]
		expected := float64(t.misses) + 0.001*float64(t.n)
		for _, before := range s.runs {
			if overlap := length - (time.Duration(before.StartS*1e9) - start).Abs(); overlap > 0 {
				expected *= 1 - 0.5*float64(overlap)/float64(length)
			}
		}
		if expected > most {
			best, most = start, expected
		}
	}
	return best, nil
}

// countClosed takes as many requests as the twin answers in the run's time.
func (s *search) countClosed(r *Run, e *estimate, start time.Duration) error {
	r.First = int(float64(len(s.q.Window)) * start.Seconds() / s.q.Length.Seconds())
	t, shift := newTwin(s.ctx, s.q, Settings{}), Shift{}
	if e != nil {
		t, shift = s.rivals[0].twin, s.rivals[0].shift
	}
	requests := piece(s.q.Window, s.q.Window[r.First].Due, s.q.Length)
	replies, err := t.play(requests, r.Scale, shift, engine.Noise{})
	for _, reply := range replies {
		if reply.IsSent && reply.Last.Seconds() <= r.LengthS {
			r.Count++
		}
	}
	r.Count = min(max(r.Count, 4*int(r.Scale)), len(requests))
	r.StartS = 0
	return err
}
