//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/analysis/metric"
	"tidemark/analysis/queueing"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/replay/plan"
)

// What a workload would do on a deployment that nobody has rented yet. A Scenario's traffic is a mix of lengths (mix.go). One question to
// the warehouse gives a curve per deployment: what each batch size costs and which load makes it (mixcurve.go, macros.mix_curve). Package
// queueing finds the load on the curve and turns means into percentiles. This file asks about every scenario at the low end of the
// prediction's 90 % band, as predicted, and at its high end, compares the three with the objectives, and searches for the largest rate that
// keeps them.
//
//   - An objective is met only if the high end is within its bound, and not met only if even the low end is beyond it; else undecided.
//   - Times of requests that wait for a slot are withheld (NaN), because the model does not predict how long such a wait is.
//   - Replicas share the load evenly. Data parallelism inside one server counts like replicas, because its engines batch separately.
//
// A class that no request has, or traffic without a rate, is an error. A deployment that cannot serve the traffic is an answer with Why.

// Scenario is traffic on a deployment, as a question.
type Scenario struct {
	deployment.Deployment
	Replicas int     // that share the traffic evenly; 0: one
	Scale    float64 // of the mix's rate or clients; 0: 1
	Mix      queueing.Mix

	Plan   plan.Header   // of the traffic; its mode is open (the default) or sessions, whose later turns wait for answers
	Window time.Duration // that its capacity is asked about, the busiest that resembles the whole; 0: all
}

// Range is a prediction with its 90 % band: nine in ten measurements should lie between Low and High.
type Range struct{ Value, Low, High float64 }

// ErrorRatio is how far the prediction is off a measurement, as a share of it.
func (r Range) ErrorRatio(measured float64) float64 { return r.Value/measured - 1 }

// ClientsInAll are those of a closed loop, of all replicas; 0: it is an open one.
func (s Scenario) ClientsInAll() int { return int(s.Mix.Clients * s.Scale) }

// USDPerGPUHour is what one of the GPUs costs, where USDPerHour is known.
func (o Outlook) USDPerGPUHour() float64 { return *o.USDPerHour / float64(o.GPUs) }

// Outlook is what the bandwidth model expects of a Scenario. Rates, counts and costs are of all replicas together; times are of one
// request. If Why is not empty it says why the model has no answer, and only GPU, GPUs and Replicas are set.
type Outlook struct {
	Why string

	GPU           string // as the catalogue calls it
	GPUs          int
	RequestsPerS  float64 // asked for; in a closed loop, served
	Running       float64 // requests that decode at once
	InFlight      float64 // requests between sending and their last token; NaN where TTFT is
	FloorTPOT     float64
	TPOT, TTFT    Range // means over tokens and over requests; TTFT is NaN where P99TTFT is
	P99TTFT       Range // NaN where more than 1 % of the requests wait for a slot: how long is not predicted
	P99TPOT       Range // of requests' own means
	ITLP99        Range
	Slots         float64 // requests that one replica takes at once
	SlotsBy       string  // what limits them
	SlotWaitRatio float64 // share of the requests that wait for a slot
	IsStable      bool    // the load can be served at all
	StablePerS    float64 // the largest rate that can be served, whatever the SLO
	CapacityPerS  Range   // the largest rate that is stable, keeps the SLO, and has too few waits for a slot to matter to it; Low is the low end; NaN if too many wait at the load itself
	Headroom      float64 // capacity / rate - 1
	Replicas      int
	IsRehearsed   bool   // CapacityPerS, Headroom and Needed are of a rehearsal, of the window; else they are a formula's
	Caution       string // about the window that was rehearsed; empty: none
	Needed        int    // replicas that the rate needs, by the middle of the capacity; 0: no number is enough, or it is withheld
	Cautious      int    // the same by the low end of the capacity
	Objectives    []Expectation
	SLO           string   // Met, NotMet, Undecided: within the band; empty: none was given
	USDPerHour    *float64 // nil: no price is known
	USDPerMillion *float64 // of output tokens, at the rate; nil too where the load is not stable or the SLO is not kept
	PriceLabel    string
	ExpertsFrom   string
	Calibration   string
}

// Expectation is one objective with what the model expects of it, at the load and for a request that is alone. The second tells a user
// whether a lower load could help: if even a request that is alone takes too long, only other hardware or another format can.
type Expectation struct {
	Objective
	At         Range  // at the load
	Unloaded   Range  // of a request that is alone
	IsPossible bool   // the bound is not below the unloaded time
	Outcome    string // Met, NotMet, or Undecided: the bound lies within the band, or too many requests wait for a slot
	IsWithheld bool   // too many requests wait for a slot, at least at the slow end of the band, so a time is not predicted
}

// Impossible says, for an objective that is not possible, that even a request that is alone takes too long.
func (e Expectation) Impossible() string {
	return fmt.Sprintf("%s of at most %s is not possible at all: unloaded it is %s (%s at best)",
		e.Objective, show.Duration(e.AtMost), show.Duration(e.Unloaded.Value), show.Duration(e.Unloaded.Low))
}

// WhatIf asks the model about many scenarios at once and answers in their order. A scenario without an answer says why; an error means that
// the question makes no sense or that the warehouse could not be asked.
func WhatIf(ctx context.Context, db *sql.DB, scenarios []Scenario, slo SLO) ([]Outlook, error) {
	outlooks := make([]Outlook, len(scenarios))
	if err := check(scenarios, slo); err != nil {
		return nil, err
	}
	scenarios, err := withModels(ctx, db, scenarios)
	if err != nil {
		return nil, err
	}
	if err := findImpossible(ctx, db, scenarios, outlooks); err != nil {
		return nil, err
	}
	// Scenarios that differ only in replicas or rate share a curve, because a curve is of one replica and of every rate.
	var questions []mixQuestion
	places := map[string]int{}
	keyOf := func(s Scenario) string {
		return fmt.Sprintf("%+v %p %v", s.Deployment, &s.Mix.Parts[0], s.clients())
	}
	for i, s := range scenarios {
		if _, isAsked := places[keyOf(s)]; outlooks[i].Why == "" && !isAsked {
			places[keyOf(s)] = len(questions)
			questions = append(questions, mixQuestion{s.Deployment, s.Mix, s.clients()})
		}
	}
	if len(questions) == 0 {
		return outlooks, nil
	}
	curves, err := mixCurves(ctx, db, questions)
	if err != nil {
		return nil, err
	}
	for i, s := range scenarios {
		if outlooks[i].Why != "" {
			continue
		}
		curve := curves[places[keyOf(s)]]
		if curve == nil {
			return nil, fmt.Errorf("what-if: the deployment on %s is known, but nothing came of it", s.GPU)
		}
		// Sharing arrivals out among n replicas at random leaves 1/n of their excess burstiness.
		curve.Replicas = s.engines()
		curve.Burst = (s.Mix.ArrivalCV*s.Mix.ArrivalCV - 1) / curve.Replicas
		outlooks[i] = s.outlook(curve, slo)
	}
	return outlooks, nil
}

// check refuses questions that have no answer: traffic whose rate is not known, because all of it is due at one instant, and objectives about
// a class that no request has.
func check(scenarios []Scenario, slo SLO) error {
	for _, s := range scenarios {
		if rate, clients := s.Mix.RequestsPerS*s.scale(), s.Mix.Clients*s.scale(); !(rate > 0) && !(clients > 0) {
			return hint.Misuse("what-if: all requests come at once, or there is one alone: no rate is known").
				Hint("give --request-rate, or --max-concurrency for a closed loop")
		}
		for _, o := range slo.Objectives {
			if o.Class != "" && !s.Mix.HasClass(o.Class) {
				return hint.Misuse("what-if: %s: no request is of that class", o).
					Hint("the classes of a plan are its source's, of a run its plan's")
			}
		}
	}
	return nil
}

// withModels reads models that are named by a path, each of them once.
func withModels(ctx context.Context, db *sql.DB, scenarios []Scenario) ([]Scenario, error) {
	read := map[string]string{}
	all := slices.Clone(scenarios)
	for i, s := range all {
		if _, known := read[s.CatalogModel]; !known {
			text, err := readModel(ctx, db, s.CatalogModel)
			if err != nil {
				return nil, err
			}
			read[s.CatalogModel] = text
		}
		all[i].CatalogModel = read[s.CatalogModel]
	}
	return all, nil
}

// findImpossible finds deployments that the model does not know, or whose KV cache cannot hold the longest request. It predicts a load of
// one request of that length in eleven days, so that nothing but the length can be in the way.
func findImpossible(ctx context.Context, db *sql.DB, scenarios []Scenario, outlooks []Outlook) error {
	points := make([]Point, len(scenarios))
	for i, s := range scenarios {
		points[i] = Point{Deployment: s.Deployment, Load: Load{RequestsPerS: 1e-6, InputTokens: float64(s.Mix.Longest[0]), OutputTokens: float64(s.Mix.Longest[1])}}
	}
	predictions, err := Predict(ctx, db, points)
	if err != nil {
		return err
	}
	for i, p := range predictions {
		outlooks[i] = Outlook{Why: p.Why, Replicas: max(1, scenarios[i].Replicas), GPU: scenarios[i].GPU}
		outlooks[i].GPUs = outlooks[i].Replicas * scenarios[i].Deployment.GPUs()
	}
	return nil
}

// scale is the factor on the mix's rate or clients.
func (s Scenario) scale() float64 {
	if s.Scale == 0 {
		return 1
	}
	return s.Scale
}

// engines is the number of engines that share the load evenly: the replicas of data parallelism in all servers. Each batches on its own, so the
// curve of one engine at its share of the load says everything.
func (s Scenario) engines() float64 { return float64(max(1, s.Replicas) * max(1, s.DataParallelSize)) }

// clients are those of one engine.
func (s Scenario) clients() float64 { return s.Mix.Clients * s.scale() / s.engines() }

// outlook puts the answer together from the curve of one replica: times are those of the curve, rates and counts are multiplied by the number of
// engines. In an open loop the number in flight follows from Little's law, rate * time in the system; in a closed loop it is given.
func (s Scenario) outlook(c *mixCurve, slo SLO) Outlook {
	engines, servers := s.engines(), max(1, s.Replicas)
	isOpen := s.Mix.Clients == 0
	load := s.Mix.RequestsPerS * s.scale() / engines
	if !isOpen {
		load = s.clients()
	}
	at := c.rangedWithSlots(load, isOpen)
	usual := at.states[1]
	o := Outlook{
		GPU: c.gpu, Replicas: servers, GPUs: servers * s.Deployment.GPUs(),
		RequestsPerS: engines * load, Running: engines * usual.Batch, FloorTPOT: usual.FloorS,
		TPOT: Range{usual.Flow.TPOTS, usual.Flow.TPOTS / (1 + c.band), usual.Flow.TPOTS * (1 + c.band)},
		TTFT: at.of(c.MeanTTFT), P99TTFT: at.withheld(at.of(func(m queueing.State) float64 { return c.TTFT(m, 99, "") }), mostCalmWaiting),
		P99TPOT: at.of(func(m queueing.State) float64 { return c.TPOT(m, 99, "") }), ITLP99: at.of(func(m queueing.State) float64 { return c.ITL(m, 99) }),
		Slots: c.Slots, SlotsBy: c.SlotsBy(), SlotWaitRatio: at.waiting[1],
		IsStable: !(isOpen && usual.IsFull), ExpertsFrom: c.experts, Calibration: c.basis,
	}
	if isOpen { // a closed loop's mean follows from its clients
		o.TTFT = at.withheld(o.TTFT, mostCalmWaiting)
	}
	served := engines * usual.PerS
	o.InFlight = served * (o.TTFT.Value + usual.Gaps*usual.Flow.TPOTS)
	if !isOpen {
		o.RequestsPerS, o.InFlight = served, engines*load
	}
	for _, objective := range slo.Objectives {
		if objective.Metric != metric.FailureRatio {
			o.Objectives = append(o.Objectives, c.expect(objective, at))
		}
	}
	o.SLO = worstOf(o.Objectives)
	o.StablePerS = engines * c.MostPerS(1)
	capacity := c.capacity(slo)
	if calm := c.calmestPerS(slo); calm < capacity.Value { // above that rate waits for a slot matter, and the capacity is not known
		capacity = capacity.atMost(calm, c.slower())
		if isOpen && load > calm {
			capacity = Range{math.NaN(), math.NaN(), math.NaN()}
		}
	}
	o.CapacityPerS = capacity.Times(engines)
	o.Headroom = o.CapacityPerS.Value/o.RequestsPerS - 1
	o.Needed = replicasAt(o.RequestsPerS, o.CapacityPerS.Value/float64(servers))
	o.Cautious = replicasAt(o.RequestsPerS, o.CapacityPerS.Low/float64(servers))
	o.price(c, slo, served*s.Mix.OutputTokens/s.Mix.Requests)
	return o
}

// replicasAt is how many replicas a rate needs that take so much each; 0: no number is enough.
func replicasAt(perS, each float64) int {
	if !(each > 0) {
		return 0
	}
	return int(math.Ceil(perS/each - 1e-9))
}

// atMost limits each end of a capacity by a rate that was found for the predicted times. Where all times are longer by a factor, the
// rate is lower by the same factor.
func (r Range) atMost(perS float64, slower [3]float64) Range {
	return Range{Low: min(r.Low, perS/slower[2]), Value: min(r.Value, perS/slower[1]), High: min(r.High, perS/slower[0])}
}

// price says what the load costs. The SLO's own price goes before that of the catalogue. A price per million tokens has a meaning only
// where the load is stable and the SLO is met.
func (o *Outlook) price(c *mixCurve, slo SLO, tokensPerS float64) {
	perGPUHour, label := c.usdPerGPUHour, c.priceLabel
	if slo.Cost != nil {
		perGPUHour, label = &slo.Cost.PerGPUHour, "by the SLO"
	}
	if perGPUHour == nil {
		return
	}
	perHour := *perGPUHour * float64(o.GPUs)
	o.USDPerHour, o.PriceLabel = &perHour, label
	if o.IsStable && (len(slo.Objectives) == 0 || o.SLO == Met) {
		perMillion := perHour / (tokensPerS * 3600 / 1e6)
		o.USDPerMillion = &perMillion
	}
}

// Times multiplies the value and both ends.
func (r Range) Times(factor float64) Range {
	return Range{r.Value * factor, r.Low * factor, r.High * factor}
}

// rangedState is one load at three factors on all times: the low end of the band, as predicted, and its high end.
type rangedState struct {
	states  [3]queueing.State
	waiting [3]float64 // share of the requests that wait for a slot
	isOpen  bool
}

// slower is the factor on all times at the low end of the band, as predicted, and at its high end.
func (c *mixCurve) slower() [3]float64 { return [3]float64{1 / (1 + c.band), 1, 1 + c.band} }

// ranged finds a load on the curve at the three factors.
func (c *mixCurve) ranged(load float64, isOpen bool) (r rangedState) {
	for i, slower := range c.slower() {
		r.states[i] = c.At(load, isOpen, slower)
	}
	return r
}

// rangedWithSlots is ranged with the share of requests that wait for a slot. It is separate because that share takes thousands of events.
func (c *mixCurve) rangedWithSlots(load float64, isOpen bool) rangedState {
	r := c.ranged(load, isOpen)
	r.isOpen = isOpen
	for i, slower := range c.slower() {
		r.waiting[i] = c.WaitingRatio(load, isOpen, slower)
	}
	return r
}

// waitsForSlot says at which of the three factors too many requests wait for a slot. Where the queue grows for ever the times are infinite
// anyway, and nothing needs to be withheld.
func (r rangedState) waitsForSlot(most float64) (waits [3]bool) {
	for i, share := range r.waiting {
		waits[i] = share > most && !(r.isOpen && r.states[i].IsFull)
	}
	return waits
}

// withheld replaces the ends at which too many requests wait for a slot by NaN. The other ends stay, so that a range can be half known.
func (r rangedState) withheld(of Range, most float64) Range {
	waits := r.waitsForSlot(most)
	for i, value := range []*float64{&of.Low, &of.Value, &of.High} {
		if waits[i] {
			*value = math.NaN()
		}
	}
	return of
}

// of is a figure at the three factors.
func (r rangedState) of(figure func(queueing.State) float64) Range {
	return Range{Value: figure(r.states[1]), Low: figure(r.states[0]), High: figure(r.states[2])}
}

// unloadedPerS is a rate so low that no request meets another: one in thirty years.
const unloadedPerS = 1e-9

// expect judges one objective at a load. At the low end of the band the time without a wait for a slot decides: a wait would only add to it,
// so if that time is beyond the bound, the objective is surely not met.
func (c *mixCurve) expect(o Objective, at rangedState) Expectation {
	figure := func(s queueing.State) float64 { return c.of(s, o) }
	e := Expectation{Objective: o, At: at.of(figure), Unloaded: c.ranged(unloadedPerS, true).of(figure)}
	e.IsPossible = e.Unloaded.Low <= o.AtMost
	withoutWait := e.At.Low
	if o.isWaitedFor() {
		e.At = at.withheld(e.At, o.mostWaiting())
		e.IsWithheld = at.waitsForSlot(o.mostWaiting()) != [3]bool{}
	}
	switch {
	case e.At.High <= o.AtMost:
		e.Outcome = Met
	case withoutWait > o.AtMost:
		e.Outcome = NotMet
	default:
		e.Outcome = Undecided
	}
	return e
}

// worstOf is the outcome of all objectives together, as for a measured SLO: one that is not met decides, then one that is undecided. Empty: there are none.
func worstOf(all []Expectation) string {
	worst := ""
	for _, e := range all {
		switch {
		case e.Outcome == NotMet:
			return NotMet
		case worst != Undecided:
			worst = e.Outcome
		}
	}
	return worst
}

// capacity is the largest rate of one replica that is stable and keeps the SLO; 0: none does. Its low end assumes that all times are at the
// high end of their band, because slower steps serve fewer requests.
func (c *mixCurve) capacity(slo SLO) Range {
	var most [3]float64
	for i, slower := range c.slower() {
		most[i] = c.mostWithin(slo, slower)
	}
	return Range{Value: most[1], Low: most[2], High: most[0]}
}

// mostWithin searches for that rate by bisection between 0 and the largest stable rate, because every time rises with the rate.
func (c *mixCurve) mostWithin(slo SLO, slower float64) float64 {
	isKept := func(perS float64) bool {
		state := c.At(perS, true, slower)
		return !slices.ContainsFunc(slo.Objectives, func(o Objective) bool { return o.Metric != metric.FailureRatio && c.of(state, o) > o.AtMost })
	}
	low, high := 0.0, c.MostPerS(slower)
	if len(slo.Objectives) == 0 || isKept(high*(1-1e-9)) {
		return high
	}
	for range 20 { // halvings: to a millionth of the largest rate
		if middle := (low + high) / 2; isKept(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	if low < unloadedPerS || !isKept(low) {
		return 0
	}
	return low
}
