package reports

import (
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"tidemark/analysis/metric"
	"tidemark/internal/show"
)

// experiment is what the runs of one experiment say together.
type experiment struct {
	ID, Name, Hypothesis, Variable string
	Expect                         expectation
	Heads                          []string // an objective each
	Levels                         []level
	Conclusion                     string // in a headline's length
	Judgement                      string // of the hypothesis
	Steps                          *Result
	IsPage                         bool // all runs of the page are of it, so that its conclusion is the headline
}

// expectation is the hypothesis in a form that can be judged; what is empty is not expected.
type expectation struct {
	MetAt, NotMetAt string // levels that are, and are not, within the SLO
	Binds           string // metric that is farthest beyond its limit at the first level that is not
}

// level is one value of the setting that varies, with a mark for each objective.
type level struct {
	Value              string
	Cells              map[string]any // its row of marts.steps
	Marks              []levelMark
	IsWithin, IsBroken bool
	IsBest             bool
	missed             string // the objective that is farthest beyond its limit
	missedMetric       string
}

// levelMark is the outcome of an objective over the valid repeats of a level.
type levelMark struct{ Outcome, Text string }

// experiments are those that the page's runs are of, in the order of their start.
func (p *page) experiments() ([]experiment, error) {
	ids := make([]any, len(p.Runs))
	for i, run := range p.Runs {
		ids[i] = run.ID
	}
	r, err := ask(p.ctx, p.db, "staging.runs", `select
    series_id,
    any_value(series_name) as series_name,
    any_value(hypothesis) as hypothesis,
    any_value(expected_met_at) as expected_met_at,
    any_value(expected_not_met_at) as expected_not_met_at,
    any_value(expected_binds) as expected_binds,
    any_value(variable) as variable
from staging.runs
where list_contains($1, run_id) and series_id is not null
group by series_id
order by min(started_at), series_id`, ids)
	if err != nil {
		return nil, err
	}
	var out []experiment
	for i, id := range r.texts("series_id") {
		e := experiment{ID: id, Name: r.texts("series_name")[i], Hypothesis: r.texts("hypothesis")[i], Variable: show.Words(r.texts("variable")[i])}
		e.Expect = expectation{
			MetAt: r.texts("expected_met_at")[i], NotMetAt: r.texts("expected_not_met_at")[i], Binds: r.texts("expected_binds")[i],
		}
		if err := p.findLevels(&e); err != nil {
			return nil, err
		}
		if len(e.Levels) > 1 {
			e.conclude()
			e.IsPage = len(p.Runs) > 1 && p.areOf(e.ID)
			out = append(out, e)
		}
	}
	return out, nil
}

// findLevels reads the levels of an experiment with the outcome of each objective.
func (p *page) findLevels(e *experiment) (err error) {
	if e.Steps, err = ask(p.ctx, p.db, "marts.steps", `select
    value,
    load,
    valid_runs,
    stopped_runs,
    runs,
    completed,
    request_per_s,
    output_token_per_s,
    least_output_token_per_s,
    most_output_token_per_s,
    mean_in_flight,
    cached_ratio,
    p50_ttft_from_due_s,
    p99_ttft_from_due_s,
    p50_tpot_s,
    p99_tpot_s,
    accepted_ratio,
    added_ratio,
    is_knee
from marts.steps
where series_id = $1
order by load, series_row`, e.ID); err != nil {
		return err
	}
	outcomes, err := ask(p.ctx, p.db, "marts.slo", `select
    runs.value,
    slo.objective,
    any_value(slo.metric) as metric,
    any_value(case when slo.metric = 'failure_ratio' then 'failures' else 'p' || slo.percentile::varchar || ' ' || slo.metric end || coalesce(', ' || slo.class, '')) as words,
    count(*) filter (where slo.outcome = 'met') as met,
    count(*) filter (where slo.outcome = 'not met') as not_met,
    count(*) as repeats,
    max(slo.observed / slo.at_most) as of_limit
from marts.slo as slo
inner join marts.runs as runs on runs.run_id = slo.run_id
where runs.series_id = $1 and runs.is_valid
group by runs.value, slo.objective
order by slo.objective`, e.ID)
	if err != nil {
		return err
	}
	// Over the repeats as experiment.RowOutcome: one that is not met decides, and an invalid one counts for nothing.
	verdicts, err := ask(p.ctx, p.db, "marts.verdicts", `select
    runs.value,
    bool_or(verdicts.outcome = 'not met') and bool_or(verdicts.slo_name is not null) as is_broken,
    bool_and(verdicts.outcome = 'met') filter (where verdicts.outcome is distinct from 'invalid') as is_within
from marts.verdicts
inner join staging.runs as runs on runs.run_id = verdicts.run_id
where runs.series_id = $1
group by runs.value`, e.ID)
	if err != nil {
		return err
	}
	for _, row := range e.Steps.Cells() {
		l := level{Value: plain(row["value"]), Cells: row}
		if i := slices.Index(verdicts.texts("value"), l.Value); i >= 0 {
			l.IsBroken, _ = verdicts.At(i, "is_broken").(bool)
			l.IsWithin, _ = verdicts.At(i, "is_within").(bool)
		}
		l.read(outcomes, e)
		e.Levels = append(e.Levels, l)
	}
	return nil
}

// read takes the outcomes of a level's objectives.
func (l *level) read(outcomes *Result, e *experiment) {
	farthest := 0.0
	l.missed, l.missedMetric = "the share of failures", metric.FailureRatio // the limit where an SLO has none, unless an objective is missed
	for i, value := range outcomes.texts("value") {
		objective, _ := number(outcomes.At(i, "objective"))
		for len(e.Heads) < int(objective) {
			e.Heads = append(e.Heads, objectiveWords(outcomes.texts("words")[i]))
		}
		if value != l.Value {
			continue
		}
		for len(l.Marks) < int(objective) {
			l.Marks = append(l.Marks, levelMark{})
		}
		met, _ := number(outcomes.At(i, "met"))
		notMet, _ := number(outcomes.At(i, "not_met"))
		repeats, _ := number(outcomes.At(i, "repeats"))
		of, isKnown := number(outcomes.At(i, "of_limit"))
		mark := levelMark{Outcome: "undecided"}
		switch {
		case notMet > 0:
			mark.Outcome = "not met"
			if of >= farthest {
				farthest, l.missed, l.missedMetric = of, e.Heads[int(objective)-1], outcomes.texts("metric")[i]
			}
		case met == repeats:
			mark.Outcome = "met"
		}
		if isKnown {
			mark.Text = show.Percent(of) + " of the limit"
		}
		l.Marks[int(objective)-1] = mark
	}
}

// objectiveWords writes p99.0 ttft_from_due as p99 TTFT from due.
func objectiveWords(text string) string {
	first, rest, hasRest := strings.Cut(text, " ")
	first = strings.TrimSuffix(first, ".0")
	if !hasRest {
		return first
	}
	metric, class, hasClass := strings.Cut(rest, ", ")
	text = first + " " + show.Words(metric)
	if hasClass {
		text += ", " + class
	}
	return text
}

// conclude says which level is the largest within the SLO, and whether the hypothesis held.
func (e *experiment) conclude() {
	best, firstMiss := -1, -1
	for i, l := range e.Levels {
		if l.IsWithin {
			best = i
		}
		if l.IsBroken && firstMiss < 0 {
			firstMiss = i
		}
	}
	at := func(i int) string { return e.Variable + " " + shortened(e.Levels[i].Value, 12) }
	switch {
	case len(e.Heads) == 0:
		e.Conclusion = e.byThroughput(at)
	case best == len(e.Levels)-1:
		e.Conclusion = "Every level is within the SLO, up to " + at(best)
	case best >= 0:
		e.Levels[best].IsBest = true
		e.Conclusion = "Largest level within the SLO: " + at(best)
	case firstMiss > 0: // those before it are undecided
		e.Conclusion = "None is shown within the SLO; " + at(firstMiss) + " is not"
	case firstMiss == 0:
		e.Conclusion = "No level is within the SLO: " + at(firstMiss) + " is not"
	default:
		e.Conclusion = "No level is known to be within the SLO"
	}
	if len([]rune(e.Conclusion)) > longestHeadline {
		e.Conclusion = shortened(e.Conclusion, longestHeadline)
	}
	e.Judgement = e.judge(firstMiss, at)
}

// byThroughput concludes where no SLO was given.
func (e *experiment) byThroughput(at func(int) string) string {
	best, most := -1, 0.0
	for i, l := range e.Levels {
		if knee, _ := l.Cells["is_knee"].(bool); knee {
			return "The knee is at " + at(i) + ": beyond it load waits"
		}
		if v, isKnown := number(l.Cells["output_token_per_s"]); isKnown && v > most {
			best, most = i, v
		}
	}
	if best < 0 {
		return "No level has a valid run"
	}
	return "Most throughput at " + at(best) + ", no knee"
}

var bindsFirst = regexp.MustCompile(`(?i)\b(ttft|tpot|itl|e2e)\b[^.]*\bbinds?\b`)

// judge says whether what the experiment's file expects held, or else a hypothesis about what binds first. Any other is the reader's to judge.
func (e *experiment) judge(firstMiss int, at func(int) string) string {
	if e.Expect != (expectation{}) {
		return e.judgeExpected(firstMiss, at)
	}
	claimed := bindsFirst.FindStringSubmatch(e.Hypothesis)
	switch {
	case e.Hypothesis == "", e.isQuestion():
		return ""
	case claimed == nil:
		return "It does not say which objective binds first, so it is for the reader to judge."
	case firstMiss < 0:
		return "Not decided: no level misses an objective."
	}
	l := e.Levels[firstMiss]
	verdict := "It did not hold"
	if strings.HasPrefix(l.missedMetric, strings.ToLower(claimed[1])) {
		verdict = "It held"
	}
	return fmt.Sprintf("%s: %s is the first to miss its limit, at %s.", verdict, l.missed, at(firstMiss))
}

// judgeExpected holds all that the file expects against the levels: one claim that fails decides, else one that cannot be told.
func (e *experiment) judgeExpected(firstMiss int, at func(int) string) string {
	failed, open := false, false
	var reasons []string
	claim := func(holds, fails bool, reason string) {
		failed, open = failed || fails, open || !holds && !fails
		reasons = append(reasons, reason)
	}
	atLevel := func(value string, isMetWanted bool) {
		i := slices.IndexFunc(e.Levels, func(l level) bool { return l.Value == value })
		if i < 0 {
			claim(false, false, "the experiment did not come to "+shortened(value, 12))
			return
		}
		l := e.Levels[i]
		outcome := "undecided"
		switch {
		case l.IsWithin:
			outcome = "within the SLO"
		case l.IsBroken:
			outcome = "not within the SLO"
		}
		claim(isMetWanted && l.IsWithin || !isMetWanted && l.IsBroken, isMetWanted && l.IsBroken || !isMetWanted && l.IsWithin, at(i)+" is "+outcome)
	}
	if e.Expect.MetAt != "" {
		atLevel(e.Expect.MetAt, true)
	}
	if e.Expect.NotMetAt != "" {
		atLevel(e.Expect.NotMetAt, false)
	}
	switch {
	case e.Expect.Binds == "":
	case firstMiss < 0:
		claim(false, false, "no level misses an objective")
	default:
		l := e.Levels[firstMiss]
		isIt := l.missedMetric == e.Expect.Binds || l.missedMetric == e.Expect.Binds+"_from_due"
		claim(isIt, !isIt, l.missed+" is the first to miss its limit, at "+at(firstMiss))
	}
	verdict := "It held"
	switch {
	case failed:
		verdict = "It did not hold"
	case open:
		verdict = "Not decided"
	}
	return verdict + ": " + strings.Join(reasons, "; ") + "."
}

// isQuestion is true for replay --steps, which has no hypothesis.
func (e *experiment) isQuestion() bool { return strings.HasPrefix(e.Hypothesis, "what each ") }

// experimentFirst is the first screen of a page whose runs are all of one experiment.
func (p *page) experimentFirst(m *mast) (first, bool, error) {
	all, err := p.experiments()
	if err != nil || len(all) != 1 {
		return first{}, false, err
	}
	if !all[0].IsPage {
		return first{}, false, nil
	}
	e := all[0]
	m.Name = e.Name
	lede := fmt.Sprintf("%d levels of %s, %d runs.", len(e.Levels), esc(e.Variable), len(p.Runs))
	switch {
	case e.isQuestion():
		lede = "Asked: <bdi>" + esc(shortened(e.Hypothesis, 200)) + "</bdi>. " + lede
	case e.Hypothesis != "":
		lede = "Hypothesis: <bdi>" + esc(shortened(e.Hypothesis, 200)) + "</bdi>. " + strong(e.Judgement) + " " + lede
	}
	return first{Headline: tight(e.Conclusion), Lede: template.HTML(tight(lede))}, true, nil // safe: every value is escaped
}

// areOf says that all runs of the page are steps of one experiment.
func (p *page) areOf(series string) bool {
	for _, run := range p.Runs {
		if id, _ := run.Facts.At(0, "series_id").(string); id != series {
			return false
		}
	}
	return true
}
