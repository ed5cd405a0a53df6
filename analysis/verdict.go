package analysis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"tidemark/internal/show"
)

// A verdict in one line answers three questions in this order: may the run be believed, how fast was it, how far is it from the
// prediction. What makes a number doubtful is said before the number.
//
// A run is invalid if the client or its set-up distorted it, and failed if too many requests failed (marts.runs has the rules). The two are
// kept apart, because an invalid run says nothing about the server and a failed one does. A request that failed stays in every denominator
// and is named by its kind; latencies are those of the other requests. A server's own error text is shown once, for the commonest kind.

// A p99 of fewer samples than withheldBelow is withheld: not even one lies beyond it. Below flaggedBelow it rests on fewer than five, and
// the line says so.
const (
	withheldBelow = 100
	flaggedBelow  = 500
)

// knownRuns are offered when a run is not found: the latest, by the names that their users gave.
const knownRuns = `
select coalesce(nullif(name, ''), run_id) as known
from staging.runs
group by known
order by max(started_at) desc
limit 10`

// Verdict is a run in a few numbers. A number that is nil was not measured, or is withheld. Times are seconds.
type Verdict struct {
	RunID          string
	MeasuredOn     string
	IsSimulated    bool
	IsDraft        bool   // not compared with the prediction: its GPU or model is not known
	IsValid        bool   // neither the client nor the set-up distorted it
	InvalidReason  string // why not
	HasFailed      bool   // more requests failed than are allowed
	IsOverLimit    bool   // the same, also if an SLO has a failure_ratio of its own and so decides about failures
	StopReason     string // why it ended before its plan; empty: it did not
	Absences       string // which of its servers went away and when; empty: none did
	IsBelowFloor   bool   // more than 1 % of its requests beat the floor, which is impossible: the deployment is not the one that was named
	Status         string // running, done, interrupted or aborted
	Planned        int64
	Completed      int64
	Shortfall      string // what failed, by kind: 166 of 250 failed (155 timeout_first_byte, 11 not sent); empty: nothing
	MostFailed     string // the commonest kind of failure; empty: none failed
	MostFailedBy   int64  // requests that failed this way
	Example        string // what the server said of the first of them
	P50TTFTS       *float64
	P99TTFTS       *float64
	P50TPOTS       *float64
	P99TPOTS       *float64
	SlowdownRatio  *float64 // median of measured over predicted time per token
	PredictedModel string   // the only model that the prediction is of; empty where all requests asked for it
	OtherModels    string   // those that classes asked for instead, each with its own prediction or why it has none, in words
	CountsNoTokens bool     // the server did not say how many tokens a successful request brought, so TPOT is unknown
	Whole          int64    // answers of two tokens or more that came at once: of them no time per token is known
	NeverKept      int64    // requests that a closed loop should have kept in flight, if its plan was too short for that; else 0
	Unknown        string   // what the catalogue lacks of its deployment, if that is why there is no prediction
	Notes          []string // what the comparison depends on: a server that others used, constants of a calibration
}

// Judge gives a run's verdict without its SLO, which JudgeSLO adds. All figures are from marts.runs, so that a report and a verdict agree.
func Judge(ctx context.Context, db *sql.DB, runID string) (Verdict, error) {
	v := Verdict{RunID: runID}
	err := db.QueryRowContext(ctx, `
with commonest_failure as (
    select
        run_id,
        failure,
        requests,
        example
    from marts.failures
    where run_id = $1
    order by
        requests desc,
        failure
    limit 1
)

select
    runs.measured_on,
    runs.is_simulated,
    runs.is_draft,
    runs.is_valid,
    coalesce(runs.invalid_reason, ''),
    runs.has_failed,
    coalesce(runs.is_valid and (runs.has_failed or runs.failed_ratio > runs.failure_limit_ratio), false),
    coalesce(runs.stop_reason, ''),
    coalesce(runs.absences, ''),
    coalesce(runs.shortfall, ''),
    coalesce(runs.below_floor > 1e-2 * runs.completed, false),
    coalesce(runs.status, ''),
    runs.planned,
    runs.completed,
    coalesce(commonest_failure.failure, ''),
    coalesce(commonest_failure.requests, 0),
    coalesce(commonest_failure.example, ''),
    runs.p50_ttft_s,
    runs.p99_ttft_s,
    runs.p50_tpot_s,
    runs.p99_tpot_s,
    runs.slowdown_ratio,
    -- A closed loop in which no slot was used twice did not keep the concurrency that was asked for.
    case when runs.mode = 'closed' and runs.sent > 0 and runs.kept_concurrency_ratio is null then coalesce(runs.max_concurrency, 0) else 0 end,
    exists (from staging.requests where requests.run_id = runs.run_id and requests.is_success and requests.received_tokens is null),
    (select count(*) from staging.requests where requests.run_id = runs.run_id and requests.is_success and requests.is_whole and not requests.is_warm_up)
from marts.runs
left join commonest_failure using (run_id)
where runs.run_id = $1`, runID).Scan(
		&v.MeasuredOn, &v.IsSimulated, &v.IsDraft, &v.IsValid, &v.InvalidReason, &v.HasFailed, &v.IsOverLimit,
		&v.StopReason, &v.Absences, &v.Shortfall, &v.IsBelowFloor, &v.Status, &v.Planned, &v.Completed,
		&v.MostFailed, &v.MostFailedBy, &v.Example,
		&v.P50TTFTS, &v.P99TTFTS, &v.P50TPOTS, &v.P99TPOTS, &v.SlowdownRatio, &v.NeverKept, &v.CountsNoTokens, &v.Whole,
	)
	if errors.Is(err, sql.ErrNoRows) {
		return Verdict{}, unknown(ctx, db, "run", runID, knownRuns, "")
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("run %s: %w", runID, err)
	}
	if err := v.readBasis(ctx, db); err != nil {
		return Verdict{}, fmt.Errorf("run %s: %w", runID, err)
	}
	return v, nil
}

// FirstLine says whether the run failed or is invalid, then p99 TTFT and TPOT, then how far it is from the prediction, and last
// what it was measured on.
func (v Verdict) FirstLine() string { return v.lead() + "; " + v.figures() }

// Unusable says why the run's figures are not those of the planned load: the run is invalid, or too many requests failed, and then why it
// stopped or which server went away, if that is known. It is empty if the figures are usable.
func (v Verdict) Unusable() string {
	switch {
	case !v.IsValid:
		return v.InvalidReason
	case v.HasFailed && v.StopReason != "":
		return v.Shortfall + ": " + v.StopReason
	case v.HasFailed && v.Absences != "":
		return v.Shortfall + ": " + v.Absences
	case v.HasFailed:
		return v.Shortfall
	}
	return ""
}

// lead is what a reader must know before the figures. If requests beat the floor, that comes before "invalid", because then the named
// deployment is wrong and the reader can put that right.
func (v Verdict) lead() string {
	switch {
	case !v.IsValid && v.IsBelowFloor:
		return v.InvalidReason + "; invalid, neither pass nor fail"
	case !v.IsValid:
		return "invalid, neither pass nor fail: " + v.InvalidReason
	case v.HasFailed:
		return v.Unusable()
	case v.IsOverLimit:
		return v.Shortfall
	case v.isWhole():
		return fmt.Sprintf("valid, but %d of %d answers came whole, as through a proxy that buffers: TPOT and ITL are not known", v.Whole, v.Completed)
	}
	return "valid"
}

// isWhole says that most answers came at once. A few do anyway: short ones of a fast server.
func (v Verdict) isWhole() bool { return 2*v.Whole > v.Completed }

// figures are the latencies, the comparison with the prediction, and what the reader must know about these.
func (v Verdict) figures() string {
	parts := v.latencies()
	if v.IsOverLimit && v.P50TTFTS != nil {
		parts[0] = "the others: " + parts[0]
	}
	return strings.Join(append(append(parts, v.Remarks()...), v.MeasuredOn), "; ")
}

// Remarks are what a reader of the latencies must know: how far they are from the prediction, and what they depend on.
func (v Verdict) Remarks() (parts []string) {
	if !v.IsBelowFloor { // the prediction is for another deployment than the one that was measured
		parts = append(parts, v.comparison())
	}
	parts = append(parts, v.Notes...)
	if v.NeverKept > 0 {
		parts = append(parts, fmt.Sprintf("the plan is too short to keep %d in flight: no slot was used twice", v.NeverKept))
	}
	if v.Absences != "" && !v.HasFailed {
		parts = append(parts, v.Absences)
	}
	switch {
	case v.IsOverLimit && v.Example != "":
		parts = append(parts, fmt.Sprintf("%s: %s", v.MostFailed, v.Example))
	case v.IsOverLimit:
	case v.Completed < v.Planned:
		parts = append(parts, v.shortfall())
	}
	return parts
}

// shortfall says how many requests did not complete, and why most of them did not. It is for a run that is within its limit of failures: one
// that is over it says more, in Shortfall.
func (v Verdict) shortfall() string {
	text := fmt.Sprintf("%d of %d requests completed", v.Completed, v.Planned)
	if v.Status == "interrupted" {
		text += " before the run was interrupted"
	}
	if v.MostFailed != "" {
		text += fmt.Sprintf(", %d failed by %s", v.MostFailedBy, v.MostFailed)
	}
	if v.Example != "" {
		text += fmt.Sprintf(" (%s)", v.Example)
	}
	return text
}

// latencies are p99 if there are enough samples, else medians, with a word about how few samples there were.
func (v Verdict) latencies() []string {
	switch {
	case v.P50TTFTS == nil:
		return []string{"no latency measured"}
	case v.Completed < withheldBelow || v.P99TTFTS == nil:
		return []string{fmt.Sprintf("p50 TTFT %s, p50 TPOT %s (p99 withheld below %d samples: %d)",
			shownTime(v.P50TTFTS), v.shownTPOT(v.P50TPOTS), withheldBelow, v.Completed)}
	case v.Completed < flaggedBelow:
		return []string{fmt.Sprintf("p99 TTFT %s, p99 TPOT %s (of %d samples only)",
			shownTime(v.P99TTFTS), v.shownTPOT(v.P99TPOTS), v.Completed)}
	default:
		return []string{fmt.Sprintf("p99 TTFT %s, p99 TPOT %s", shownTime(v.P99TTFTS), v.shownTPOT(v.P99TPOTS))}
	}
}

// comparison is the median over requests of measured / predicted time per token, or the reason why there is none.
func (v Verdict) comparison() string {
	switch {
	case v.IsDraft:
		return "a draft, not compared with the prediction"
	case v.SlowdownRatio == nil && v.isWhole():
		return "no time per token to compare with the prediction"
	case v.SlowdownRatio == nil && v.Unknown != "":
		return "no prediction for this deployment: " + v.Unknown
	case v.SlowdownRatio == nil:
		return "no prediction for this deployment"
	case v.OtherModels != "":
		return fmt.Sprintf("time per token %s times the prediction (median of the requests to %s; %s)",
			show.Figures(*v.SlowdownRatio), v.PredictedModel, v.OtherModels)
	default:
		return fmt.Sprintf("time per token %s times the prediction (median)", show.Figures(*v.SlowdownRatio))
	}
}

// shownTPOT writes a TPOT. If the server counted no tokens it says that this is why TPOT is unknown: neither usage nor token ids came,
// as from a plain OpenAI server without stream_options.
func (v Verdict) shownTPOT(s *float64) string {
	if s == nil && v.CountsNoTokens {
		return "unknown (the server does not say how many tokens it sent)"
	}
	return shownTime(s)
}

// shownTime writes a time that may not be known.
func shownTime(s *float64) string {
	if s == nil {
		return "unknown"
	}
	return show.Duration(*s)
}
