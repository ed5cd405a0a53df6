package week

import (
	"fmt"
	"slices"

	"tidemark/analysis/week"
)

// bandwidth is the dot of 70_bandwidth.html.
type bandwidth struct {
	Figure *figure
	Lacks  *lacks
	Drift  *table
	Said   string // what changed against the weeks before
}

func bandwidthView(f *facts) (any, string, error) {
	if len(f.Steps) == 0 {
		return bandwidth{Lacks: f.byCollect("The time per token in production is not known for this week, so nothing can be said against the prediction. This command fetches it from Prometheus:")}, "The time per token in production is not known", nil
	}
	figure, err := drawn("bandwidth", f)
	if err != nil {
		return nil, "", err
	}
	out := 0
	for _, s := range f.Steps {
		if s.IsOut {
			out++
		}
	}
	figure.From = "staging.service_weeks"
	figure.Queries = []string{f.ofList("steps", append([]field{{"hour_start", "TIMESTAMPTZ"}}, append(doubles("running", "context_tokens", "floor_tpot_s", "predicted_tpot_s", "low_predicted_tpot_s",
		"high_predicted_tpot_s", "measured_tpot_s"), field{"is_out_of_band", "BOOLEAN"})...)...)}
	figure.Notes = fmt.Sprintf("time per token by hour · %s, %s outside the band", counted(len(f.Steps), "hour"), count(out))
	figure.Tables = []table{f.termByTerm()}
	v := bandwidth{Figure: figure, Drift: f.drift()}
	if f.Drift != nil {
		v.Said = f.Drift.Sentence
	}
	if f.Changed != nil { // one answer: a smaller shift of the table's would read as another
		v.Said = f.Changed.Sentence
	}
	return v, figure.Title, nil
}

// drift splits the change of the time per token into what the traffic explains and what it does not.
func (f *facts) drift() *table {
	d := f.Drift
	if d == nil {
		return nil
	}
	t := &table{Class: "fit", Title: "Against " + counted(d.Weeks, "week") + " before", Caption: counted(d.Hours, "hour") + " that have an hour to be compared with; measured = traffic × hardware", Heads: []head{words("Part"), numbers("Change", "%"), numbers("90"+narrow+"% interval", "%")}}
	for _, part := range []struct {
		name string
		week.DriftPart
	}{{"Time per token", d.Measured}, {"Explained by the traffic", d.Traffic}, {"Left to the hardware", d.Hardware}} {
		t.Rows = append(t.Rows, cells(part.name, signed(part.Ratio), interval(signed(part.Low), signed(part.High))))
	}
	return t
}

// telling are the hours worth a row: outside the band, the fullest and the emptiest batch.
func (f *facts) telling() []*week.StepTime {
	var shown []*week.StepTime
	least, most := &f.Steps[0], &f.Steps[0]
	for i := range f.Steps {
		s := &f.Steps[i]
		if s.IsOut && len(shown) < mostHours {
			shown = append(shown, s)
		}
		if s.Running < least.Running {
			least = s
		}
		if s.Running > most.Running {
			most = s
		}
	}
	for _, s := range []*week.StepTime{least, most} {
		if !slices.Contains(shown, s) {
			shown = append(shown, s)
		}
	}
	slices.SortFunc(shown, func(a, b *week.StepTime) int { return a.Start.Compare(b.Start) })
	return shown
}

func (f *facts) termByTerm() table {
	ms := func(s float64) string { return figures(s * 1e3) }
	t := table{Class: "stack", Caption: "Term by term: the emptiest and the fullest batch, and what lies outside the band", Heads: []head{words("Hour"), numbers("Batch", "sequences"), numbers("Context", "tokens"), numbers("Floor", "ms")}}
	for _, term := range f.Steps[0].Terms {
		t.Heads = append(t.Heads, numbers(upper(said(term.Name)), "ms"))
	}
	t.Heads = append(t.Heads, numbers("Predicted", "ms"), numbers("Measured", "ms"), numbers("Over", "×"))
	for _, s := range f.telling() {
		r := cells(f.hour(s.Start), figures(s.Running), figures(s.Context), ms(s.Floor))
		for i := range f.Steps[0].Terms {
			text := unknown
			if i < len(s.Terms) {
				text = ms(s.Terms[i].Seconds)
			}
			r.Cells = append(r.Cells, cell{Text: text})
		}
		over := unknown
		if s.Predicted > 0 {
			over = figures(s.Measured / s.Predicted)
		}
		r.Cells = append(r.Cells, cells(ms(s.Predicted), ms(s.Measured), over).Cells...)
		if s.IsOut {
			r.Class, r.Cells[0].Mark = "broken", crossed("out")
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}
