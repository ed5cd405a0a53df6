package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Outcomes of an SLO and of each of its objectives, as marts.slo says them.
const (
	Met       = "met"
	NotMet    = "not met"
	Undecided = "undecided"
	Invalid   = "invalid" // neither pass nor fail
)

// SLOVerdict is what became of a run's SLO.
type SLOVerdict struct {
	Verdict
	Name       string // of the SLO
	Objectives []ObjectiveVerdict
	Outcome    string // empty: the run has no SLO, and did not fail
}

// ObjectiveVerdict is what became of one objective. A number that is nil is not known: there were
// too few samples. Times are seconds.
type ObjectiveVerdict struct {
	Objective
	Observed     *float64
	Low, High    *float64 // ends of its 95 % interval
	Samples      int64
	Above        int64 // of these, above the bound, or failed
	Outcome      string
	MoreRequests *int64 // about so many more would decide
}

// JudgeSLO gives a run's verdict by the SLO that it carries. A run without one has an empty
// Outcome, and FirstLine is that of its Verdict.
func JudgeSLO(ctx context.Context, db *sql.DB, runID string) (SLOVerdict, error) {
	verdict, err := Judge(ctx, db, runID)
	if err != nil {
		return SLOVerdict{}, err
	}
	v := SLOVerdict{Verdict: verdict}
	if err := v.objectives(ctx, db); err != nil {
		return SLOVerdict{}, fmt.Errorf("run %s: slo: %w", runID, err)
	}
	v.Outcome = v.worst()
	return v, nil
}

func (v *SLOVerdict) objectives(ctx context.Context, db *sql.DB) error {
	// The SLO's own text is asked first: judging it is dear, and most runs have none.
	var planned int64
	err := db.QueryRowContext(ctx, "select count(*) from staging.slo_objectives where run_id = $1", v.RunID).Scan(&planned)
	if err != nil || planned == 0 {
		return err
	}
	rows, err := db.QueryContext(ctx, `
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
    above,
    outcome,
    more_requests
from marts.slo
where run_id = $1
order by objective`, v.RunID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var o ObjectiveVerdict
		err := rows.Scan(&v.Name, &o.Metric, &o.Percentile, &o.AtMost, &o.Class, &o.Observed, &o.Low, &o.High,
			&o.Samples, &o.Above, &o.Outcome, &o.MoreRequests)
		if err != nil {
			return err
		}
		v.Objectives = append(v.Objectives, o)
	}
	return rows.Err()
}

// worst is the outcome of the whole: one objective that is not met decides it, then one that is undecided.
func (v SLOVerdict) worst() string {
	switch {
	case len(v.Objectives) == 0 && v.IsValid && v.HasFailed:
		return NotMet
	case len(v.Objectives) == 0:
		return ""
	case !v.IsValid:
		return Invalid
	case v.HasFailed || len(v.having(NotMet)) > 0:
		return NotMet
	case len(v.having(Undecided)) > 0:
		return Undecided
	}
	return Met
}

func (v SLOVerdict) having(outcome string) []ObjectiveVerdict {
	var found []ObjectiveVerdict
	for _, o := range v.Objectives {
		if o.Outcome == outcome {
			found = append(found, o)
		}
	}
	return found
}

// FirstLine says what became of the SLO, and then what the run's own first line says. Where too many requests failed, that
// comes before the SLO.
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
	return strings.Join([]string{slo, v.lead(), v.figures()}, "; ")
}

// outcomeText is the outcome in words; what would decide it is as much as the slowest objective wants.
func (v SLOVerdict) outcomeText(said []ObjectiveVerdict) string {
	if v.Outcome != Undecided {
		return v.Outcome
	}
	most, onBound := int64(0), 0
	for _, o := range said {
		if o.MoreRequests == nil {
			onBound++
		} else {
			most = max(most, *o.MoreRequests)
		}
	}
	text := v.Outcome
	switch most {
	case 0:
	case 1:
		text += ", about 1 more request"
	default:
		text += fmt.Sprintf(", about %s more requests", thousands(most))
	}
	switch {
	case onBound == len(said):
		text += ", on the bound"
	case onBound > 0:
		text += fmt.Sprintf(", %d on the bound", onBound)
	}
	return text
}

// String says what was observed against the bound: p99 TTFT 812 ms (783 to 850 ms) of at most 1,000 ms.
func (o ObjectiveVerdict) String() string {
	write := milliseconds
	if o.Metric == failureRatio {
		write = percent
	}
	text := o.Objective.String()
	if o.Observed == nil {
		text += fmt.Sprintf(" withheld, of %s samples", thousands(o.Samples))
	} else {
		text += " " + write(o.Observed)
	}
	if o.Low != nil && o.High != nil {
		text += fmt.Sprintf(" (%s to %s)", write(o.Low), write(o.High))
	}
	return text + " of at most " + write(&o.AtMost)
}

func percent(share *float64) string { return digits(*share*100) + " %" }

// thousands writes a whole number with commas between thousands.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Certificate is what could make a run's numbers wrong, line by line, as marts.certificate says it.
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
