package week_test

import (
	"testing"

	"tidemark/analysis/week"
	"tidemark/internal/proof/golden"
	page "tidemark/reports/week"
	"tidemark/reports/week/sample"
)

// short makes the busiest hour need a seventh replica at capacity’s low end.
func short(r *week.Report) {
	r.Hours[24+14].HighNeeded, r.Sums.LowHeadroom = ptr(7), ptr(-0.03)
}

// What the first screen and the sections say where a careless word would mislead.
func TestWhatThePageSays(t *testing.T) {
	for _, c := range []struct {
		name string
		r    *week.Report
		want []string
		not  []string
	}{
		{"the tile judges what is paid for now, as the headline does", sample.Changed(), []string{"<h1>Buy no GPUs: 7 replicas hold with 36 % to spare</h1>", "<dt>Headroom, 7 replicas since Wed</dt><dd class=\"v\">36 %</dd><dd>at capacity’s low end; 44 % at its middle, in the hours known</dd><dd class=\"w\">18 % last week</dd>"}, nil},
		{"one section, and not three, says that production has no metrics", with(sample.NoMetrics(), func(r *week.Report) { r.Felt, r.Steps, r.Symptoms, r.Looked = nil, nil, nil, 0 }), []string{"<h2 id=\"h-felt\">Production</h2>", "what users felt, what a token took and whether a symptom shows is not known"},
			[]string{"<h2 id=\"h-bandwidth\">", "<h2 id=\"h-diagnosis\">", "No symptom could be looked for"}},
		{"headroom of a week with gaps", sample.Report(), []string{"<dd>at capacity’s low end; 23 % at its middle, in the hours known</dd>"}, nil},
		{"headroom of a week without", sample.Falling(), nil, []string{"in the hours known</dd>"}},
		{"an hour that is not the busiest lacks replicas", with(sample.Report(), func(r *week.Report) { r.Hours[30].HighNeeded = ptr(7) }), []string{"; too little in 1 other hour</dd>"}, nil},
		{"room for a thousand times the load", with(sample.Report(), func(r *week.Report) { r.Sums.LowHeadroom = ptr(1119.6) }), []string{"hold with 1,120× to spare", "<dd class=\"v\">1,120×</dd>"}, []string{"111960"}},
		{"a predicted share of a fleet that is short", with(sample.NoMetrics(), func(r *week.Report) { short(r); r.Sums.IsPredicted, r.Sums.WithinSLO = true, ptr(0.9999944) }),
			[]string{"over all hours, 1 hour short of replicas</dd>"}, []string{"99.9999"}},
		{"an interval that reads like its middle", with(sample.Report(), func(r *week.Report) {
			r.Sums.USDPerMillion, r.Sums.LowUSDPerMillion, r.Sums.HighUSDPerM = ptr(135.1), ptr(135.08), ptr(135.4)
		}), []string{"<dd class=\"v\">$135</dd><dd></dd>"}, []string{"135 to 135"}},
		{"needed is said at which end", sample.Report(), []string{"GPU-hours needed, at capacity’s middle", "Needed, covered hours, at the middle of the interval", "Needed, the same at capacity’s low end"}, nil},
		{"nines, and where today stands", sample.Report(), []string{"<strong>Today’s 6 replicas reach 99 % in the busiest hour; 99.9 % needs 1 more, $974 a week</strong>", "99 % <small>reached by today’s 6 replicas</small>"}, nil},
		{"nines of a fleet that reaches none", with(sample.Report(), func(r *week.Report) { r.Nines[0].Replicas = ptr(9) }), []string{"Today’s 6 replicas reach less than 99 % in the busiest hour; 99 % needs 3 more"}, nil},
		{"the next nine is out of reach", with(sample.Report(), func(r *week.Report) { r.Nines = r.Nines[:1]; r.Nines = append(r.Nines, week.Nine{Share: 0.999}) }), []string{"reach 99 % in the busiest hour; no number reaches 99.9 %"}, nil},
		{"the cheapest is one replica", with(sample.Report(), func(r *week.Report) {
			r.Alternatives = append(r.Alternatives, week.Alternative{Name: "1 × 8 H200 FP8", Kind: "measured", GPUs: 8, Replicas: 1, Headroom: ptr(0.1), USDPerWeek: ptr(100.0), Why: "holds"})
		}), []string{"at $100 a week; one replica has no spare when it fails", "one replica: nothing serves when it fails"}, nil},
		{"when a purchase is due", with(sample.Report(), short), []string{", due now"}, nil},
		{"a further replica that this week needs already", with(sample.DoesNotFit(), func(r *week.Report) {}), []string{"7th</th><td role=\"cell\" data-l=\"Needed in the week of\">now</td>"}, nil},
		{"no forecast is said once", with(sample.NoHistory(), func(r *week.Report) {
			r.Forecast.Why = "There is no forecast: it needs 3 weeks of history, and there is 1."
		}), []string{"There is no forecast: it needs 3 weeks of history, and there is 1. This command"}, []string{"There is no forecast: There"}},
		{"a simulated capacity, whose interval is of sampling", with(sample.Report(), func(r *week.Report) { r.Basis.Kind, r.Basis.Model = "simulated", ptr(0.15) }),
			[]string{"8.41 (7.98 to 8.86) requests/s, 90 % interval of sampling alone; step times may be off by ± 15 % besides"}, nil},
		{"the line below the headline", sample.Report(), []string{"<p class=\"rests\">The capacity was measured on 11 November.</p>"}, nil},
		{"requests that failed", with(sample.Report(), func(r *week.Report) { r.FailedRequests = 12 }), []string{"<dt>Failed or without an answer</dt><dd>12 of "}, nil},
		{"a slice that stands for the week", sample.Report(), []string{"The replayed slice still stands for the week: KS at most 0.05"}, nil},
		{"a slice that does not", with(sample.Report(), func(r *week.Report) {
			r.Shape.Slice = []week.Distance{{What: "input_tokens of nine", KS: 0.22, IsMoved: true}, {What: "output_tokens of nine", KS: 0.3, IsMoved: true}}
		}), []string{"The replayed slice no longer stands for the week: input tokens and output tokens of nine moved (KS up to 0.3)."}, nil},
		{"a slice of too few requests to tell", with(sample.Report(), func(r *week.Report) {
			r.Shape.Slice = []week.Distance{{What: "input_tokens of nine", KS: 0.22, IsUnknown: true}, {What: "output_tokens of nine", KS: 0.05}}
		}), []string{"Too few requests were replayed to tell whether they stand for the week (KS up to 0.22: input tokens of nine)."}, []string{"no longer stands"}},
		{"a source of which a part counts", sample.Changed(), []string{"only requests for llama-3.1-70b", "only interactive requests"}, nil},
		{"one replica since Wednesday", with(changedTo(sample.Report(), 48, 1), func(r *week.Report) {
			for i := range r.Hours {
				if !r.Hours[i].IsMissing {
					r.Hours[i].NeededReplicas, r.Hours[i].HighNeeded = ptr(1), ptr(1)
				}
			}
		}), []string{"1 replica is paid for since"}, nil},
	} {
		html := plainly.Replace(write(t, c.r))
		golden.Says(t, c.name, html, c.want, c.not)
	}
}

// A chart without anything to draw is no picture, and no error.
func TestPicturesOfAWeekWithoutLengths(t *testing.T) {
	r := sample.NoHistory()
	r.Shape = week.Shape{}
	pictures, err := page.Pictures(r)
	if err != nil || len(pictures) != 2 {
		t.Errorf("got %d pictures and %v, want those of the need and the demand", len(pictures), err)
	}
}
