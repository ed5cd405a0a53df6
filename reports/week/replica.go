package week

import (
	"fmt"
	"math"

	"tidemark/internal/show"
)

// replica is the dot of 40_replica.html.
type replica struct {
	Figure *figure
	Lacks  *lacks
	Facts  []fact
}

func replicaView(f *facts) (any, string, error) {
	b := f.Basis
	if b.RatePerS == nil {
		return replica{Lacks: &lacks{"Nothing says what a replica handles: no search for capacity fits this deployment and SLO, and none could be rehearsed. This command searches, against one replica:", f.search()}},
			"Nothing says what a replica handles", nil
	}
	figure, err := drawn("capacity", f)
	if err != nil {
		return nil, "", err
	}
	figure.Notes = b.Sentence
	from, query := f.ofSearch()
	figure.From, figure.Queries = from, []string{query}
	if len(b.Points) > 0 {
		figure.Tables = []table{f.probes()}
	}
	v := replica{Figure: figure}
	v.Facts = keepFacts(fact{"Takes", f.takes()},
		fact{"What binds", f.binds()}, fact{"Origin", f.origin()}, fact{"Found on", f.foundOn()}, fact{"Shape", f.otherShape()}, fact{"Correction", f.correction()}, fact{"Model", f.model()})
	return v, figure.Title, nil
}

func (f *facts) probes() table {
	t := table{Class: "stack", Caption: "Probes of the search, one replica", Heads: []head{words("Run"), numbers("Rate", "requests/s"), numbers("Missed", "%"), numbers("90"+narrow+"% interval", "%"), words("Validity")}}
	for _, p := range f.Basis.Points {
		r := cells(p.Run, figures(p.RatePerS), figures(p.Missed*100), interval(figures(p.Low*100), figures(p.High*100)), "")
		r.Cells[4].Mark = ticked("valid")
		if !p.IsValid {
			r.Cells[4].Mark, r.Class = crossed("invalid"), "broken"
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// binds is the objective that ends the search, with its bound.
func (f *facts) binds() string {
	for _, o := range f.SLO.Objectives {
		if o.Name == f.Basis.Binding {
			text := fmt.Sprintf("%s %s at most %s", show.Percentile(o.Percent), metricName(o.Metric), setting(o.AtMost))
			if o.Class != "" {
				text += " of " + o.Class
			}
			return text
		}
	}
	return f.Basis.Binding
}

func (f *facts) foundOn() string {
	b := f.Basis
	if b.Search == "" {
		return ""
	}
	text := b.Search
	if b.SourceName != "" && b.SourceName != b.Search {
		text += " with " + b.SourceName
	}
	if b.EndedAt != nil {
		text += ", ended " + f.day(*b.EndedAt)
	}
	if b.AgeDays != nil {
		text += fmt.Sprintf(", %s before the week’s end", counted(int(math.Round(*b.AgeDays)), "day"))
	}
	return text
}

// origin is measured, simulated or rehearsed; a prediction is a rehearsal that was made for this page.
func (f *facts) origin() string {
	if f.Basis.Kind == "predicted" {
		return "rehearsed for this page, not measured"
	}
	return f.Basis.Kind
}

func (f *facts) otherShape() string {
	b := f.Basis
	if b.ShapeDistance == nil {
		return ""
	}
	if b.IsOtherShape {
		return "KS " + show.Distance(*b.ShapeDistance) + " from this week’s: another shape, so the correction carries weight"
	}
	return "KS " + show.Distance(*b.ShapeDistance) + " from this week’s"
}

func (f *facts) correction() string {
	b := f.Basis
	if b.Correction == nil || b.Kind == "predicted" {
		return ""
	}
	text := signed(*b.Correction-1) + narrow + "% for this week’s shape"
	if b.Rehearsals > 0 {
		text += ", from " + counted(b.Rehearsals, "rehearsal")
	}
	return text
}

// takes is what one replica handles. The interval of a search is of sampling alone; that of a prediction holds the model's error too.
func (f *facts) takes() string {
	b := f.Basis
	text := withInterval(figures(*b.RatePerS), b.LowRatePerS, b.HighRatePerS, figures) + narrow + "requests/s, 90" + narrow + "% interval"
	if b.Model != nil && b.Kind != "predicted" && b.Kind != "measured" {
		text += " of sampling alone; step times may be off by ±" + narrow + percent(*b.Model) + " besides, which needs and headroom hold"
	}
	return text
}

func (f *facts) model() string {
	if f.Basis.Model == nil {
		return ""
	}
	return "a rehearsal may be off by ±" + narrow + percent(*f.Basis.Model)
}
