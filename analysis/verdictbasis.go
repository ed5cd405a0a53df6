//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"tidemark/internal/show"
)

// What a run's comparison with the prediction depends on. "1.3 times the prediction" means something else if others used the server, if
// constants were calibrated, or if a simulator answered with the prediction's own numbers. A verdict says so in its notes, and if there is
// no prediction it says why.

// OfSimulator is said with every comparison of a simulated server with the prediction, so that nobody reads it as a proof of the model.
const OfSimulator = "the simulator takes its times from the macros of the prediction, so that their agreement proves nothing about a GPU"

// readBasis finds what the comparison with the prediction depends on, or why there is none. A draft has no comparison, so only its server and
// whether that was shared are looked at.
func (v *Verdict) readBasis(ctx context.Context, db *sql.DB) error {
	shared, err := sharedNote(ctx, db, v.RunID)
	if err != nil {
		return err
	}
	if shared != "" {
		v.Notes = append(v.Notes, shared)
	}
	if err := v.readOtherModels(ctx, db); err != nil {
		return err
	}
	processes, err := processesNote(ctx, db, v.RunID)
	if err != nil {
		return err
	}
	if processes != "" {
		v.Notes = append(v.Notes, processes)
	}
	if v.IsSimulated && v.SlowdownRatio != nil {
		v.Notes = append(v.Notes, OfSimulator)
	}
	if v.IsDraft {
		return nil
	}
	var calibration sql.NullString
	var drafts int64
	if err := db.QueryRowContext(ctx, "select speculative_tokens from staging.runs where run_id = ?", v.RunID).Scan(&drafts); err != nil {
		return err
	}
	if drafts > 0 {
		v.Unknown = fmt.Sprintf("its server guesses %s ahead in a step, and nothing is predicted of that: marts.speculation has what it brings", show.Things(drafts, "token", "tokens"))
		return nil
	}
	err = db.QueryRowContext(ctx, "select calibration from staging.deployments where run_id = ?", v.RunID).Scan(&calibration)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		v.Unknown, err = unknownOfRun(ctx, db, v.RunID)
		return err
	case err != nil:
		return err
	case calibration.String != "":
		v.Notes = append(v.Notes, "constants: "+calibration.String)
	}
	return nil
}

// sharedNote says that others used the server, and how the run compares with the prediction at the batch that the server's metrics show. It
// is empty if the run had the server to itself. Seen from the client alone such a run looks slower than predicted, because others' requests
// made the batch larger.
func sharedNote(ctx context.Context, db *sql.DB, run string) (string, error) {
	var server, own float64
	err := db.QueryRowContext(ctx, "select server_in_flight, own_in_flight from marts.shared_servers where run_id = ? and is_shared", run).Scan(&server, &own)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	note := fmt.Sprintf("the server was shared: %s of %s in flight were ours", show.Figures(own), show.Figures(server))
	var judged *float64
	err = db.QueryRowContext(ctx, `
select median(slowdown_ratio)
from marts.tpot_gap_judged
where run_id = ?
    and batch_from = 'server metrics'`, run).Scan(&judged)
	if err != nil || judged == nil {
		return note, err
	}
	return note + fmt.Sprintf("; judged by its metrics the median is %s times the prediction", show.Figures(*judged)), nil
}

// readOtherModels finds the models that classes asked for instead of the run's own, and how they compare with their own predictions.
func (v *Verdict) readOtherModels(ctx context.Context, db *sql.DB) error {
	return db.QueryRowContext(ctx, `
select
    coalesce(any_value(runs.served_model), ''),
    coalesce(string_agg(
        coalesce(
            macros.figures(models.slowdown_ratio) || ' times of ' || models.model,
            'nothing is predicted of ' || models.model || coalesce(': ' || models.unpredicted_because, '')
        ),
        '; ' order by models.model
    ), '')
from marts.served_models as models
inner join staging.runs on runs.run_id = models.run_id and runs.served_model <> models.model
where models.run_id = ?`, v.RunID).Scan(&v.PredictedModel, &v.OtherModels)
}

// unmodelledOf says what the server of a run runs with that no model has; empty: nothing.
func unmodelledOf(ctx context.Context, db *sql.DB, run string) (why string, err error) {
	err = db.QueryRowContext(ctx, "select coalesce('its server runs with ' || unmodelled || ', which is not modelled', '') from staging.runs where run_id = ?", run).Scan(&why)
	return why, err
}

// unknownOfRun names what the model lacks: what the server of a run runs with, or a GPU, model or format. It is empty if it has all of them.
func unknownOfRun(ctx context.Context, db *sql.DB, run string) (string, error) {
	if why, err := unmodelledOf(ctx, db, run); err != nil || why != "" {
		return why, err
	}
	var t RunTraffic
	if err := t.readManifest(ctx, db, run); err != nil {
		return "", err
	}
	if _, err := Resolve(ctx, db, t.Deployment); err != nil {
		return err.Error(), nil
	}
	return "", nil
}

// processesNote says that the server was started again during the run, or that several servers answer at one address; empty: neither.
func processesNote(ctx context.Context, db *sql.DB, runID string) (string, error) {
	var several, restarts int64
	err := db.QueryRowContext(ctx, "select count(*) filter (where is_several), coalesce(sum(restarts), 0)::bigint from marts.server_processes where run_id = ?", runID).Scan(&several, &restarts)
	switch {
	case err != nil:
		return "", err
	case several > 0:
		return "more than one server answers at the address of the metrics: what they count is left out", nil
	case restarts > 0:
		return "the server was restarted during the run", nil
	}
	return "", nil
}
