package week

import (
	"fmt"

	"tidemark/analysis/week"
	"tidemark/internal/show"
)

// cost is the dot of 85_cost.html.
type cost struct {
	Figure *figure
	Lacks  *lacks
	Nines  *table
}

func costView(f *facts) (any, string, error) {
	if f.Sums.CostUSD == nil {
		return cost{Lacks: &lacks{"The price of a GPU-hour is not known. Name it in the service file, and make the page again:", "price: {usd_per_gpu_hour: 2.90, source: \"contract\"}"}}, "The price of a GPU-hour is not known", nil
	}
	figure, err := drawn("cost", f)
	if err != nil {
		return nil, "", err
	}
	figure.Notes = "price: " + dash(f.Price.Source)
	if n := len(f.Hours) - f.Known; n > 0 {
		figure.Notes = "needed is not known for " + counted(n, "hour") + " · " + figure.Notes
	}
	figure.From = "marts.service_hours, marts.service_weeks"
	figure.Tables, figure.Queries = []table{f.costs()}, []string{f.ofHours("is_missing", "paid_replicas", "needed_replicas", "high_needed_replicas", "cost_usd"),
		f.ofWeek("gpu_hours_paid", "cost_usd", "gpu_hours_paid_covered", "gpu_hours_needed", "usd_per_million_accepted", "low_usd_per_million_accepted", "high_usd_per_million_accepted")}
	if len(f.Nines) > 0 {
		figure.Queries = append(figure.Queries, f.ofList("nines", field{"within_slo_ratio", "DOUBLE"}, field{"replicas", "INTEGER"}, field{"usd_per_week", "DOUBLE"}, field{"usd_per_week_more", "DOUBLE"}))
	}
	return cost{Figure: figure, Nines: f.nines()}, figure.Title, nil
}

func (f *facts) costs() table {
	s := f.Sums
	t := table{Class: "fit", Caption: "The week in money", Heads: []head{words("Part"), numbers("GPU-hours", ""), numbers("Cost", "USD")}}
	t.Rows = append(t.Rows, cells("Paid, whole week", count(s.GPUHoursPaid), of(s.CostUSD, amount)), cells("Paid, covered hours", count(s.GPUHoursCovered), f.price(&s.GPUHoursCovered)),
		cells("Needed, covered hours, at the middle of the interval", of(s.GPUHoursNeeded, count[float64]), f.price(s.GPUHoursNeeded)))
	if needed, beyond := f.neededAtLowEnd(); needed != nil {
		t.Rows = append(t.Rows, cells("Needed, the same at capacity’s low end", count(*needed), f.price(needed)), cells("Paid beyond that, hour by hour", count(beyond), f.price(&beyond)))
	}
	name := "Per million accepted output tokens of covered hours"
	if s.IsPredicted {
		name += ", predicted"
	}
	r := cells(name, unknown, of(s.USDPerMillion, amount))
	r.Cells[2].Small = between(s.LowUSDPerMillion, s.HighUSDPerM, amount)
	t.Rows = append(t.Rows, r)
	return t
}

// neededAtLowEnd are the GPU-hours needed in covered hours at capacity's low end, nil where an hour's need is not known, and those that were paid beyond the
// need of their hour.
func (f *facts) neededAtLowEnd() (needed *float64, beyond float64) {
	if f.Known == 0 || f.Known < f.Covered {
		return nil, 0
	}
	sum, gpus := 0.0, float64(max(f.Deployment.GPUsPerReplica, 1))
	for i := range f.Hours {
		if n := f.Hours[i].HighNeeded; n != nil {
			sum += float64(*n) * gpus
			beyond += float64(max(f.Hours[i].PaidReplicas-*n, 0)) * gpus
		}
	}
	return &sum, beyond
}

// price is what GPU-hours cost.
func (f *facts) price(gpuHours *float64) string {
	if f.Price.USDPerGPUHour == nil || gpuHours == nil {
		return unknown
	}
	return amount(*gpuHours * *f.Price.USDPerGPUHour)
}

// nines is what one more nine of requests within the SLO costs.
func (f *facts) nines() *table {
	if len(f.Nines) == 0 {
		return nil
	}
	t := &table{Class: "fit", Title: f.ninesFinding(), Caption: "Replicas needed at the busiest hour, at the middle of the capacity’s interval; more: than the row above",
		Heads: []head{words("Share within the SLO"), numbers("Replicas", "needed"), numbers("Cost", "USD a week"), numbers("More", "USD a week")}}
	reached := f.reached()
	for i, n := range f.Nines {
		r := cells(show.Plain(n.Share*100)+narrow+"%", of(n.Replicas, count[int]), of(n.USD, amount), of(n.More, amount))
		if n.Replicas == nil {
			r.Cells[1].Text = "not reached"
		}
		switch {
		case i == 0:
			r.Cells[3].Text = unknown
		case n.More != nil && *n.More == 0:
			r.Cells[3].Text = "nothing"
		}
		if i == reached {
			r.Class, r.Cells[0].Small = "now", "reached by today’s "+replicas(f.Paid)
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// reached is the last nine for which what is paid for now is enough; -1: none.
func (f *facts) reached() int {
	last := -1
	for i, n := range f.Nines {
		if n.Replicas != nil && *n.Replicas <= f.Paid {
			last = i
		}
	}
	return last
}

// ninesFinding says what is reached now, and what the next nine takes beyond it.
func (f *facts) ninesFinding() string {
	at := f.reached()
	now := "Today’s " + replicas(f.Paid) + map[bool]string{true: " reaches ", false: " reach "}[f.Paid == 1]
	share := func(n week.Nine) string { return show.Plain(n.Share*100) + narrow + "%" }
	if at < 0 {
		now += "less than " + share(f.Nines[0])
	} else {
		now += share(f.Nines[at])
	}
	now += " in the busiest hour" // the share of the week, which a tile has, is of easier hours too
	if at+1 == len(f.Nines) {
		return now
	}
	next := f.Nines[at+1]
	if next.Replicas == nil {
		return now + "; no number reaches " + share(next)
	}
	finding := fmt.Sprintf("%s; %s needs %s more", now, share(next), count(*next.Replicas-f.Paid))
	if cost := f.weekly(*next.Replicas - f.Paid); cost != "" {
		finding += ", " + cost + " a week"
	}
	return finding
}
