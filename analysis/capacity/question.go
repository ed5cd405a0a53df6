package capacity

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// Question is what a search is asked. The first group is needed.
type Question struct {
	Window     []plan.Request // cut and due from 0, in order of due time; of sessions the bounds, as a plan in that mode has them
	Objectives []Objective
	Twin       Twin

	Length  time.Duration // of the window; 0: until its last request is due
	Mode    string        // schedule.Open (the default), Sessions, or Closed: then the multiple is a concurrency
	BySpeed bool          // the load changes by speed and not by whole sessions
	Seed    uint64

	Budget    time.Duration // in which load is sent, all runs together; default 30 min
	Precision float64       // half width of the interval, as a share; default 0.05
	MinScale  float64       // default 0.05, closed: 1
	MaxScale  float64       // default 20, closed: 1024
	Confirm   bool          // a last run at the lower end
	IsBrief   bool          // the answer needs no curve around the limit, and no number of users
	Remarks   []string      // about the window and the twin, which the answer's notes repeat

	curveRequests int // played at each point of the twin's curve; default 30,000

	MaxLatenessS float64 // p99 beyond which the client spoilt a run; default 0.010
}

// Coarse plays so many requests at each point of the twin's curve, instead of 30,000: for studies that make hundreds of searches.
func (q Question) Coarse(requests int) Question {
	q.curveRequests = requests
	return q
}

// Objective is one bound, as in an SLO file.
type Objective struct {
	Metric   string  `json:"metric"`             // of package metric
	Quantile float64 `json:"quantile,omitempty"` // 0.99 for a p99; 0: the mean; of failure_ratio none
	AtMost   float64 `json:"at_most"`            // seconds; a share for failure_ratio
	Class    string  `json:"class,omitempty"`    // of requests; empty: all
}

// String is the objective's name as marts.slo writes it: p99 ttft_from_due.
func (o Objective) String() string {
	text := o.Metric
	switch {
	case o.Metric == metric.FailureRatio:
	case o.Quantile == 0:
		text = "mean " + text
	default:
		text = show.Percentile(o.Quantile*100) + " " + text
	}
	if o.Class != "" {
		text += " of class " + o.Class
	}
	return text
}

// isShare says that the objective is about a share of requests, and not about a mean or failures.
func (o Objective) isShare() bool { return o.Metric != metric.FailureRatio && o.Quantile > 0 }

// allowed is the share of requests that may miss.
func (o Objective) allowed() float64 { return 1 - o.Quantile }

// Shift changes the speed of a twin, in ln: 0.1 makes steps 10.5 % longer.
type Shift struct {
	Decode  float64 `json:"decode"`  // fixed costs, sequences and their contexts
	Prefill float64 `json:"prefill"` // prompt tokens and their attention
	All     float64 `json:"all"`
}

// Twin is the engine model of the server that is asked about.
type Twin struct {
	Engine   engine.Config // of one replica; StepTime is not read
	StepTime func(Shift) func(engine.Step) time.Duration

	Replicas       int
	Routing        string // as rehearsal.Settings
	MaxConcurrency int    // a cap over an open loop; 0: none
	IsAnswered     bool   // later turns of a session repeat what was answered
	IsCold         bool   // no two requests share anything

	Band float64 // of the step time, one side: 90 % of real servers lie between its 1 / (1 + Band) and 1 + Band times; 0: not known

	// AreSettingsCertain says that the engine's settings need no doubt although the server does not tell them.
	AreSettingsCertain bool
}

// ShiftedSteps makes the twin's StepTime of a prediction: what a step takes without its prompts is its decode part, what they add is
// its prefill part.
func ShiftedSteps(predicted func(engine.Step) time.Duration) func(Shift) func(engine.Step) time.Duration {
	return func(s Shift) func(engine.Step) time.Duration {
		decode, prefill := math.Exp(s.Decode+s.All), math.Exp(s.Prefill+s.All)
		return func(step engine.Step) time.Duration {
			whole := predicted(step)
			if step.PrefillTokens == 0 {
				return time.Duration(decode * float64(whole))
			}
			step.PrefillTokens, step.PrefillChunks, step.PrefillPairs = 0, 0, 0
			rest := predicted(step)
			return time.Duration(decode*float64(rest) + prefill*float64(whole-rest))
		}
	}
}

// Check refuses what cannot be meant, an objective of a class that no request has among it. A question whose twin has no step time yet is checked
// without it.
func (q Question) Check() error {
	if q.Twin.StepTime == nil {
		q.Twin.StepTime = func(Shift) func(engine.Step) time.Duration { return nil }
	}
	if _, err := q.settled(); err != nil {
		return err
	}
	classes := map[string]bool{"": true}
	for i := range q.Window {
		classes[q.Window[i].Class] = true
	}
	known := slices.Sorted(maps.Keys(classes))[1:]
	for _, o := range q.Objectives {
		switch {
		case classes[o.Class]:
		case len(known) == 0:
			return hint.Errorf("capacity: %s: no request is of class %q", o, o.Class).Hint("this traffic has no classes: leave the class out")
		default:
			return hint.Errorf("capacity: %s: no request is of class %q", o, o.Class).Hint("the window has %s", strings.Join(known, ", "))
		}
	}
	return nil
}

// settled fills in defaults and refuses what cannot be meant.
func (q Question) settled() (Question, error) {
	q.Mode = cmp.Or(q.Mode, schedule.Open)
	isClosed := q.Mode == schedule.Closed
	q.Budget = cmp.Or(q.Budget, 30*time.Minute)
	q.Precision = cmp.Or(q.Precision, 0.05)
	q.MaxLatenessS = cmp.Or(q.MaxLatenessS, 0.010)
	if isClosed {
		q.MinScale, q.MaxScale = cmp.Or(q.MinScale, 1), cmp.Or(q.MaxScale, 1024)
	}
	q.MinScale, q.MaxScale = cmp.Or(q.MinScale, 0.05), cmp.Or(q.MaxScale, 20)
	q.curveRequests = cmp.Or(q.curveRequests, curveRequests)
	q.Twin.Replicas, q.Twin.Routing = max(q.Twin.Replicas, 1), cmp.Or(q.Twin.Routing, rehearsal.Turns)
	switch {
	case len(q.Window) == 0:
		return q, errors.New("capacity: the window has no request")
	case q.Twin.StepTime == nil:
		return q, errors.New("capacity: the model has no step time")
	case q.Mode != schedule.Open && q.Mode != schedule.Sessions && !isClosed:
		return q, fmt.Errorf("capacity: mode %q: must be open, sessions or closed", q.Mode)
	case isClosed && q.BySpeed:
		return q, errors.New("capacity: a closed loop has no speed")
	case !(q.MinScale > 0 && q.MinScale < q.MaxScale):
		return q, fmt.Errorf("capacity: the smallest multiple %v must be above 0 and below the largest, %v", q.MinScale, q.MaxScale)
	case q.MaxScale > 1000 && !isClosed:
		return q, fmt.Errorf("capacity: a largest multiple of %v: at most 1000", q.MaxScale)
	case !(q.Precision > 0 && q.Precision < 1):
		return q, fmt.Errorf("capacity: precision %v: must be above 0 and below 1, such as 0.05", q.Precision)
	}
	if q.Length == 0 {
		q.Length = q.Window[len(q.Window)-1].Due + time.Millisecond
	}
	return q, q.checkObjectives()
}

func (q Question) checkObjectives() error {
	fitted := 0
	for _, o := range q.Objectives {
		_, _, _, isLatency := o.span(plan.Request{}, &Reply{}, 0)
		switch {
		case isLatency, o.Metric == metric.ITL:
			fitted++
			if !(o.AtMost > 0) || o.Quantile < 0 || o.Quantile >= 1 {
				return fmt.Errorf("capacity: %s at most %v: want a bound above 0 s and a quantile below 1", o, o.AtMost)
			}
		case o.Metric != metric.FailureRatio:
			return fmt.Errorf("capacity: no metric %q", o.Metric)
		}
	}
	if fitted == 0 {
		return errors.New("capacity: no objective is a latency: a share of failures alone has no limit that a search can find")
	}
	return nil
}

// hash is the name of the question. A search ignores events that have another name. The budget is not in it, so that a search can be given more time.
func (q Question) hash() string {
	h := sha256.New()
	e := q.Twin.Engine
	asked := struct {
		Objectives       []Objective
		Mode             string
		BySpeed          bool
		Seed             uint64
		Min, Max         float64
		Engine           [6]int
		IsCaching        bool
		Replicas, Cap    int
		Routing          string
		Answered, IsCold bool
		LengthS          float64
	}{q.Objectives, q.Mode, q.BySpeed, q.Seed, q.MinScale, q.MaxScale,
		[6]int{e.MaxNumBatchedTokens, e.MaxNumSeqs, e.KVBlocks, e.BlockSize, e.MaxModelLen, e.SlidingWindow},
		e.EnablePrefixCaching, q.Twin.Replicas, q.Twin.MaxConcurrency, q.Twin.Routing, q.Twin.IsAnswered, q.Twin.IsCold, q.Length.Seconds()}
	text, err := json.Marshal(asked)
	if err != nil {
		panic(err) // numbers and texts
	}
	h.Write(text)
	for _, r := range q.Window {
		fmt.Fprintln(h, r.Due, r.InputTokens, r.OutputTokens, r.Session, r.Class, len(r.Blocks))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Key names all that the answer of a rehearsal follows from, with the versions of the program that are given: an equal key is an equal answer. What the
// steps take is in it as it is, so that other constants are another question.
func (q Question) Key(versions ...string) (string, error) {
	q.Objectives = slices.DeleteFunc(slices.Clone(q.Objectives), func(o Objective) bool { return o.Metric == metric.FailureRatio }) // none is rehearsed
	q, err := q.settled()
	if err != nil {
		return "", err
	}
	steps, e := q.Twin.StepTime(Shift{}), q.Twin.Engine
	e.StepTime, e.Model, e.Version = nil, "", ""
	h := sha256.New()
	fmt.Fprintln(h, versions, q.hash(), q.Precision, q.Twin.Band, fmt.Sprintf("%+v", e))
	for sequences := 0; sequences <= 1024; sequences = max(1, 2*sequences) {
		for _, prompt := range []int{0, 1, 16, 512, 8192} {
			context := int64(1000 * sequences)
			fmt.Fprintln(h, steps(engine.Step{DecodeSequences: sequences, ContextTokens: context, WindowTokens: context, PrefillTokens: prompt, PrefillChunks: min(prompt, 1), PrefillPairs: float64(prompt * prompt / 2)}))
		}
	}
	for i := range q.Window {
		r := &q.Window[i]
		think := time.Duration(-1)
		if r.Think != nil {
			think = *r.Think
		}
		fmt.Fprintln(h, r.Turn, think, r.BlockTokens, r.HistoryTokens)
		if err := binary.Write(h, binary.LittleEndian, r.Blocks); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// meanRate is that of the window as recorded, requests per second.
func (q Question) meanRate() float64 { return float64(len(q.Window)) / q.Length.Seconds() }

func (q *Question) isClosed() bool { return q.Mode == schedule.Closed }
