package week

import (
	"strings"
	"testing"
	"time"

	"tidemark/analysis/week/forecast"
)

// sound is a week of ten hours of 2 replicas of 2 GPUs at $3, measured last week, in which nothing is to be done: each hour needs both. It paid 40 GPU-hours, $120.
func sound() *Report {
	hours := needing(2, 2, 2, 2, 2, 2, 2, 2, 2, 2)
	r := &Report{
		TimeZone: "UTC", Hours: hours, Replicas: []Replicas{{Replicas: 2}}, Price: three,
		Deployment: Deployment{GPU: "H100", GPUsPerReplica: 2},
		Basis:      Basis{Kind: "measured", RatePerS: new(8.0), AgeDays: new(7.0)},
		Sums:       Sums{Hours: 10, BusiestHourStart: new(hour(4)), CostUSD: new(120.0)},
	}
	pay(r.Hours, r.Replicas, 2, three)
	r.Hours[4].LowReplicaRate = new(8.0)
	r.Scaling = Scalings(r.Hours, 2, 4, three)
	r.Alternatives = []Alternative{{Name: "2 × 2 H100 FP8", Kind: "today", GPUs: 4, Replicas: 2, Headroom: new(0.1), USDPerWeek: new(120.0)}}
	return r
}

// needs changes how many replicas the hours need, and what follows from it.
func needs(r *Report, all ...int) {
	r.Hours = needing(all...)
	pay(r.Hours, r.Replicas, 2, three)
	r.Scaling = Scalings(r.Hours, 2, 0, three)
	r.Hours[4].LowReplicaRate = new(8.0)
}

func TestRecommendations(t *testing.T) {
	broken := func(r *Report, hours ...int) {
		for _, h := range hours {
			r.Felt = append(r.Felt, Felt{Start: hour(h), Metric: "ttft", IsBroken: true}, Felt{Start: hour(h), Metric: "tpot", IsBroken: true})
		}
	}
	cheaper := func(change func(*Alternative)) func(*Report) {
		return func(r *Report) {
			a := Alternative{Name: "1 × 2 H200 FP8", Kind: "rehearsed", GPUs: 2, Replicas: 1, Headroom: new(0.05), USDPerWeek: new(90.0)}
			change(&a)
			r.Alternatives = append(r.Alternatives, a)
		}
	}
	for _, test := range []struct {
		what   string
		change func(*Report)
		verb   string
		rule   string
		saves  float64 // 0: nothing is said
		text   string  // part of it
	}{
		{"nothing", func(*Report) {}, "nothing", RuleNothing, 0, "Nothing to do"},

		// Two replicas of 2 GPUs for ten hours at $3 are $120.
		{"two hours need more", func(r *Report) { needs(r, 2, 3, 2, 4, 2, 2, 2, 2, 2, 2) }, "buy", RuleBuy, 0,
			"Buy 2 replicas (4 H100) now: Mon 03:00 needed 4 at the low end of the capacity, and 2 are paid for. It costs $120 a week and prevents that 2 hours go beyond what the fleet handles."},
		{"buying comes before all else", func(r *Report) {
			needs(r, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2)
			broken(r, 1)
			r.Basis.RatePerS = nil
		}, "buy", RuleBuy, 0, "Buy 1 replica (2 H100) now: Mon 01:00 needed 3"},
		{"four came on Monday at 05:00, and that is enough", func(r *Report) {
			needs(r, 2, 3, 2, 4, 2, 4, 4, 4, 4, 4)
			pay(r.Hours, []Replicas{{Replicas: 2}, {From: hour(5), Replicas: 4}}, 2, three)
			r.Scaling = nil
		}, "nothing", RuleNothing, 0, ""},
		{"one was switched off at 05:00, and that is one too few", func(r *Report) {
			pay(r.Hours, []Replicas{{Replicas: 2}, {From: hour(5), Replicas: 1}}, 2, three)
		}, "buy", RuleBuy, 0, "Buy 1 replica (2 H100) now: Mon 00:00 needed 2 at the low end of the capacity, and 1 is paid for."},
		{"no price", func(r *Report) { needs(r, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2); r.Price = Price{} }, "buy", RuleBuy, 0, "are paid for. It prevents that 1 hour goes"},

		{"one GPU was slow", func(r *Report) {
			broken(r, 5, 3)
			r.Symptoms = []Symptom{{Name: "More comes than is served", IsForGPUs: true, IsBroken: true}, {Name: "One GPU is slower than the others", Try: "cool or replace that GPU", IsBroken: true, Confirmed: "confirmed: 1,215 MHz"}}
		}, "fix", RuleFix, 0, "Fix what broke the SLO on Mon 03:00 and Mon 05:00: one GPU is slower than the others. Try first: cool or replace that GPU. More GPUs would not help: Mon 03:00 needed 2 of the 2 replicas paid for."},
		{"one hour broke by something else", func(r *Report) {
			broken(r, 5, 3, 8)
			r.Symptoms = []Symptom{{Name: "One GPU is slower", Try: "cool it", IsBroken: true, Confirmed: "confirmed: 80 °C", First: new(hour(3)), Last: new(hour(5))}}
		}, "fix", RuleFix, 0, "on Mon 03:00 and Mon 05:00: one GPU is slower. Try first: cool it. More GPUs would not help: Mon 03:00 needed 2 of the 2 replicas paid for. The SLO broke in 1 other hour too"},
		{"five hours, nobody knows why", func(r *Report) { broken(r, 5, 3, 1, 7, 8) }, "fix", RuleFix, 0, "on Mon 01:00, Mon 03:00, Mon 05:00 and 2 more hours; no symptom"},
		{"it broke, and nobody knows what a replica handles", func(r *Report) {
			broken(r, 5)
			r.Basis.RatePerS = nil
			for i := range r.Hours {
				r.Hours[i].HighNeeded = nil
			}
		}, "measure", RuleMeasure, 0, "no capacity is known"},
		{"it broke by a symptom, and nobody knows what a replica handles", func(r *Report) {
			broken(r, 5)
			r.Basis.RatePerS = nil
			for i := range r.Hours {
				r.Hours[i].HighNeeded = nil
			}
			r.Symptoms = []Symptom{{Name: "GPUs are throttled", Try: "better cooling", IsBroken: true}}
		}, "fix", RuleFix, 0, "Fix what broke the SLO on Mon 05:00. It may be that GPUs are throttled, which is not confirmed. Try first: better cooling."},
		{"by the model they are enough", func(r *Report) {
			r.Basis.Kind = "predicted"
			r.Hours[3].HighNeeded = new(4)
		}, "measure", RuleMeasure, 0, "Measure what a replica handles before you buy (tidemark capacity, half an hour of load): 2 replicas are enough by the model, and 4 are needed if"},
		{"two weeks ahead, and an order takes six", func(r *Report) {
			r.LeadUntil = "2026-W53"
			r.Forecast.Needs = []forecast.Need{{Replicas: 3, Week: "2026-W49"}}
		}, "buy", RuleBuy, 0, "Order 1 replica (2 H100) now: by the forecast 2 replicas will be too few from 30 November on, and what is ordered now serves from 28 December on."},
		{"far ahead", func(r *Report) {
			r.LeadUntil = "2026-W53"
			r.Forecast.Needs = []forecast.Need{{Replicas: 3, Week: "2027-W01"}}
		}, "nothing", RuleNothing, 0, ""},

		{"no rate keeps the SLO, and another GPU would", func(r *Report) {
			r.Basis = Basis{Kind: "predicted", IsImpossible: true, Binding: "p95 tpot"}
			r.Alternatives = append(r.Alternatives, Alternative{Name: "3 × 1 H200 FP8", Kind: "rehearsed", Headroom: new(0.2)})
		}, "fix", RuleChange, 0, "at the lengths of Mon 04:00 no rate is small enough for p95 tpot, so that more of these GPUs do not help. 3 × 1 H200 FP8 would hold (rehearsed, not measured)."},
		{"at the low end no rate keeps the SLO", func(r *Report) { r.Hours[4].HighNeeded = nil }, "measure", RuleMeasure, 0, "at the low end of what was rehearsed no rate is small enough"},
		{"no capacity", func(r *Report) { r.Basis.RatePerS = nil }, "measure", RuleMeasure, 0, "no capacity is known"},
		{"rehearsed for the page", func(r *Report) { r.Basis.Kind = "predicted" }, "measure", RuleMeasure, 0, "rests on a rehearsal."},
		// One replica less in ten hours: 20 GPU-hours.
		{"rehearsed, and much to save", func(r *Report) {
			r.Basis.Kind = "predicted"
			needs(r, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1)
		}, "measure", RuleMeasure, 0, "If it agrees, scale by the table of hours, from 1 replica Mon 00:00 to 2 Mon 04:00. It saves $54 a week"},
		{"a month is old", func(r *Report) { r.Basis.AgeDays = new(32.0) }, "measure", RuleMeasure, 0, "is 32 days old"},
		{"a month is not", func(r *Report) { r.Basis.AgeDays = new(31.0) }, "nothing", RuleNothing, 0, ""},
		{"another shape", func(r *Report) { r.Basis.IsOtherShape = true }, "measure", RuleMeasure, 0, "other lengths"},
		{"one hour in ten is missing", func(r *Report) { r.Sums.MissingHours = 1 }, "measure", RuleMeasure, 0, "1 of 10 hours are missing"},

		{"a move saves a quarter", cheaper(func(*Alternative) {}), "move", RuleMove, 30,
			"Move to 1 × 2 H200 FP8. It saves $30 a week (25.0 % of the cost) and holds the busiest hour with 5.00 % to spare at the low end. One replica has no spare when it fails. Measure one replica of it first"},
		{"a measured one", cheaper(func(a *Alternative) { a.Kind = "measured" }), "move", RuleMove, 30, "at the low end."},
		{"one with room for a thousand times the load", cheaper(func(a *Alternative) { a.Headroom = new(1119.6) }), "move", RuleMove, 30, "with 1,120 times its load to spare"},
		{"it saves a tenth and no more", cheaper(func(a *Alternative) { a.USDPerWeek = new(108.0) }), "nothing", RuleNothing, 0, ""},
		{"it does not hold", cheaper(func(a *Alternative) { a.Headroom = new(-0.01) }), "nothing", RuleNothing, 0, ""},
		{"it is only predicted", cheaper(func(a *Alternative) { a.Kind = "predicted" }), "nothing", RuleNothing, 0, ""},
		{"another format", cheaper(func(a *Alternative) { a.IsOther = true }), "nothing", RuleNothing, 0, ""},
		{"it loses to another", cheaper(func(a *Alternative) { a.IsDominated = true }), "nothing", RuleNothing, 0, ""},
		{"today's with fewer replicas is no move", cheaper(func(a *Alternative) { a.Name = "1 × 2 H100 FP8" }), "nothing", RuleNothing, 0, ""},

		// 11 of 20 replica-hours: 9 * 2 GPUs at $3 are $54.
		{"quiet but for an hour", func(r *Report) { needs(r, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1) }, "scale", RuleScale, 54,
			"Scale by the table of hours, from 1 replica Mon 00:00 to 2 Mon 04:00. It saves $54 a week"},
		{"a tenth and no more", func(r *Report) { needs(r, 2, 1, 2, 2, 2, 2, 1, 2, 2, 2) }, "nothing", RuleNothing, 0, ""},

		// 19 of 20 paid hours of 20 replicas are needed: 5 % by the table. One replica off in ten hours is 2 GPUs * 10 * $3.
		{"one fewer holds", func(r *Report) {
			r.Replicas[0].Replicas = 20
			needs(r, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19)
		}, "scale", RuleSwitchOff, 60, "Switch off 1 replica (2 H100): 19 are enough for the busiest hour at the low end of the capacity. It saves $60 a week."},
		// 153 / 8 = 19.1: 20 replicas at the band's upper edge.
		{"next week needs it", func(r *Report) {
			r.Replicas[0].Replicas = 20
			needs(r, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19)
			r.Forecast.PeakAhead = &ForecastWeek{Peak: 140, High: new(153.0)}
		}, "nothing", RuleNothing, 0, ""},
	} {
		r := sound()
		test.change(r)
		r.Verdict = r.AsNeeded()
		got := Recommend(r)
		if got.Verb != test.verb || got.Rule != test.rule || !strings.Contains(got.Text, test.text) || (got.SavesUS != nil) != (test.saves != 0) {
			t.Errorf("%s: got %+v, want %s by the rule %q: %s", test.what, got, test.verb, test.rule, test.text)
		} else if test.saves != 0 {
			exactly(t, test.what, got.SavesUS, test.saves)
		}
	}
}

// A year's clocks: hours are told in the service's zone.
func TestRecommendationsTellLocalHours(t *testing.T) {
	r := sound()
	r.TimeZone = "Europe/Berlin"
	needs(r, 2, 3, 2, 2, 2, 2, 2, 2, 2, 2)
	r.Verdict = r.AsNeeded()
	if got := Recommend(r); !strings.Contains(got.Text, "Mon 02:00 needed 3") {
		t.Errorf("got %q", got.Text)
	}
	if got := r.hourName(time.Date(2026, 7, 6, 10, 0, 0, 0, time.UTC)); got != "Mon 12:00" {
		t.Errorf("got %q", got)
	}
}

// What to do first comes with the command that does it: a search for what a replica handles, or a collection where hours are missing.
func TestWhatToDoComesWithItsCommand(t *testing.T) {
	r := sound()
	r.Commands = Commands{Search: "tidemark capacity chat", Collect: "tidemark collect --service chat.yaml"}
	r.Basis.Kind = "predicted"
	if got := Recommend(r); got.Command != r.Commands.Search {
		t.Errorf("a capacity that is rehearsed: %q", got.Command)
	}
	r.Sums.MissingHours = 1
	if got := Recommend(r); got.Command != r.Commands.Collect {
		t.Errorf("an hour is missing: %q", got.Command)
	}
	if got := Recommend(sound()); got.Command != "" {
		t.Errorf("nothing is to be done, by %q", got.Command)
	}
}
