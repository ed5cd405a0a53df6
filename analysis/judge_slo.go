package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"tidemark/analysis/metric"
	"tidemark/internal/show"
)

// marts.slo judges each objective by the interval of what was observed, not by the observed value: an objective is met or not met only if
// the whole interval is on one side of the bound. marts.verdicts makes one outcome of them; this file makes one line.

// Outcomes of an SLO and of each of its objectives, in the words of marts.slo.
const (
	Met       = "met"
	NotMet    = "not met"
	Undecided = "undecided"
	Invalid   = "invalid" // neither pass nor fail
)

// SLOVerdict is a run's verdict together with its SLO's.
type SLOVerdict struct {
	Verdict
	Name       string // of the SLO
	Objectives []ObjectiveVerdict
	Outcome    string   // as marts.verdicts; empty: the run is valid, has no SLO and did not fail
	Cost       *float64 // of a million accepted output tokens, by the SLO's own price; nil without a price, or if the SLO is not met
}

// ObjectiveVerdict is the outcome of one objective. A number that is nil is not known: there were too few samples, or too few
// independent bursts among them. Times are seconds. Samples and EffectiveSamples both appear in the text, because a reader who sees only
// the first would wonder why 2,283 samples do not decide.
type ObjectiveVerdict struct {
	Objective
	Observed         *float64
	Low, High        *float64 // ends of its 90 % interval
	Samples          int64
	EffectiveSamples int64 // effective sample size: slow requests come in bursts, so samples are not independent
	Above            int64 // samples above the bound, or failed
	Outcome          string
	Reason           string // why undecided, as marts.slo says it
	MoreRequests     *int64 // about so many more would decide it
}

// Reasons of marts.slo for an undecided outcome that the first line mentions: the run ended early, slow requests came in too few bursts for
// an interval, the answers came whole, or the observed value is so near the bound that no number of requests would decide.
const (
	stopped   = "stopped"
	fewBursts = "too few bursts"
	cameWhole = "came whole"
	onBound   = "on the bound"
)

// usualLimit is the reason of an outcome that no objective of the SLO decided, but the share of failures that every run is allowed.
const usualLimit = "the limit where an SLO has no failure_ratio"

// JudgeSLO gives a run's verdict by the SLO that is stored with it. A run without one has an empty Outcome and the FirstLine of its
// Verdict.
func JudgeSLO(ctx context.Context, db *sql.DB, runID string) (SLOVerdict, error) {
	verdict, err := Judge(ctx, db, runID)
	if err != nil {
		return SLOVerdict{}, err
	}
	v := SLOVerdict{Verdict: verdict}
	if err := v.objectives(ctx, db); err != nil {
		return SLOVerdict{}, fmt.Errorf("run %s: slo: %w", runID, err)
	}
	if err := v.usualLimit(ctx, db); err != nil {
		return SLOVerdict{}, fmt.Errorf("run %s: failures: %w", runID, err)
	}
	if err := db.QueryRowContext(ctx, "select coalesce(outcome, '') from marts.verdicts where run_id = $1", runID).Scan(&v.Outcome); err != nil {
		return SLOVerdict{}, fmt.Errorf("run %s: outcome: %w", runID, err)
	}
	if err := v.cost(ctx, db); err != nil {
		return SLOVerdict{}, fmt.Errorf("run %s: cost: %w", runID, err)
	}
	return v, nil
}

// verdictReads is what JudgeSLO and Judge read: most of what is kept of a run is not worked out for a verdict alone.
const verdictReads = "from marts.runs, marts.failures, marts.slo, marts.verdicts, marts.goodput, marts.shared_servers, marts.tpot_gap_judged, marts.served_models, " +
	"marts.server_processes, staging.runs, staging.requests, staging.slo_objectives, staging.deployments"

// cost is asked only for a run that met an SLO with a price: marts.goodput judges the SLO a second time, which is expensive, and for an SLO
// that is not met it gives no cost.
func (v *SLOVerdict) cost(ctx context.Context, db *sql.DB) error {
	var isPriced bool
	err := db.QueryRowContext(ctx, "select count(price_per_gpu_hour) > 0 from staging.slo_objectives where run_id = $1", v.RunID).Scan(&isPriced)
	if err != nil || !isPriced || v.Outcome != Met {
		return err
	}
	return db.QueryRowContext(ctx, "select cost_per_million_accepted_tokens from marts.goodput where run_id = $1", v.RunID).Scan(&v.Cost)
}

// objectives reads the outcome of each objective.
func (v *SLOVerdict) objectives(ctx context.Context, db *sql.DB) error {
	// Judging is expensive and most runs have no SLO: look for one first.
	var planned int64
	err := db.QueryRowContext(ctx, "select count(*) from staging.slo_objectives where run_id = $1", v.RunID).Scan(&planned)
	if err != nil || planned == 0 {
		return err
	}
	return each(ctx, db, `
select
    coalesce(slo_name, ''),
    metric,
    coalesce(percentile, 0),
    at_most,
    coalesce(class, ''),
    observed,
    low,
    high,
    samples,
    effective_samples,
    above,
    outcome,
    coalesce(reason, ''),
    more_requests
from marts.slo
where run_id = $1
order by objective`, []any{v.RunID}, func(scan func(...any) error) error {
		var o ObjectiveVerdict
		err := scan(&v.Name, &o.Metric, &o.Percentile, &o.AtMost, &o.Class, &o.Observed, &o.Low, &o.High,
			&o.Samples, &o.EffectiveSamples, &o.Above, &o.Outcome, &o.Reason, &o.MoreRequests)
		v.Objectives = append(v.Objectives, o)
		return err
	})
}

// usualLimit adds an objective where too many requests failed by a limit that the SLO does not have. Without it the SLO would not be met while
// each of its objectives is.
func (v *SLOVerdict) usualLimit(ctx context.Context, db *sql.DB) error {
	if !v.HasFailed || len(v.Objectives) == 0 {
		return nil
	}
	o := ObjectiveVerdict{Objective: Objective{Metric: metric.FailureRatio}, Outcome: NotMet, Reason: usualLimit}
	err := db.QueryRowContext(ctx, `
select
    coalesce(any_value(runs.failure_limit_ratio), 0),
    count(*),
    count(*) filter (where requests.failure is not null or not requests.is_sent),
    any_value(runs.failed_ratio)
from staging.requests
inner join staging.runs as ended on ended.run_id = requests.run_id
inner join marts.runs on runs.run_id = requests.run_id
where requests.run_id = $1
    and not requests.is_warm_up
    and macros.is_tried(requests.is_sent, requests.failure, ended.stopped_by)
    and not exists (from staging.slo_objectives where run_id = $1 and metric = 'failure_ratio' and class is null)`,
		v.RunID).Scan(&o.AtMost, &o.Samples, &o.Above, &o.Observed)
	if err != nil || o.Observed == nil || *o.Observed <= o.AtMost { // the server ended the run, or the SLO has a limit
		return err
	}
	o.EffectiveSamples = o.Samples
	v.Objectives = append(v.Objectives, o)
	return nil
}

// having are the objectives with an outcome.
func (v SLOVerdict) having(outcome string) []ObjectiveVerdict {
	var found []ObjectiveVerdict
	for _, o := range v.Objectives {
		if o.Outcome == outcome {
			found = append(found, o)
		}
	}
	return found
}

// FirstLine says whether the SLO is met, with the objectives that decided it, and then what the run's own first line says. If too many requests
// failed, that comes first.
func (v SLOVerdict) FirstLine() string {
	if v.Outcome == Invalid || len(v.Objectives) == 0 {
		return v.Verdict.FirstLine()
	}
	said := v.having(v.Outcome)
	texts := make([]string, len(said))
	for i, o := range said {
		texts[i] = o.String()
	}
	if len(texts) == 0 {
		texts = []string{"too many requests failed"}
	}
	slo := fmt.Sprintf("SLO %s %s: %s", v.Name, v.outcomeText(said), strings.Join(texts, ", "))
	if v.IsOverLimit {
		return strings.Join([]string{v.lead(), slo, v.figures()}, "; ")
	}
	if v.Cost != nil {
		slo += "; " + show.Figures(*v.Cost) + " per million accepted output tokens"
	}
	return strings.Join([]string{slo, v.lead(), v.figures()}, "; ")
}

// Headline is FirstLine without its figures, for a reader who sees them in a table: whether the run can be trusted, and whether the SLO is met.
func (v SLOVerdict) Headline() string {
	if v.Outcome == Invalid || len(v.Objectives) == 0 {
		return v.lead()
	}
	slo := fmt.Sprintf("SLO %s %s", v.Name, v.outcomeText(v.having(v.Outcome)))
	if v.IsOverLimit {
		return v.lead() + "; " + slo
	}
	if v.Cost != nil {
		slo += "; " + show.Figures(*v.Cost) + " per million accepted output tokens"
	}
	return slo + "; " + v.lead()
}

// Open are the objectives that keep the SLO from being met, each with what was observed, its interval and its samples.
func (v SLOVerdict) Open() []ObjectiveVerdict {
	if v.Outcome == Met || v.Outcome == Invalid {
		return nil
	}
	return v.having(v.Outcome)
}

// outcomeText is the outcome in words. If it is undecided, it says how many more requests would decide it: as many as the objective that needs
// most. An objective on its bound is named instead, because no number of requests would decide that one.
func (v SLOVerdict) outcomeText(said []ObjectiveVerdict) string {
	if v.Outcome != Undecided {
		return v.Outcome
	}
	most, seen, reasons := int64(0), int64(0), map[string]int{}
	for _, o := range said {
		reasons[o.Reason]++
		if o.MoreRequests != nil && *o.MoreRequests > most {
			most, seen = *o.MoreRequests, int64(o.Samples)
		}
	}
	text := v.Outcome
	if reasons[fewBursts] > 0 {
		text += ", too few independent bursts to tell"
	}
	switch most {
	case 0:
	case 1:
		text += ", about 1 more request"
	default:
		text += fmt.Sprintf(", about %s more requests", wholeFigures(most))
		if seen > 0 && most > 100*seen { // so few samples lie near the bound by chance
			text += fmt.Sprintf(" as far as %s tell", show.Things(seen, "sample", "samples"))
		}
	}
	if reasons[cameWhole] > 0 {
		text += ", answers came whole"
	}
	if reasons[stopped] > 0 {
		text += ", the run was stopped before its end"
	}
	switch n := reasons[onBound]; {
	case n == len(said):
		text += ", on the bound"
	case n > 0:
		text += fmt.Sprintf(", %d on the bound", n)
	}
	return text
}

// String says what was observed against the bound, how sure that is, and on how many samples it rests:
// p99 TTFT from due 812 ms (783 to 850 ms) of at most 1.00 s (2,283 samples, worth 640 independent ones).
func (o ObjectiveVerdict) String() string {
	write := show.Duration
	if o.Metric == metric.FailureRatio {
		write = show.Percent
	}
	text := o.Objective.String()
	switch {
	case o.Observed == nil && o.Outcome == NotMet:
		return fmt.Sprintf("%s: %s of %s beyond %s", text, show.Count(o.Above), show.Count(o.Samples), write(o.AtMost))
	case o.Reason == cameWhole:
		return fmt.Sprintf("%s unknown, answers came whole, of at most %s", text, write(o.AtMost))
	case o.Observed == nil:
		return fmt.Sprintf("%s withheld, of %s samples, of at most %s", text, show.Count(o.Samples), write(o.AtMost))
	}
	if o.Reason == usualLimit {
		return fmt.Sprintf("%s %s of at most %s, %s (%s)", text, write(*o.Observed), write(o.AtMost), usualLimit, o.basis())
	}
	interval := "no interval"
	switch {
	case o.Low == nil || o.High == nil:
	case o.Metric == metric.FailureRatio:
		interval = fmt.Sprintf("%s to %s", show.Percent(*o.Low), show.Percent(*o.High))
	default:
		interval = show.Range(*o.Low, *o.High)
	}
	return fmt.Sprintf("%s %s (%s) of at most %s (%s)", text, write(*o.Observed), interval, write(o.AtMost), o.basis())
}

// basis is how many samples the objective rests on, and their effective number.
func (o ObjectiveVerdict) basis() string {
	text := show.Count(o.Samples) + " samples"
	switch {
	case o.Metric == metric.FailureRatio:
		text = fmt.Sprintf("%s of %s failed", show.Count(o.Above), show.Count(o.Samples))
	case o.Low == nil || o.High == nil:
		text = fmt.Sprintf("%s of %s samples beyond", show.Count(o.Above), show.Count(o.Samples))
	}
	if o.EffectiveSamples < o.Samples {
		text += fmt.Sprintf(", worth %s independent ones", show.Count(o.EffectiveSamples))
	}
	return text
}

// Certificate lists everything that could make a run's numbers wrong, one line each, as marts.certificate judges it. It is for a reader who
// wants to know how far to trust the numbers, so lines that are in order are listed too.
func Certificate(ctx context.Context, db *sql.DB, runID string) (Table, error) {
	table, err := ask(ctx, db, `
select
    subject,
    measured,
    bound,
    outcome,
    meaning
from marts.certificate
where run_id = $1
order by seq`, runID)
	if err != nil {
		return Table{}, fmt.Errorf("run %s: certificate: %w", runID, err)
	}
	if len(table.Rows) == 0 {
		return Table{}, unknown(ctx, db, "run", runID, knownRuns, "")
	}
	table.Name = "marts.certificate"
	return table, nil
}

// wholeFigures writes so many requests: all of a small number, three figures of a large one.
func wholeFigures(n int64) string {
	if n < 1000 {
		return show.Count(n)
	}
	return show.Figures(float64(n))
}
