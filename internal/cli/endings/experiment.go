package endings

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/analysis/metric"
	"tidemark/internal/cli/tables"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/experiment"
)

// level is one row of an experiment: its outcome, its figures over all repeats, and of each objective the worst repeat.
type level struct {
	value      string
	outcome    experiment.Outcome
	figures    map[string]any // of marts.steps; nil: none of its runs is in the warehouse
	objectives []analysis.ObjectiveVerdict
}

// Experiment is the conclusion of an experiment: whether its hypothesis held, up to which level the SLO is met, and a row for each level.
func Experiment(ctx context.Context, db *sql.DB, seriesID string, file experiment.File, done []experiment.Done) (Text, error) {
	levels, err := levelsOf(ctx, db, seriesID, done)
	if err != nil {
		return Text{}, fmt.Errorf("experiment %s: %w", file.Name, err)
	}
	variable := strings.Join(file.Varied(), "+")
	variable = cmp.Or(variable, file.Variable)
	text := Text{Lead: hypothesis(file, levels)}
	if file.SLO == "" {
		text.Forms = plainForms(variable, levels)
	} else {
		text.Lead = append(text.Lead, largest(variable, levels))
		text.Forms = sloForms(variable, levels)
		text.Notes = legend(levels)
		if file.Repeats > 1 {
			text.Notes = append(text.Notes, fmt.Sprintf("each figure of an objective is that of the worst of %d repeats", file.Repeats))
		}
	}
	rows, err := beside(ctx, db, file, done)
	if err != nil {
		return Text{}, fmt.Errorf("experiment %s: %w", file.Name, err)
	}
	return Text{append(text.Lead, rows...), text.Forms, append(text.Notes, knee(variable, levels)...)}, nil
}

// levelsOf puts together what the journal and the warehouse know of each level, in the order of the rows.
func levelsOf(ctx context.Context, db *sql.DB, seriesID string, done []experiment.Done) ([]level, error) {
	steps, err := answers.Ask(ctx, db, "from marts.steps where series_id = ?", seriesID)
	if err != nil {
		return nil, err
	}
	objectives, err := worstObjectives(ctx, db, seriesID)
	if err != nil {
		return nil, err
	}
	var levels []level
	for _, d := range done {
		if d.Repeat > 0 {
			continue
		}
		l := level{value: d.Value, outcome: experiment.RowOutcome(done, d.Row), objectives: objectives[d.Value]}
		for _, record := range steps.Records() {
			if record["value"] == d.Value {
				l.figures = record
			}
		}
		levels = append(levels, l)
	}
	return levels, nil
}

// worstObjectives are the objectives of each level in their order, each as its worst repeat has it.
func worstObjectives(ctx context.Context, db *sql.DB, seriesID string) (map[string][]analysis.ObjectiveVerdict, error) {
	found := map[string][]analysis.ObjectiveVerdict{}
	err := warehouse.Each(ctx, db, `
select
    runs.value,
    slo.objective,
    slo.metric,
    coalesce(slo.percentile, 0),
    slo.at_most,
    coalesce(slo.class, ''),
    slo.observed,
    slo.samples,
    slo.above,
    slo.outcome
from marts.slo
inner join staging.runs on runs.run_id = slo.run_id
where runs.series_id = ?
order by
    runs.value,
    slo.objective`, []any{seriesID}, func(scan func(...any) error) error {
		var value string
		var place int
		var o analysis.ObjectiveVerdict
		if err := scan(&value, &place, &o.Metric, &o.Percentile, &o.AtMost, &o.Class, &o.Observed, &o.Samples, &o.Above, &o.Outcome); err != nil {
			return err
		}
		if place > len(found[value]) {
			found[value] = append(found[value], o)
		} else if before := &found[value][place-1]; isWorse(o, *before) {
			*before = o
		}
		return nil
	})
	return found, err
}

// isWorse compares two repeats: by outcome, and of one outcome by what was observed.
func isWorse(one, other analysis.ObjectiveVerdict) bool {
	order := []string{analysis.NotMet, analysis.Undecided, analysis.Met, analysis.Invalid}
	if c := cmp.Compare(slices.Index(order, one.Outcome), slices.Index(order, other.Outcome)); c != 0 {
		return c < 0
	}
	return one.Observed != nil && (other.Observed == nil || *one.Observed > *other.Observed)
}

// excess is what was observed over what is allowed; 0 where either is not known.
func excess(o analysis.ObjectiveVerdict) float64 {
	if o.Observed == nil || o.AtMost <= 0 {
		return 0
	}
	return *o.Observed / o.AtMost
}

// tightest is the objective nearest to its bound or furthest beyond it; nil without objectives.
func (l level) tightest() *analysis.ObjectiveVerdict {
	var found *analysis.ObjectiveVerdict
	for i, o := range l.objectives {
		if found == nil || o.Outcome == analysis.NotMet && found.Outcome != analysis.NotMet ||
			(o.Outcome == analysis.NotMet) == (found.Outcome == analysis.NotMet) && excess(o) > excess(*found) {
			found = &l.objectives[i]
		}
	}
	return found
}

// why is what decided a level, in words.
func (l level) why() string {
	if o := l.tightest(); o != nil && (l.outcome != experiment.NotMet || o.Outcome == analysis.NotMet) {
		return againstBound(*o)
	}
	switch l.outcome {
	case experiment.NotMet:
		return "too many requests failed"
	case experiment.NotTakenIn:
		return "not every run is ingested"
	}
	return "no valid run"
}

// hypothesis says whether what the author expects held, and by how much. Words alone cannot be judged.
func hypothesis(file experiment.File, levels []level) []string {
	if file.Expect == (experiment.Expect{}) && file.SLO != "" && file.SHA256 != "" {
		return []string{fmt.Sprintf("Hypothesis in words only (expect: in the file lets it be judged): %s", file.Hypothesis)}
	}
	if file.Expect == (experiment.Expect{}) {
		return []string{fmt.Sprintf("Experiment %s: %s", file.Name, file.Hypothesis)}
	}
	verdict := "held"
	var reasons []string
	for _, claim := range []func(experiment.Expect, []level) (outcome, reason string){metAt, notMetAt, binds} {
		outcome, reason := claim(file.Expect, levels)
		if outcome == "" {
			continue
		}
		reasons = append(reasons, reason)
		if outcome == "not held" || verdict == "held" {
			verdict = outcome
		}
	}
	return []string{fmt.Sprintf("Hypothesis %s: %s (%s)", verdict, file.Hypothesis, strings.Join(reasons, "; "))}
}

func metAt(expected experiment.Expect, levels []level) (outcome, reason string) {
	return outcomeAt(expected.MetAt, experiment.Met, experiment.NotMet, levels)
}

func notMetAt(expected experiment.Expect, levels []level) (outcome, reason string) {
	return outcomeAt(expected.NotMetAt, experiment.NotMet, experiment.Met, levels)
}

// outcomeAt is a claim on the outcome of one level.
func outcomeAt(value string, wanted, opposite experiment.Outcome, levels []level) (outcome, reason string) {
	if value == "" {
		return "", ""
	}
	at := slices.IndexFunc(levels, func(l level) bool { return l.value == value })
	if at < 0 {
		return "undecided", "the experiment did not come to " + value
	}
	outcome = map[experiment.Outcome]string{wanted: "held", opposite: "not held"}[levels[at].outcome]
	return cmp.Or(outcome, "undecided"), fmt.Sprintf("%s at %s: %s", levels[at].outcome, value, levels[at].why())
}

// binds is the claim which metric is furthest beyond its bound where the SLO is first not met. ttft stands for ttft_from_due too.
func binds(expected experiment.Expect, levels []level) (outcome, reason string) {
	if expected.Binds == "" {
		return "", ""
	}
	at := slices.IndexFunc(levels, func(l level) bool { return l.outcome == experiment.NotMet && len(l.objectives) > 0 })
	if at < 0 {
		return "undecided", "no level misses the SLO"
	}
	o := levels[at].tightest()
	outcome = "not held"
	if o.Metric == expected.Binds || o.Metric == expected.Binds+"_from_due" {
		outcome = "held"
	}
	reason = fmt.Sprintf("at %s, %s", levels[at].value, againstBound(*o))
	others := slices.DeleteFunc(slices.Clone(levels[at].objectives), func(other analysis.ObjectiveVerdict) bool { return other.Objective == o.Objective })
	if next := (level{objectives: others}).tightest(); next != nil {
		reason += ", and " + againstBound(*next)
	}
	return outcome, reason
}

// largest says up to which level the SLO is met, and what ends it.
func largest(variable string, levels []level) string {
	ordered := slices.Clone(levels)
	isNumeric := !slices.ContainsFunc(levels, func(l level) bool { _, err := strconv.ParseFloat(l.value, 64); return err != nil })
	if !isNumeric {
		return metLevels(variable, levels)
	}
	number := func(l level) float64 { x, _ := strconv.ParseFloat(l.value, 64); return x }
	slices.SortStableFunc(ordered, func(a, b level) int { return cmp.Compare(number(a), number(b)) })
	at := func(l level) string { return l.value + l.sent(variable) }
	met := -1
	for i, l := range ordered {
		if l.outcome == experiment.Met {
			met = i
		}
	}
	text := fmt.Sprintf("No %s is shown to be within the SLO", variable)
	if met >= 0 {
		text = fmt.Sprintf("Largest %s within the SLO: %s (%s)", variable, at(ordered[met]), ordered[met].why())
	}
	for _, l := range ordered[met+1:] {
		if l.outcome != experiment.Met {
			return fmt.Sprintf("%s; %s at %s: %s", text, l.outcome, at(l), l.why())
		}
	}
	return text + "; no larger one was tried"
}

// fewestOfARate are requests: of fewer the rate says nothing.
const fewestOfARate = 20

// sent is the rate that stands beside a multiple, such as a speed: nobody can plan with "1.5". Empty where the level is a rate itself.
func (l level) sent(variable string) string {
	rate, is := l.figures["sent_per_s"].(float64)
	if n, _ := l.figures["requests"].(int64); !is || n < fewestOfARate || variable == "request-rate" {
		return ""
	}
	return fmt.Sprintf(", %s requests/s sent", show.Figures(rate))
}

// metLevels lists the levels by outcome, where they have no order.
func metLevels(variable string, levels []level) string {
	var parts []string
	for _, outcome := range []experiment.Outcome{experiment.Met, experiment.NotMet, experiment.Undecided, experiment.Invalid, experiment.NotTakenIn} {
		var values []string
		for _, l := range levels {
			if l.outcome == outcome {
				values = append(values, l.value)
			}
		}
		if len(values) > 0 {
			parts = append(parts, fmt.Sprintf("%s: %s", outcome, strings.Join(values, ", ")))
		}
	}
	return fmt.Sprintf("SLO by %s: %s", variable, strings.Join(parts, "; "))
}

// legend says what the numbered objectives are.
func legend(levels []level) (notes []string) {
	for _, l := range levels {
		if len(l.objectives) == 0 {
			continue
		}
		for i, o := range l.objectives {
			notes = append(notes, fmt.Sprintf("%d: %s at most %s", i+1, o.Objective, written(o.Metric, o.AtMost)))
		}
		return notes
	}
	return nil
}

// sloForms have a mark for each objective. The narrower name objectives by their numbers, and the narrowest leaves out what was observed.
func sloForms(variable string, levels []level) []analysis.Table {
	full, marksOnly := answers.TableOf(variable, "req/s", "tok/s"), answers.TableOf(variable)
	named := 0
	for _, l := range levels {
		for i := named; i < len(l.objectives); i++ {
			full.Columns = append(full.Columns, fmt.Sprintf("%d %s", i+1, headOf(l.objectives[i])))
			marksOnly.Columns = append(marksOnly.Columns, strconv.Itoa(i+1))
			named++
		}
	}
	full.Columns = append(full.Columns, "SLO")
	marksOnly.Columns = append(marksOnly.Columns, "SLO")
	for _, l := range levels {
		row, short := []any{tables.Figure(l.value), l.figure("request_per_s"), l.figure("output_token_per_s")}, []any{tables.Figure(l.value)}
		for i := range named {
			cell, sign := "-", "-"
			if i < len(l.objectives) {
				cell, sign = signed(l.objectives[i]), signs[l.objectives[i].Outcome]
			}
			row, short = append(row, cell), append(short, sign)
		}
		full.Rows = append(full.Rows, append(row, Mark(string(l.outcome))))
		marksOnly.Rows = append(marksOnly.Rows, append(short, Mark(string(l.outcome))))
	}
	places := []int{0}
	for i := 3; i < len(full.Columns); i++ {
		places = append(places, i)
	}
	narrow := chosen(full, places...)
	numbered := chosen(narrow, seq(len(places))...)
	for i := range named {
		numbered.Columns[i+1] = strconv.Itoa(i + 1)
	}
	withRate := chosen(full, append([]int{0, 1}, places[1:]...)...)
	return []analysis.Table{full, withRate, narrow, numbered, marksOnly}
}

func seq(n int) (places []int) {
	for i := range n {
		places = append(places, i)
	}
	return places
}

// headOf is the head of an objective's column.
func headOf(o analysis.ObjectiveVerdict) string {
	if o.Metric == metric.FailureRatio {
		return "failures"
	}
	return o.Objective.String()
}

// signed is what was observed of an objective behind its sign.
func signed(o analysis.ObjectiveVerdict) string {
	if o.Observed == nil {
		return signs[o.Outcome] + " " + show.Count(o.Above) + " of " + show.Count(o.Samples)
	}
	return signs[o.Outcome] + " " + written(o.Metric, *o.Observed)
}

// figure is a rate of marts.steps.
func (l level) figure(column string) any {
	if rate, is := l.figures[column].(float64); is {
		return tables.Figure(show.Figures(rate))
	}
	return tables.Figure("-")
}

// plainForms are of an experiment without an SLO: latencies, and what was delivered.
func plainForms(variable string, levels []level) []analysis.Table {
	table := answers.TableOf(variable, "req/s", "tok/s", "p50 TTFT from due", "p99", "p50 TPOT", "p99", "run")
	for _, l := range levels {
		time := func(column string) *float64 {
			if seconds, is := l.figures[column].(float64); is {
				return &seconds
			}
			return nil
		}
		row := []any{tables.Figure(l.value), l.figure("request_per_s"), l.figure("output_token_per_s")}
		row = append(row, times(time("p50_ttft_from_due_s"), time("p99_ttft_from_due_s"))...)
		row = append(row, times(time("p50_tpot_s"), time("p99_tpot_s"))...)
		table.Rows = append(table.Rows, append(row, Mark(string(l.outcome))))
	}
	return []analysis.Table{table, chosen(table, 0, 1, 3, 4, 5, 6, 7), chosen(table, 0, 3, 4, 5, 6, 7), chosen(table, 0, 3, 5, 7)}
}

// knee names the level beyond which more load brings mostly waiting.
func knee(variable string, levels []level) []string {
	for _, l := range levels {
		if l.figures["is_knee"] == true {
			return []string{fmt.Sprintf("knee at %s %s: beyond it, added load brings less than half of the tokens/s that it brought at first", variable, l.value)}
		}
	}
	return nil
}
