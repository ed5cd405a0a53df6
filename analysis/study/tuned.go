//go:build duckdb_arrow

package study

import (
	"cmp"
	"fmt"

	"tidemark/analysis"
	"tidemark/analysis/tune"
	"tidemark/internal/maybe"
	"tidemark/internal/show"
)

// OfTuning is what the verb tune found, as a study: the warehouse and its pages show both alike. Every candidate has a row. The baseline and those
// that were measured, or where no server was started those that were rehearsed in full, have figures. The others have a reason, and no
// figures: what was rehearsed is not set beside what was measured.
func OfTuning(f tune.File, slo analysis.SLO, rows []tune.Row, measured []tune.Finisher, origin, headline, version string) Result {
	r := Result{Schema: ResultSchema, Name: "tune " + f.Name, SHA256: f.SHA256, SLO: slo, Traffic: f.Traffic, TrafficSum: f.TrafficSHA256, Headline: headline, Version: version}
	add := func(row tune.Row, origin, why string, measured ...Measure) {
		c := Configuration{Name: row.Label(), Deployment: row.Deployment, Replicas: 1, Settings: []string{row.Label()}}
		if row.IsBaseline {
			c.Name, c.Settings = Baseline, nil
		}
		one := NewRow(Step{Name: Tune}, c, 0, append([]Measure{}, measured...))
		one.Origin, one.Why = origin, why
		if len(r.Rows) > 0 {
			one.Beside(r.Rows[0])
		}
		r.Rows = append(r.Rows, one)
	}
	isStarted := map[string]bool{}
	for _, m := range measured {
		isStarted[m.Key()] = true
		add(m.Row, origin, m.Rejected, Measure{Origin: origin, Low: m.Low, High: finite(m.High), Rate: maybe.Known(m.Rate), USD: m.USDPerMillion, PerJ: m.PerJ, Why: m.Rejected})
	}
	for _, row := range rows {
		switch {
		case isStarted[row.Key()]:
		case len(measured) == 0 && (row.Full != nil || row.IsBaseline):
			m := ofRow(row)
			add(row, m.Origin, m.Why, m)
		default:
			add(row, "rehearsed", whyNot(row))
		}
	}
	return r
}

// Tune is the step of what the verb tune found.
const Tune = "tune"

// whyNot is why a candidate has no figures.
func whyNot(row tune.Row) string {
	switch {
	case row.Why != "":
		return row.Why
	case row.Full != nil:
		return fmt.Sprintf("not started: %s requests/s by the rehearsal", show.Figures(row.RatePerS))
	}
	return fmt.Sprintf("not near the best: about %s requests/s by a short rehearsal of the busiest minute", show.Figures(row.Short))
}

// ofRow is what a rehearsal says; the baseline may have none.
func ofRow(row tune.Row) Measure {
	if row.Full == nil {
		return Measure{Origin: "rehearsed", Why: cmp.Or(row.Why, "rehearsed shortly alone")}
	}
	low := row.RatePerS
	if row.Full.RateLowPerS != nil {
		low = *row.Full.RateLowPerS
	}
	m := Measure{Origin: "rehearsed", Low: low, High: row.Full.RateHighPerS, Rate: maybe.Known(row.RatePerS), USD: row.USDPerMillion, Why: row.Full.Why}
	if row.Full.BindingObjective != nil {
		m.Binding = *row.Full.BindingObjective
	}
	return m
}
