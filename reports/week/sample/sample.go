// Package sample invents weeks of a service, whole and in every odd shape that a page has to bear. Tests of the page, of
// its charts and of its summary draw from it.
//
//	sample.go    the weeks: one as a team sees it, and its variants
//	hours.go     arrivals by hour, and their sums
//	felt.go      latencies and time per token by hour
//	rest.go      everything that has one row a week
//
// It refuses chance: the same call gives the same figures, on any machine and on any day.
package sample

import (
	"math"
	"time"
	_ "time/tzdata" // a machine without zone files gives the same weeks

	"tidemark/analysis/week"
)

// plan says what is invented.
type plan struct {
	monday   string
	load     float64 // times the usual traffic
	replicas int
	growth   float64 // of a week
	before   int     // weeks with data before this one
	missing  map[int]bool
	slow     map[int]bool // hours in which a GPU ran slow and the SLO broke
	metrics  bool         // latencies from production
	basis    string
}

func usual() plan {
	return plan{monday: "2026-11-16", load: 1, replicas: 6, growth: 0.022, before: 5, metrics: true, basis: "measured",
		missing: span(3*24+2, 3), slow: map[int]bool{4*24 + 10: true, 4*24 + 11: true}}
}

// span holds count hours from an hour of the week on.
func span(from, count int) map[int]bool {
	out := map[int]bool{}
	for i := range count {
		out[from+i] = true
	}
	return out
}

// Report is a week of service chat: six replicas hold it, three hours are missing on Thursday, and on Friday at 10:00 and
// 11:00 a slow GPU broke the SLO.
func Report() *week.Report { return usual().report() }

// DoesNotFit is a week with 1.4 times the traffic on the same six replicas.
func DoesNotFit() *week.Report {
	p := usual()
	p.load, p.growth = 1.4, 0.08
	r := p.report()
	r.Symptoms = append([]week.Symptom{{Name: "The fleet is too small", First: &r.Hours[peakHour].Start, Last: &r.Hours[peakHour+1].Start, Hours: 2,
		Found: "41.2 requests wait on average at a full batch", Confirmed: "confirmed: KV usage 0.97 on every replica", Try: "add a replica", IsForGPUs: true, Symptom: "kv_full"}}, r.Symptoms...)
	return r
}

// NoMetrics is a week without latencies from production.
func NoMetrics() *week.Report {
	p := usual()
	p.metrics, p.slow = false, nil
	return p.report()
}

// NoHistory is the first week of a service.
func NoHistory() *week.Report {
	p := usual()
	p.before = 0
	return p.report()
}

// Falling is a week of a service that loses traffic; its requests are not shaped like those of the search.
func Falling() *week.Report {
	p := usual()
	p.growth, p.load, p.slow, p.missing = -0.06, 0.8, nil, nil
	r := p.report()
	r.LeadUntil = "2026-W49"
	r.Basis.ShapeDistance, r.Basis.IsOtherShape = ptr(0.21), true
	return r
}

// Missing is a week with 60 hours without data, from Tuesday at 20:00 on.
func Missing() *week.Report {
	p := usual()
	p.missing, p.slow = span(24+20, 60), nil
	return p.report()
}

// Autumn is the week of 169 hours in which the clocks go back, Sunday 25 October 2026.
func Autumn() *week.Report {
	p := usual()
	p.monday = "2026-10-19"
	return p.report()
}

// Spring is the week of 167 hours in which the clocks go forward, Sunday 28 March 2027.
func Spring() *week.Report {
	p := usual()
	p.monday = "2027-03-22"
	return p.report()
}

// Rehearsed is a week whose capacity was never measured: the basis is a prediction.
func Rehearsed() *week.Report {
	p := usual()
	p.basis = "predicted"
	r := p.report()
	r.Do.Command = r.Commands.Search
	return r
}

// NoCapacity is a week for which nothing says what a replica handles.
func NoCapacity() *week.Report {
	p := usual()
	p.basis = "none"
	return p.report()
}

// OutOfReach is a week of which no rate is small enough for the SLO.
func OutOfReach() *week.Report {
	r := NoCapacity()
	r.Basis.Kind, r.Basis.IsImpossible, r.Basis.Binding = "predicted", true, r.SLO.Objectives[0].Name
	r.Basis.Alone = 0.0864
	r.Basis.Sentence = "No replica was measured; by rehearsal no rate is small enough for the SLO at the busiest hour's lengths."
	r.Verdict = r.AsNeeded()
	r.AlternativesWhy = "No other deployment was tried: the busiest hour has one request."
	return r
}

// HalfHour is a week whose last hour is half an hour long, as where clocks are set by half an hour.
func HalfHour() *week.Report {
	r := NoHistory()
	r.Hours[len(r.Hours)-1].LengthS = 1800
	return r
}

// Changed is a week in which a seventh replica came on Wednesday. Of its sources only one model's and one class's requests
// count, and what was replayed is too little to tell whether it stands for the week.
func Changed() *week.Report {
	p := usual()
	r := p.report()
	from := p.start().Add(48 * time.Hour)
	r.Replicas = append(r.Replicas, week.Replicas{From: from, Replicas: 7})
	for i := range r.Hours {
		if !r.Hours[i].Start.Before(from) {
			r.Hours[i].PaidReplicas = 7
			r.Hours[i].CostUSD = ptr(7 * perHour)
		}
	}
	r.Agents = &week.Agents{Sessions: 412_000, Rounds: 2_884_000, Waits: 2_400_000, P50WaitS: ptr(3.25), P90WaitS: ptr(41.)}
	r.Sums = p.sums(r.Hours)
	r.Verdict = p.verdict(r)
	r.Sources[0].Model, r.Sources[1].Class = "llama-3.1-70b", "interactive"
	r.Shape.Slice[0].IsUnknown = true
	return r
}

// All are the weeks by name, for tests that look at each.
func All() map[string]*week.Report {
	return map[string]*week.Report{
		"report": Report(), "does-not-fit": DoesNotFit(), "no-metrics": NoMetrics(), "no-history": NoHistory(), "falling": Falling(), "missing": Missing(),
		"autumn": Autumn(), "spring": Spring(), "rehearsed": Rehearsed(), "no-capacity": NoCapacity(), "out-of-reach": OutOfReach(), "half-hour": HalfHour(), "changed": Changed(),
	}
}

func (p plan) report() *week.Report {
	monday := p.day(0)
	r := &week.Report{
		Service: "chat", Week: isoWeek(monday), FromDay: p.monday, UntilDay: p.day(6).Format(time.DateOnly), TimeZone: zone,
		File:       week.File{Path: "chat.yaml", SHA256: hash("file"), Text: serviceFile},
		Deployment: deployment(), Replicas: []week.Replicas{{Replicas: p.replicas}}, SLO: slo(),
		Price:   week.Price{USDPerGPUHour: ptr(usdPerGPUHour), Source: "contract 2026-04"},
		Sources: p.sources(), Hours: p.hours(), Notes: notes, Version: "0.9.0", Looked: 14,
	}
	r.Sums = p.sums(r.Hours)
	r.Before, r.Changes = p.weeksBefore(r.Sums), p.changes(r.Sums)
	r.Basis, r.Classes, r.Shape = p.capacity(), p.classes(r.Sums), p.shape(r.Sums)
	if p.metrics {
		r.Felt, r.Steps = p.felt(r.Hours), p.steps(r.Hours)
		r.Sums.BrokenHours, r.Sums.IsMet = p.broken(r.Felt), ptr(len(p.slow) == 0)
	}
	r.Symptoms, r.Alternatives, r.Forecast = p.symptoms(r.Hours), p.alternatives(r.Sums), p.forecast(r.Sums)
	if r.Drift = p.drift(r.Steps); r.Drift != nil {
		r.Changed = &week.WhatChanged{Verdict: "none", Sentence: "No change shown, of the system or of the workload: a change of TPOT at the same batch by 4.00 % would have shown, a change of requests by 9.10 % would have shown."}
	}
	r.Runs, r.Gaps, r.Scaling, r.Nines = runs(), p.gaps(r.Hours), scaling(r.Sums), p.nines()
	r.Fullest, r.Do, r.FailedRequests = fullest(r.Hours), p.do(), 4321
	r.Sums.Sentence = p.sentence(r.Sums)
	r.Commands = week.Commands{Search: "tidemark capacity chat-traffic --slo slo.yaml --base-url URL --model MODEL --gpu H100", Collect: "tidemark collect --service chat.yaml"}
	r.Verdict = p.verdict(r)
	return r
}

// verdict is what this week's hours need, with what changed against last week's page.
func (p plan) verdict(r *week.Report) week.Verdict {
	v := r.AsNeeded()
	v.Chance = 0.04
	if p.before == 0 || v.Replicas == nil {
		return v
	}
	v.LastKind, v.LastReplicas, v.LastCautious = week.Hold, ptr(p.replicas), ptr(p.replicas)
	v.NeededBefore = ptr(p.replicas)
	v.Since = []week.Since{{What: "traffic", Ratio: ptr(p.growth), IsTold: math.Abs(p.growth) > 0.05}, {What: "lengths", Ratio: ptr(-0.008)},
		{What: "fleet", Ratio: ptr(0.0), Text: "6 to 6 replicas"}, {What: "model", Ratio: ptr(0.0)}}
	return v
}

const zone = "Europe/Berlin"

func (p plan) start() time.Time { return p.day(0).UTC() }

// day is a local midnight, n days after the Monday.
func (p plan) day(n int) time.Time {
	berlin, err := time.LoadLocation(zone)
	if err != nil {
		panic(err) // the zone is built in
	}
	monday, err := time.ParseInLocation(time.DateOnly, p.monday, berlin)
	if err != nil {
		panic(err) // a constant of this package
	}
	return monday.AddDate(0, 0, n)
}

func ptr[T any](v T) *T { return &v }

// round keeps figures short in files and the same on every processor.
func round(x float64, places int) float64 {
	scale := math.Pow(10, float64(places))
	return math.Round(x*scale) / scale
}

// noise is between -1 and 1, the same for the same two numbers.
func noise(stream, i int) float64 {
	x := uint64(stream)*0x9E3779B97F4A7C15 + uint64(i)*0xBF58476D1CE4E5B9
	x ^= x >> 30
	x *= 0xBF58476D1CE4E5B9
	x ^= x >> 27
	x *= 0x94D049BB133111EB
	x ^= x >> 31
	return float64(x>>11)/(1<<52) - 1
}
