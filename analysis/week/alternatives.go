//go:build duckdb_arrow

package week

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/parallel"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

// Other ways to serve the week: another GPU, degree, format or number of replicas, each at the busiest five minutes of the busiest hour. The grid
// has too many deployments to rehearse, so closed formulas (analysis.WhatIf) rank it, and the best of each kind are rehearsed. Replicas needed are
// whole replicas at the low end of what was rehearsed: formulas know no queue for a slot, and decide nothing but who is rehearsed.
//
// Today's capacity may be measured and that of the others is not. Their interval holds the error of the model, and they are judged by its low end,
// so an alternative looks worse than it may be, and not better.

// FleetOf are the replicas of a deployment that take so many requests a second of the busiest hour's shape at the low end of their capacity, and
// what they take beyond them, as a share; nil: no number does. Its steps are within band, one side, of the model's.
type FleetOf func(d deployment.Deployment, band, peakPerS float64) (replicas *int, headroom float64, err error)

// Alternatives are at most eight rows: today's first, those that lose last. requests are a sample of the busiest hour, in order of due time; without
// a sample there are only the rows of today's deployment. Without fleets the closed formulas are left, and the rows say "predicted".
func Alternatives(ctx context.Context, db *sql.DB, r *Report, today deployment.Deployment, requests []plan.Request, fleets FleetOf) ([]Alternative, error) {
	hour := r.busiest()
	if hour == nil || hour.PeakRatePerS == nil {
		return nil, nil
	}
	today, err := analysis.Resolve(ctx, db, today)
	if err != nil {
		return nil, fmt.Errorf("alternatives: %w", err)
	}
	g := grid{Report: r, today: today, peak: *hour.PeakRatePerS, hour: *hour}
	rows := g.ofToday()
	var others []candidate
	if len(requests) > 0 {
		prices, err := pricesOf(ctx, db, r, today)
		if err != nil {
			return nil, err
		}
		others, err = g.ranked(ctx, db, prices, requests)
		if mistake := (*hint.Error)(nil); errors.As(err, &mistake) {
			r.AlternativesWhy = "No other deployment was tried: " + mistake.Error()
		} else if err != nil {
			return nil, fmt.Errorf("alternatives: %w", err)
		}
	}
	made := make([]Alternative, len(others))
	err = parallel.Do(len(others), func(i int) (err error) {
		made[i], err = g.row(others[i], fleets)
		return err
	})
	if err != nil {
		return nil, err
	}
	rows = append(rows, made...)
	markDominated(rows, hour.Start, r.zone())
	slices.SortStableFunc(rows[1:], func(a, b Alternative) int {
		if a.IsDominated != b.IsDominated {
			return map[bool]int{true: 1, false: -1}[a.IsDominated]
		}
		return cmp.Compare(costOf(a), costOf(b))
	})
	return rows, nil
}

// grid is the week at its busiest hour.
type grid struct {
	*Report
	today deployment.Deployment
	peak  float64
	hour  Hour
}

// candidate is a deployment with the price of its GPU and its capacity by the closed formulas.
type candidate struct {
	deployment.Deployment
	price   Price
	formula analysis.Range
	usdPerS float64 // dollars an hour for a request per second
	band    float64 // of its steps, one side
	noBand  error   // why that is not known
	isOther bool    // another weight format than today's
}

// name is as 6 × 2 H100 FP8.
func nameOf(replicas int, d deployment.Deployment) string {
	return fmt.Sprintf("%d × %d %s %s", replicas, d.GPUs(), d.GPU, strings.ToUpper(d.Quantization))
}

// cost fills what a row costs: the whole week, and a million of the tokens accepted in covered hours.
func (g grid) cost(a *Alternative, price Price) {
	a.USDPerWeek = usd(float64(a.GPUs)*Lasting(g.Hours), price)
	if accepted := g.Sums.AcceptedTokens; a.USDPerWeek != nil && accepted != nil && *accepted > 0 {
		hours := float64(a.GPUs) * Lasting(covered(g.Hours))
		a.USDPerM = new(rounded(hours**price.USDPerGPUHour / *accepted * 1e6, perMillionPlaces))
	}
}

// costOf sorts rows without a price last.
func costOf(a Alternative) float64 {
	if a.USDPerWeek == nil {
		return math.Inf(1)
	}
	return *a.USDPerWeek
}

// ofToday are the row of what is paid for now, all week, and, where the capacity is known, the same deployment with as many replicas as it needs; with one fewer where it
// needs all, so that the page can show what breaks.
func (g grid) ofToday() []Alternative {
	kind := g.Basis.Kind
	if kind == "predicted" {
		kind = "rehearsed" // for this page
	}
	row := func(replicas int) Alternative {
		a := Alternative{Name: nameOf(replicas, g.today), Kind: kind, Replicas: replicas, GPUs: replicas * g.today.GPUs(), Why: "rests on the same " + kind + " capacity as today's"}
		if low := g.hour.LowReplicaRate; low != nil {
			a.Headroom = new(g.Takes(replicas, *low)/g.peak - 1)
		}
		g.cost(&a, g.Price)
		return a
	}
	paid := g.paidNow()
	first := row(paid)
	first.Kind, first.Why = "today", "capacity: "+cmp.Or(kind, "not known")
	if at := g.changedAt(); !at.IsZero() {
		first.Why += "; the replicas since " + at.In(g.zone()).Format("Mon 15:04") + ", as if all week"
	}
	rows := []Alternative{first}
	if g.hour.HighNeeded == nil {
		return rows
	}
	replicas := *g.hour.HighNeeded
	if replicas == paid {
		replicas--
	}
	if replicas > 0 {
		rows = append(rows, row(replicas))
	}
	return rows
}

// pricesOf are the GPUs with a price: the service's for today's GPU, the catalogue's for the others.
func pricesOf(ctx context.Context, db *sql.DB, r *Report, today deployment.Deployment) (map[string]Price, error) {
	prices := map[string]Price{}
	err := warehouse.Each(ctx, db, `
select
    gpu,
    usd_per_gpu_hour,
    label
from macros.prices()
where place = 1
order by gpu`, nil, func(scan func(...any) error) error {
		var gpu, label string
		var perHour float64
		if err := scan(&gpu, &perHour, &label); err != nil {
			return err
		}
		prices[gpu] = Price{USDPerGPUHour: &perHour, Source: label}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("alternatives: prices: %w", err)
	}
	if r.Price.USDPerGPUHour != nil {
		prices[today.GPU] = r.Price
	}
	return prices, nil
}

// degrees are the tensor parallel sizes of the grid.
var degrees = []int{1, 2, 4, 8}

// candidates are all deployments of the grid but today's.
func (g grid) candidates(prices map[string]Price) (all []candidate) {
	formats := []string{g.today.Quantization}
	for _, other := range []string{"fp8", "bf16"} {
		if other != g.today.Quantization {
			formats = append(formats, other)
		}
	}
	for _, gpu := range slices.Sorted(maps.Keys(prices)) {
		for _, degree := range degrees {
			for _, format := range formats {
				d := g.today
				d.GPU, d.TensorParallelSize, d.Quantization = gpu, degree, format
				if gpu != g.today.GPU {
					d.HBMBytesPerS = 0 // was said of today's GPU
				}
				if d.ExpertParallelSize > 0 {
					d.ExpertParallelSize = d.GPUs()
				}
				isOther := format != g.today.Quantization
				if d == g.today || isOther && gpu != g.today.GPU {
					continue
				}
				all = append(all, candidate{Deployment: d, price: prices[gpu], isOther: isOther})
			}
		}
	}
	return all
}

// quiet is the factor on the sample's rate at which the formulas are asked: a capacity does not depend on the load, but is withheld where it queues.
const quiet = 1e-6

// ranked are the candidates worth a rehearsal: the best two degrees of today's GPU, the best of each other GPU (at most three), and the best with
// another format. Those that cannot serve the traffic at all are left out.
func (g grid) ranked(ctx context.Context, db *sql.DB, prices map[string]Price, requests []plan.Request) ([]candidate, error) {
	slo := analysis.SLO{Name: g.SLO.Name}
	byClass := false
	for _, o := range g.SLO.Objectives {
		if o.Class != "" && !slices.ContainsFunc(requests, func(r plan.Request) bool { return r.Class == o.Class }) {
			continue // it bounds nothing in this hour
		}
		slo.Objectives = append(slo.Objectives, analysis.Objective{Metric: o.Metric, Percentile: o.Percent, AtMost: o.AtMost, Class: o.Class})
		byClass = byClass || o.Class != ""
	}
	mix, err := analysis.MixOf(plan.Each(requests), analysis.MixChoice{ByClass: byClass, LengthSteps: 2}) // for a rank that is fine enough
	switch {
	case err != nil:
		return nil, err
	case !(mix.RequestsPerS > 0):
		return nil, hint.Errorf("the busiest hour has one request, or all of them at one instant, so that their rate is not known")
	case len(slo.Objectives) == 0:
		return nil, hint.Errorf("no objective is about the requests of the busiest hour")
	}
	all := g.candidates(prices)
	scenarios := make([]analysis.Scenario, len(all))
	for i, c := range all {
		scenarios[i] = analysis.Scenario{Deployment: c.Deployment, Replicas: 1, Scale: quiet, Mix: mix}
	}
	outlooks, err := analysis.WhatIf(ctx, db, scenarios, slo)
	if err != nil {
		return nil, err
	}
	able := all[:0]
	for i, c := range all {
		c.formula = outlooks[i].CapacityPerS
		if outlooks[i].Why == "" && c.formula.Low > 0 && c.price.USDPerGPUHour != nil {
			c.usdPerS = *c.price.USDPerGPUHour * float64(c.GPUs()) / c.formula.Low
			able = append(able, c)
		}
	}
	slices.SortStableFunc(able, func(a, b candidate) int { return cmp.Compare(a.usdPerS, b.usdPerS) })
	var chosen []candidate
	taken := map[string]int{}
	gpus := 0
	for _, c := range able {
		kind, most := c.GPU, 1
		switch {
		case c.isOther:
			kind = "format"
		case c.GPU == g.today.GPU:
			most = 2
		case taken[kind] == 0:
			if gpus++; gpus > 3 {
				continue
			}
		}
		if taken[kind]++; taken[kind] <= most {
			chosen = append(chosen, c)
		}
	}
	return withBands(ctx, db, chosen)
}

// withBands asks how far the steps of each may be from the model's.
func withBands(ctx context.Context, db *sql.DB, all []candidate) ([]candidate, error) {
	deployments := make([]deployment.Deployment, len(all))
	for i, c := range all {
		deployments[i] = c.Deployment
	}
	bands, whys, err := analysis.ServerBands(ctx, db, deployments...)
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].band, all[i].noBand = bands[i], whys[i]
	}
	return all, nil
}

// row is a candidate with the replicas that it needs. A deployment that cannot be rehearsed, or that keeps the SLO at no rate, is a row that says so.
func (g grid) row(c candidate, fleets FleetOf) (Alternative, error) {
	a := Alternative{Kind: "rehearsed", IsOther: c.isOther, Name: nameOf(1, c.Deployment), GPUs: c.GPUs(), Replicas: 1}
	if fleets == nil {
		a.Kind = "predicted"
		fleets = func(deployment.Deployment, float64, float64) (*int, float64, error) {
			replicas := int(math.Ceil(g.peak/c.formula.Low - 1e-9))
			return &replicas, float64(replicas)*c.formula.Low/g.peak - 1, nil
		}
	}
	var replicas *int
	headroom, err := 0.0, c.noBand
	if err == nil {
		replicas, headroom, err = fleets(c.Deployment, c.band, g.peak)
	}
	var mistake *hint.Error
	switch {
	case errors.As(err, &mistake):
		a.IsDominated, a.Why = true, err.Error()
		return a, nil
	case err != nil:
		return a, fmt.Errorf("alternatives: %s: %w", a.Name, err)
	case replicas == nil:
		a.IsDominated, a.Why = true, "does not hold: no rate keeps the SLO at the low end of its prediction"
		return a, nil
	}
	a.Replicas, a.Headroom = *replicas, &headroom
	a.GPUs, a.Name = a.Replicas*c.GPUs(), nameOf(a.Replicas, c.Deployment)
	g.cost(&a, c.price)
	a.Why = fmt.Sprintf("holds; %s, not measured; price: %s", a.Kind, cmp.Or(c.price.Source, "the catalogue's"))
	if a.IsOther {
		a.Why += "; answers may differ, as the weights have another format"
	}
	return a, nil
}

// markDominated finds the rows that lose: those that do not hold, and those that another row which holds beats or equals in cost and in headroom. A
// row with another format beats none, because its answers may differ. Today's row stays what it is.
func markDominated(rows []Alternative, busiest time.Time, zone *time.Location) {
	for i := range rows {
		a := &rows[i]
		if a.Kind == "today" || a.IsDominated || a.Headroom == nil {
			continue
		}
		if *a.Headroom < 0 {
			a.IsDominated = true
			a.Why = fmt.Sprintf("does not hold %s: %s short at the low end", busiest.In(zone).Format("Mon 15:04"), show.Percent(-*a.Headroom))
			continue
		}
		for j, b := range rows {
			if i == j || b.IsOther || b.Headroom == nil || *b.Headroom < *a.Headroom || costOf(b) > costOf(*a) ||
				*b.Headroom == *a.Headroom && costOf(b) == costOf(*a) {
				continue
			}
			a.IsDominated = true
			a.Why = "loses to " + b.Name + ": "
			if more := costOf(*a) - costOf(b); more > 0 && !math.IsInf(more, 1) {
				a.Why += dollars(more) + " a week dearer and "
			}
			a.Why += "no more headroom"
			if b.Kind == "today" {
				break // a reader knows that row best
			}
		}
	}
}
