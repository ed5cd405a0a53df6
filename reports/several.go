package reports

import (
	"fmt"
	"html/template"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/show"
)

// severalFirst is the first screen of several runs: of an experiment where all are of one, else of a comparison.
func (p *page) severalFirst() (first, mast, error) {
	m := mast{Name: fmt.Sprintf("%d runs", len(p.Runs)), Where: p.where(), When: p.Runs[0].When()}
	f, isExperiment, err := p.experimentFirst(&m)
	if err != nil || isExperiment {
		return f, m, err
	}
	f, err = p.comparisonFirst()
	return f, m, err
}

// where is what all runs were measured on, if it was one thing.
func (p *page) where() string {
	for _, run := range p.Runs {
		if run.MeasuredOn != p.Runs[0].MeasuredOn {
			return ""
		}
	}
	return p.Runs[0].MeasuredOn
}

// comparisonFirst says how many runs meet their SLO, or what differs most between the first run and the last.
func (p *page) comparisonFirst() (first, error) {
	met, judged, valid := 0, 0, 0
	var lede []string
	for _, run := range p.Runs {
		if run.IsValid && !run.HasFailed {
			valid++
		}
		if run.HasSLO && run.IsValid {
			judged++
			if run.Verdict.Outcome == analysis.Met {
				met++
			}
		}
	}
	pair, err := p.pair()
	if err != nil {
		return first{}, err
	}
	f := first{Headline: fmt.Sprintf("Too few requests to tell %d runs apart", len(p.Runs))}
	switch {
	case valid < 2:
		f.Headline = "Nothing to compare: fewer than two of the runs are valid"
	case len(p.Runs) == 2 && pair != "":
		f.Headline = pair
	case judged > 1:
		f.Headline = fmt.Sprintf("%d of %d runs %s the SLO", met, judged, show.Verb(met, "meets", "meet"))
		if judged == len(p.Runs) && met == judged {
			f.Headline = fmt.Sprintf("All %d runs meet the SLO", met)
		}
		if met == 0 {
			f.Headline = fmt.Sprintf("None of %d runs meets the SLO", judged)
		}
	case pair != "":
		c, err := p.compared(section{})
		if err != nil {
			return first{}, err
		}
		f.Headline = c.headline()
	}
	for _, run := range p.Runs[:min(len(p.Runs), mostNamed)] {
		lede = append(lede, "<strong><bdi>"+esc(shortened(run.Name, 40))+"</bdi></strong>: "+esc(lowerFirst(run.headline())))
	}
	text := strings.Join(lede, "; ")
	if more := len(p.Runs) - mostNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	f.Headline = tight(f.Headline)
	f.Lede = template.HTML(text + ".") // safe: every value is escaped
	return f, nil
}

// pair is what differs between the first run and the last where intervals tell them apart: by p99s, or by medians where there are too few
// requests for the interval of a p99.
func (p *page) pair() (string, error) {
	for _, statistic := range []string{"p99", "p50"} {
		text, err := p.pairBy(statistic)
		if text != "" || err != nil {
			return text, err
		}
	}
	return "", nil
}

func (p *page) pairBy(statistic string) (string, error) {
	one, two := p.Runs[0], p.Runs[len(p.Runs)-1]
	r, err := ask(p.ctx, p.db, "marts.run_pairs", `select
    pairs.metric,
    case when pairs.metric = 'output_token_per_s' then coalesce(one.gpus / two.gpus, 1) else 1 end as per_gpu,
    pairs.ratio * per_gpu as ratio,
    pairs.low_ratio * per_gpu > 1 or pairs.high_ratio * per_gpu < 1 as is_different
from marts.run_pairs as pairs
inner join staging.runs as one on one.run_id = pairs.run_id
inner join staging.runs as two on two.run_id = pairs.other_run_id
where pairs.run_id = $1
    and pairs.other_run_id = $2
    and pairs.metric in ('ttft_s', 'tpot_s', 'output_token_per_s')
    and pairs.statistic = case when pairs.metric = 'output_token_per_s' then 'mean' else $3 end
order by pairs.metric desc`, one.ID, two.ID, statistic)
	if err != nil {
		return "", err
	}
	said := map[string]string{"p99": "p99 ", "p50": "median "}[statistic]
	var parts []string
	differ, latencies := 0, 0
	for i, metric := range r.texts("metric") {
		is, isKnown := r.At(i, "is_different").(bool)
		if !isKnown {
			continue
		}
		name := "throughput"
		if per, _ := number(r.At(i, "per_gpu")); per != 1 {
			name = "throughput a GPU"
		}
		if metric != "output_token_per_s" {
			name, latencies = said+strings.ToUpper(strings.TrimSuffix(metric, "_s")), latencies+1
		}
		if !is {
			parts = append(parts, name+" ~")
			continue
		}
		differ++
		parts = append(parts, name+" "+times(r.At(i, "ratio")))
	}
	switch {
	case latencies == 0:
		return "", nil
	case differ == 0:
		return "The intervals do not tell the runs apart", nil
	}
	alike, err := ask(p.ctx, p.db, "marts.run_differences", `select count(*) filter (where is_refused) = 0 as is_alike
from marts.run_differences
where run_id = $1
    and other_run_id = $2`, one.ID, two.ID)
	if err != nil {
		return "", err
	}
	said = "Against the first: "
	if alike.At(0, "is_alike") == false {
		said = "Not alike: " // another model, load or origin
	}
	return said + strings.Join(parts, ", "), nil
}

func shortened(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// searchFirst is the first screen of a page about searches for capacity alone: the answer, where there is one search.
func (p *page) searchFirst() (first, mast, error) {
	title := p.capacityTitle()
	if len(p.Searches) != 1 {
		return first{Headline: title}, mast{Name: "Capacity"}, nil
	}
	r, err := ask(p.ctx, p.db, "marts.capacities", `select
    source_name,
    mode,
    outcome,
    scale,
    scale_low,
    scale_high,
    concurrency,
    rate_per_s,
    rate_low_per_s,
    rate_high_per_s,
    origin
from marts.capacities
where search_id = $1`, p.Searches[0])
	if err != nil || r.Len() == 0 {
		return first{Headline: title}, mast{Name: "Capacity"}, err
	}
	m := mast{Name: title, Tag: r.texts("origin")[0]}
	within := func(low, high string) string {
		if low, isKnown := number(r.At(0, low)); isKnown {
			return fmt.Sprintf(" (%s to %s)", show.Figures(low), plainFigures(r.At(0, high)))
		}
		return ""
	}
	// What it handles: requests a second, of which the multiple of the traffic is the other name; in a closed loop requests in flight.
	handles := ""
	if rate, isKnown := number(r.At(0, "rate_per_s")); isKnown {
		handles = show.Figures(rate) + " requests/s" + within("rate_low_per_s", "rate_high_per_s") + ", " + times(r.At(0, "scale")) + " the traffic"
	} else if r.texts("mode")[0] == "closed" {
		handles = count(r.At(0, "concurrency")) + " requests in flight" + within("scale_low", "scale_high")
	} else if _, isKnown := number(r.At(0, "scale")); isKnown {
		handles = times(r.At(0, "scale")) + " the traffic" + within("scale_low", "scale_high")
	}
	answer := map[string]string{"found": "It handles " + handles, "above_max": "It handles more than was tried", "below_min": "It handles less than was tried",
		"not_possible": "Not possible, not even one request alone", "undecided": "Undecided: about " + handles + " so far", "invalid": "Not valid: there is no answer"}[r.texts("outcome")[0]]
	switch {
	case r.texts("outcome")[0] == "undecided" && handles == "":
		answer = "Undecided: too few runs to say a rate"
	case answer == "":
		answer = "The search has not ended"
	}
	return first{Headline: tight(answer)}, m, nil
}

// resultsFirst is that of results of other tools: the highest throughput among them, where they are of one tool, model, deployment
// and workload.
func (p *page) resultsFirst() (first, mast, error) {
	m := mast{Name: fmt.Sprintf("%d results of other tools", len(p.Sources))}
	if len(p.Sources) == 1 {
		m.Name = fmt.Sprintf("Result %s", p.Sources[0])
	}
	r, err := ask(p.ctx, p.db, "marts.points", `select
    max(output_token_per_s) as best_per_s,
    arg_max(coalesce(max_concurrency || ' in flight', macros.figures(request_rate_per_s) || ' requests/s', load), output_token_per_s) as load,
    count(distinct concat_ws(' ', tool, model, gpu, tensor_parallel_size, engine, workload)) as kinds
from marts.points
where list_contains($1, source_name)`, p.Sources)
	if err != nil {
		return first{}, m, err
	}
	best, isKnown := number(r.At(0, "best_per_s"))
	study, err := ask(p.ctx, p.db, "marts.configurations", `select
    study,
    headline
from marts.configurations
where list_contains($1, study)
    and place = 0`, p.Sources)
	if err != nil {
		return first{}, m, err
	}
	if study.Len() == 1 && len(p.Sources) == 1 {
		m.Name = "Study " + study.texts("study")[0]
		return first{Headline: strings.TrimSuffix(study.texts("headline")[0], ".")}, m, nil
	}
	if kinds, _ := number(r.At(0, "kinds")); !isKnown || kinds > 1 { // the most of unlike things is nobody's
		return first{Headline: m.Name}, m, nil
	}
	return first{Headline: "At most " + show.Figures(best) + " output tokens/s, at " + plain(r.At(0, "load"))}, m, nil
}
