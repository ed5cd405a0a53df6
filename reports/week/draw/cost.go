package draw

import (
	"fmt"
	"math"

	"tidemark/analysis/week"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// Cost draws what each hour cost and what the GPUs that it needed would have cost.
func Cost(r *week.Report) (Figure, error) { return costPlan(r).drawn() }

func costPlan(r *week.Report) plan {
	if len(r.Hours) == 0 || r.Price.USDPerGPUHour == nil {
		return plan{}
	}
	n := needsOf(r)
	price := *r.Price.USDPerGPUHour
	paid, spare := 0.0, 0.0
	for i, h := range r.Hours {
		cost := n.paid[i] * price
		if h.CostUSD != nil {
			cost = *h.CostUSD
		}
		paid += cost
		if h.HighNeeded != nil { // else no number may be enough at capacity’s low end
			spare += math.Max(0, n.paid[i]-n.high[i]) * price
		}
	}
	if r.Sums.CostUSD != nil {
		paid = *r.Sums.CostUSD
	}
	f := Figure{Soft: fmt.Sprintf("By hour, at %s a GPU-hour (%s); needed at capacity’s low end", show.Dollars(price), r.Price.Source)}
	if r.Price.Source == "" {
		f.Soft = fmt.Sprintf("By hour, at %s a GPU-hour; needed at capacity’s low end", show.Dollars(price))
	}
	if r.Sums.MissingHours > 0 {
		f.Soft += fmt.Sprintf("; not known for %s", show.Things(r.Sums.MissingHours, "hour", "hours"))
	}
	switch {
	case !n.isKnown:
		f.Title = fmt.Sprintf("How much of the %s paid was needed is not known", show.Dollars(paid))
	case spare == 0:
		f.Title = fmt.Sprintf("Every GPU of the %s paid was needed in every covered hour", show.Dollars(paid))
	case len(n.short()) > 0:
		f.Title = fmt.Sprintf("Of %s paid, %s bought GPUs beyond the need; %s lacked some", show.Dollars(paid), show.Dollars(spare), show.Things(len(n.short()), "hour", "hours"))
	default:
		f.Title = fmt.Sprintf("Of %s paid, %s bought GPUs beyond the need", show.Dollars(paid), show.Dollars(spare))
	}
	f.Label = f.Title + ". Cost by hour: what is paid and what was needed."
	return plan{f, func(s *sheet) { drawCost(s, r, n, price) }}
}

// table is what the table of hours runs: this hour's need or the next one's, and what is paid for where that is not known.
func (n needs) table() []float64 {
	out := make([]float64, len(n.high))
	for i := range out {
		out[i] = n.high[i]
		if next := i + 1; next < len(out) {
			out[i] = math.Max(out[i], n.high[next]) // NaN stays
		}
		if math.IsNaN(out[i]) {
			out[i] = n.paid[i]
		}
		out[i] = math.Min(out[i], n.paid[i])
	}
	return out
}

func drawCost(s *sheet, r *week.Report, n needs, price float64) {
	count := len(r.Hours)
	top := 0.0
	for i := range n.paid {
		top = math.Max(top, n.paid[i]*price)
		if !math.IsNaN(n.high[i]) {
			top = math.Max(top, n.high[i]*price)
		}
	}
	y, ticks, factor, thousands := fromZero(top, 4)
	for i := range ticks {
		if ticks[i].at > 0 {
			ticks[i].text = "$" + ticks[i].text
		}
	}
	h := &head{unit: unitOf("USD an hour", thousands)}
	h.gap, h.gapX, h.gapW = s.gapWords(r.Hours)
	if s.isNarrow && n.isKnown {
		h.lines = []string{"area: needed; dashed: by the table of hours"}
	}
	g := s.strip(r.Hours, s.above(h), 150, y, ticks)
	needed := steps(count, func(i int) float64 { return n.high[i] * price / factor })
	paid := steps(count, func(i int) float64 { return n.paid[i] * price / factor })
	run := n.table()
	table := steps(count, func(i int) float64 { return run[i] * price / factor })
	g.Marks = append(g.Marks, plot.Mark{Shape: plot.Stepped, Points: needed, Fill: "var(--measured-band)"}, plot.Mark{Shape: plot.Stepped, Points: needed, Stroke: "var(--measured)", Width: s.strokes(1.5)})
	if n.isKnown {
		g.Marks = append(g.Marks, plot.Mark{Shape: plot.Stepped, Points: table, Stroke: "var(--good)", Width: s.strokes(2), Dash: []float64{5, 3}})
		s.avoid(g, table, true)
	}
	g.Marks = append(g.Marks, plot.Mark{Shape: plot.Stepped, Points: paid, Stroke: "var(--limit)", Width: 2.5})
	s.avoid(g, needed, true)
	s.avoid(g, paid, true)
	g = s.over(r.Hours, g)
	s.days(r.Hours, g)
	s.pin(h, nil)
	end, _ := last(paid)
	names := []ending{{g.AtY(end.Y), "paid", "s", "var(--limit)", paid}}
	if at, known := last(needed); known && !s.isNarrow {
		names = append(names, ending{g.AtY(math.Min(run[count-1]*price/factor, y.To)), "by the table", "g", "var(--good)", table}, ending{g.AtY(at.Y / 2), "needed", "m", "var(--measured)", needed})
	}
	s.names(g, names...)
}
