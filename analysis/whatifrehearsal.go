//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"tidemark/analysis/metric"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/show"
	"tidemark/internal/stat"
	"tidemark/replay/plan"
)

// Tails from a rehearsal in place of the closed formulas. The formulas know the mean rate and the burstiness of arrivals; a rehearsal plays
// the requests themselves, so it also knows which burst comes when, who waits for a slot, and what a prefix cache holds. It is played at the
// low end of the prediction's 90 % band, as predicted, and at its high end, as the formulas are.

// Rehearse replaces what an outlook says of tails and of objectives by what a rehearsal of these requests says, which come in order of due
// time. It returns sentences about where the two differ by more than the band. Gaps between tokens stay the formulas'.
func (s Scenario) Rehearse(ctx context.Context, answers *Answers, o *Outlook, requests []plan.Request, choice MixChoice, slo SLO) (differ []string, err error) {
	if o.Why != "" {
		return nil, nil
	}
	settings, cost, err := s.rehearsed(ctx, answers.DB, choice)
	if err != nil {
		return nil, err
	}
	sent, err := s.traffic(requests, choice)
	if err != nil {
		return nil, err
	}
	formulas := *o
	band := [3]float64{o.TPOT.Low / o.TPOT.Value, 1, o.TPOT.High / o.TPOT.Value}
	var played [3][]answered
	for i, slower := range band {
		settings.Engine.StepTime = cost.StepTime(slower)
		if played[i], err = play(ctx, settings, sent); err != nil {
			return nil, fmt.Errorf("what-if: %w", err)
		}
	}
	ranged := func(metric, class string, q float64) Range {
		var at [3]float64
		for i := range played {
			at[i] = figureOf(played[i], metric, class, q)
		}
		return Range{Low: at[0], Value: at[1], High: at[2]}
	}
	o.TTFT, o.P99TTFT, o.P99TPOT = ranged(metric.TTFTFromDue, "", -1), ranged(metric.TTFTFromDue, "", 0.99), ranged(metric.TPOT, "", 0.99)
	for i := range o.Objectives {
		e := &o.Objectives[i]
		if e.Metric == "itl" {
			continue
		}
		e.At, e.IsWithheld = ranged(e.Metric, e.Class, e.Percentile/100), false
		e.Outcome = e.At.against(e.AtMost)
	}
	if len(o.Objectives) > 0 {
		o.SLO = worstOf(o.Objectives)
	}
	if s.Mix.Clients == 0 {
		own := s
		own.Scale = 1
		if sent, err = own.traffic(requests, choice); err != nil {
			return nil, err
		}
		q, ok, err := s.question(ctx, answers, settings, cost, sent, slo)
		if err != nil {
			return nil, err
		}
		if ok {
			if err := o.rehearseCapacity(ctx, q, s.scale()); err != nil {
				return nil, err
			}
		}
	}
	return differences(formulas, *o), nil
}

// against compares a predicted range with a bound.
func (r Range) against(atMost float64) string {
	switch {
	case r.High <= atMost:
		return Met
	case r.Low > atMost:
		return NotMet
	}
	return Undecided
}

// differences are sentences about formulas whose band does not hold what was rehearsed.
func differences(formula, rehearsed Outlook) (said []string) {
	for _, f := range []struct {
		name      string
		formula   Range
		rehearsed float64
	}{{"p99 TTFT", formula.P99TTFT, rehearsed.P99TTFT.Value}, {"p99 TPOT", formula.P99TPOT, rehearsed.P99TPOT.Value}} {
		// No formula bounds the wait of a queue that grows; the row says already that it does.
		if math.IsNaN(f.formula.Value) || math.IsInf(f.formula.Value, 1) || f.rehearsed >= f.formula.Low && f.rehearsed <= f.formula.High {
			continue
		}
		said = append(said, fmt.Sprintf("%s: rehearsed %s, by the closed formula %s (%s to %s), which knows no more of the arrivals than their rate and burstiness",
			f.name, show.Duration(f.rehearsed), show.Duration(f.formula.Value), show.Duration(f.formula.Low), show.Duration(f.formula.High)))
	}
	return said
}

// rehearsed is the scenario's servers; replicas behind one address are played as one engine with all their room, as simulate does.
func (s Scenario) rehearsed(ctx context.Context, db *sql.DB, choice MixChoice) (r rehearsal.Settings, cost StepCost, err error) {
	if cost, err = LoadStepCost(ctx, db, s.Deployment); err != nil {
		return r, cost, err
	}
	r.Engine = cost.Engine()
	r.Engine.EnablePrefixCaching = !choice.IsCold
	r.Engine.MaxModelLen = r.Engine.KVBlocks * r.Engine.BlockSize
	r.Replicas, r.Mode = max(s.Replicas, 1), s.Plan.Mode
	if clients := s.Mix.Clients * s.scale(); clients > 0 {
		r.Mode, r.MaxConcurrency = "closed", max(1, int(math.Round(clients)))
	}
	return r, cost, nil
}

// traffic is the chosen requests at the scenario's rate: whole sessions are left out or cloned.
func (s Scenario) traffic(requests []plan.Request, choice MixChoice) ([]plan.Request, error) {
	kept := slices.DeleteFunc(slices.Clone(requests), func(r plan.Request) bool { return !choice.takes(r) || r.InputTokens < 1 || r.OutputTokens < 1 })
	scale := s.scale()
	if span := (requests[len(requests)-1].Due - requests[0].Due).Seconds(); span > 0 && s.Mix.Clients == 0 {
		scale *= s.Mix.RequestsPerS / (float64(len(kept)) / float64(len(requests)) * float64(len(requests)-1) / span)
	}
	if s.Mix.Clients > 0 || math.Abs(scale-1) < 1e-6 {
		scale = 1
	}
	if len(kept) == 0 || float64(len(kept))*scale > mostRehearsed {
		return nil, fmt.Errorf("what-if: %.0f requests are too many to rehearse, at most %d", float64(len(kept))*scale, mostRehearsed)
	}
	return plan.Scaled(kept, plan.ScaledBy(scale, false, 1))
}

// answered is what a rehearsal says of a request, seconds.
type answered struct {
	class           string
	ttft, fromDue   float64
	tpot            float64 // NaN of one token
	e2e, e2eFromDue float64
}

func play(ctx context.Context, settings rehearsal.Settings, requests []plan.Request) (all []answered, err error) {
	err = rehearsal.PlayAll(ctx, settings, requests, func(r *rehearsal.Request) error {
		if r.Failure != "" {
			return nil
		}
		a := answered{r.Class, (r.First - r.Sent).Seconds(), r.TTFT().Seconds(), math.NaN(), (r.Last - r.Sent).Seconds(), (r.Last - r.Due).Seconds()}
		if r.OutputTokens > 1 {
			a.tpot = r.TPOT().Seconds()
		}
		all = append(all, a)
		return nil
	})
	return all, err
}

// of is a request's figure by the words of an SLO.
func (a *answered) of(name string) float64 {
	switch name {
	case metric.TTFT:
		return a.ttft
	case metric.TTFTFromDue:
		return a.fromDue
	case metric.TPOT:
		return a.tpot
	case metric.E2E:
		return a.e2e
	case metric.E2EFromDue:
		return a.e2eFromDue
	}
	return math.NaN()
}

// figureOf is a quantile over the requests of a class, or their mean where q is below 0; NaN of none.
func figureOf(all []answered, metric, class string, q float64) float64 {
	var values []float64
	for i := range all {
		if v := all[i].of(metric); (class == "" || all[i].class == class) && !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	if q < 0 {
		return stat.Mean(values)
	}
	slices.Sort(values)
	return stat.Quantile(values, q)
}
