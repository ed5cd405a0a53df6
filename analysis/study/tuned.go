//go:build duckdb_arrow

package study

import (
	"cmp"

	"tidemark/analysis"
	"tidemark/analysis/tune"
)

// OfTuning is what the verb tune found, as a study: the warehouse and its pages show both alike. Its configurations are the baseline and the
// candidates that were measured, or where no server was started those that were rehearsed in full.
func OfTuning(f tune.File, slo analysis.SLO, rows []tune.Row, measured []tune.Finisher, origin, headline, version string) Result {
	r := Result{Schema: ResultSchema, Name: "tune " + f.Name, SHA256: f.SHA256, SLO: slo, Traffic: f.Traffic, Headline: headline, Version: version}
	add := func(row tune.Row, m Measure) {
		c := Configuration{Name: row.Label(), Deployment: row.Deployment, Replicas: 1, Settings: []string{row.Label()}}
		if row.IsBaseline {
			c.Name, c.Settings = Baseline, nil
		}
		m.Origin = origin
		one := NewRow(Step{Name: "tune"}, c, 0, []Measure{m})
		if len(r.Rows) > 0 {
			one.Beside(r.Rows[0])
		}
		r.Rows = append(r.Rows, one)
	}
	for _, m := range measured {
		add(m.Row, Measure{Low: m.Low, High: finite(m.High), Rate: positive(m.Rate), USD: m.USDPerMillion, Why: m.Rejected})
	}
	for _, row := range rows {
		if len(measured) == 0 && (row.Full != nil || row.IsBaseline) {
			add(row, ofRow(row))
		}
	}
	return r
}

// ofRow is what a rehearsal says; the baseline may have none.
func ofRow(row tune.Row) Measure {
	if row.Full == nil {
		return Measure{Why: cmp.Or(row.Why, "rehearsed shortly alone")}
	}
	low := row.RatePerS
	if row.Full.RateLowPerS != nil {
		low = *row.Full.RateLowPerS
	}
	m := Measure{Low: low, High: row.Full.RateHighPerS, Rate: positive(row.RatePerS), USD: row.USDPerMillion, Why: row.Full.Why}
	if row.Full.BindingObjective != nil {
		m.Binding = *row.Full.BindingObjective
	}
	return m
}

// positive is nil for 0: nothing was within the SLO.
func positive(rate float64) *float64 {
	if rate > 0 {
		return &rate
	}
	return nil
}
