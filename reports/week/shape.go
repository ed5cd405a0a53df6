package week

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/analysis/week"
	"tidemark/internal/show"
)

// shape is the dot of 30_shape.html.
type shape struct {
	Figure    *figure
	Lacks     *lacks
	Quantiles *table
	Distances string
	Slices    string
}

func shapeView(f *facts) (any, string, error) {
	var v shape
	finding := "No lengths are known"
	if len(f.Shape.Cells) == 0 && f.hasLengths() {
		v.Lacks = &lacks{"The sources of the week count prompts and answers apart, so nobody knows which go together and no map is drawn. A trace of single requests has both:", "tidemark ingest FILE"}
		finding = "Prompts and answers are counted apart"
	} else if len(f.Shape.Cells) == 0 {
		v.Lacks = f.byCollect("No source of the week has the lengths of prompts and answers, so nothing is drawn. A trace has them, and so have vLLM’s histograms. This command fetches them:")
	} else {
		figure, err := drawn("shape", f)
		if err != nil {
			return nil, "", err
		}
		figure.From, figure.Notes = "staging.service_weeks", "a cell reaches over a factor of √2 on either axis"
		figure.Queries = []string{f.ofList("shape.cells", append(doubles("input_from", "input_to", "output_from", "output_to"), field{"requests", "BIGINT"}, field{"tokens", "BIGINT"})...),
			f.ofList("shape.quantiles", append([]field{{"name", "VARCHAR"}}, doubles("this", "before", "ratio", "low", "high")...)...)}
		v.Figure, finding = figure, figure.Title
	}
	v.Quantiles, v.Distances, v.Slices = f.quantiles(), f.distances(), f.slices()
	return v, finding, nil
}

// hasLengths says that some length of the week is known.
func (f *facts) hasLengths() bool {
	return slices.ContainsFunc(f.Shape.Quantiles, func(q week.Quantile) bool { return q.This != nil })
}

func (f *facts) quantiles() *table {
	s := f.Shape
	if len(s.Quantiles) == 0 {
		return nil
	}
	t := &table{Class: "fit", Title: f.shapeFinding(), Heads: []head{{"Quantile", "tokens", false}, numbers("This week", ""), numbers("Last week", ""), numbers("Change", "%, 90"+narrow+"% interval")}}
	for _, q := range s.Quantiles {
		r := cells(quantileWords(q.Name), of(q.This, count[float64]), of(q.Before, count[float64]), unknown)
		if q.Ratio != nil && q.Low != nil && q.High != nil {
			mark := "~"
			if *q.Low > 0 {
				mark = "▲"
			} else if *q.High < 0 {
				mark = "▼"
			}
			r.Cells[3] = cell{Text: mark + " " + signed(*q.Ratio), Small: interval(signed(*q.Low), signed(*q.High))}
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// quantileWords: p50 input_tokens is Input p50.
func quantileWords(name string) string {
	quantile, what, ok := strings.Cut(name, " ")
	if !ok {
		return name
	}
	return upper(said(strings.TrimSuffix(what, "_tokens"))) + " " + quantile
}

func (f *facts) shapeFinding() string {
	in, out := f.Shape.Input, f.Shape.Output
	switch {
	case in == nil || out == nil:
		return "No week before this one to compare the lengths with"
	case in.IsMoved && out.IsMoved:
		return "Prompts and answers have other lengths than last week"
	case in.IsMoved:
		return "Prompts have other lengths than last week, answers have not moved"
	case out.IsMoved:
		return "Answers have other lengths than last week, prompts have not moved"
	}
	return "The shape has not moved since last week"
}

func (f *facts) distances() string {
	if f.Shape.Input == nil || f.Shape.Output == nil {
		return ""
	}
	in, out := f.Shape.Input, f.Shape.Output
	return fmt.Sprintf("Distance to last week: KS %s in, %s out; Wasserstein on ln tokens %s in, %s out.", show.Distance(in.KS), show.Distance(out.KS), show.Distance(in.Wasserstein), show.Distance(out.Wasserstein))
}

// slices says whether what was replayed still stands for the week.
func (f *facts) slices() string {
	if len(f.Shape.Slice) == 0 {
		return ""
	}
	far, moved, unknown := f.Shape.Slice[0], []string{}, []string{}
	for _, d := range f.Shape.Slice {
		if d.KS > far.KS {
			far = d
		}
		switch {
		case d.IsMoved:
			moved = append(moved, said(d.What))
		case d.IsUnknown:
			unknown = append(unknown, said(d.What))
		}
	}
	upTo := "KS up to " + show.Distance(far.KS)
	switch {
	case len(moved) > 0:
		return "The replayed slice no longer stands for the week: " + listed(ofOneRun(moved)) + " moved (" + upTo + ")."
	case len(unknown) > 0:
		return "Too few requests were replayed to tell whether they stand for the week (" + upTo + ": " + listed(ofOneRun(unknown)) + ")."
	}
	return fmt.Sprintf("The replayed slice still stands for the week: KS at most %s (%s).", show.Distance(far.KS), said(far.What))
}

// ofOneRun says "input tokens and output tokens of RUN" for two lengths of one run.
func ofOneRun(whats []string) (out []string) {
	for _, what := range whats {
		name, run, _ := strings.Cut(what, " of ")
		if last := len(out) - 1; last >= 0 && run != "" && strings.HasSuffix(out[last], " of "+run) {
			out[last] = strings.TrimSuffix(out[last], " of "+run) + " and " + name + " of " + run
			continue
		}
		out = append(out, what)
	}
	return out
}
