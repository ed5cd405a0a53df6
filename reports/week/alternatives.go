package week

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/analysis/week"
	"tidemark/internal/escape"
)

// alternatives is the dot of 80_alternatives.html.
type alternatives struct {
	Table *table
	Notes string
	Lacks *lacks
}

func alternativesView(f *facts) (any, string, error) {
	if len(f.Alternatives) == 0 {
		return alternatives{Lacks: &lacks{"No other deployment was tried on this week’s traffic. This command tries some:", "tidemark what-if " + escape.Shell(f.trafficName())}}, "No other deployment was tried", nil
	}
	v := alternatives{Table: f.others(), Notes: "this week’s traffic on each · headroom at the low end of the interval"}
	if f.Price.USDPerGPUHour != nil {
		v.Notes += " · " + f.Deployment.GPU + " " + dollars(*f.Price.USDPerGPUHour) + " an hour (" + f.Price.Source + ")"
	}
	if f.AlternativesWhy != "" {
		v.Notes = f.AlternativesWhy + " · " + v.Notes
	}
	return v, v.Table.Title, nil
}

func (f *facts) others() *table {
	rows := slices.Clone(f.Alternatives)
	slices.SortStableFunc(rows, func(a, b week.Alternative) int { // dominated ones last
		return map[bool]int{false: 0, true: 1}[a.IsDominated] - map[bool]int{false: 0, true: 1}[b.IsDominated]
	})
	t := &table{Class: "stack alts", Title: f.alternativesFinding(), Caption: "Grey: it does not hold, or another row is better in every column",
		Heads: []head{words("Deployment"), numbers("GPUs", ""), numbers("Headroom", "%"), numbers("Cost", "USD a week"), numbers("Accepted", "USD a million"), words("Why")}}
	for _, a := range rows {
		r := cells(a.Name, count(a.GPUs), of(a.Headroom, spare), of(a.USDPerWeek, amount), of(a.USDPerM, amount), dash(a.Why))
		switch {
		case a.Kind == "today":
			r.Class, r.Cells[0].Small = "now", "today"
			r.Cells[0].Tag = originTag(f.Basis.Kind)
			if f.Basis.Kind == "predicted" { // of a capacity: rehearsed for this page
				r.Cells[0].Tag = originTag("rehearsed")
			}
		default:
			r.Cells[0].Tag = originTag(a.Kind)
		}
		var besides []string
		if a.Replicas == 1 && !a.IsDominated {
			besides = append(besides, "one replica: nothing serves when it fails")
		}
		if a.IsOther && !strings.Contains(a.Why, "answers may differ") {
			besides = append(besides, "weights in another format: the answers may differ")
		}
		r.Cells[5].Small = strings.Join(besides, "; ")
		if a.IsDominated {
			r.Class = "lost"
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// alternativesFinding names the cheapest row that holds.
func (f *facts) alternativesFinding() string {
	var today, best *week.Alternative
	for i := range f.Alternatives {
		a := &f.Alternatives[i]
		if a.Kind == "today" {
			today = a
		}
		holds := !a.IsDominated && a.Headroom != nil && *a.Headroom >= 0 && a.USDPerWeek != nil
		if holds && (best == nil || *a.USDPerWeek < *best.USDPerWeek) {
			best = a
		}
	}
	switch {
	case best == nil:
		return "None of the " + counted(len(f.Alternatives), "deployment") + " tried holds"
	case best == today || today != nil && today.USDPerWeek != nil && *best.USDPerWeek >= *today.USDPerWeek && today.Headroom != nil && *today.Headroom >= 0:
		return "Nothing that holds is cheaper than today’s " + replicas(f.Paid)
	}
	finding := fmt.Sprintf("Cheapest that holds: %s, at %s a week", best.Name, dollars(*best.USDPerWeek))
	if best.Replicas == 1 {
		finding += "; one replica has no spare when it fails"
	}
	return finding
}
