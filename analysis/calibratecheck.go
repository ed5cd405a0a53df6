package analysis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"tidemark/internal/escape"
	"tidemark/internal/hint"
)

// Which runs may calibrate. Every later prediction for the deployment uses the fitted constants, so a bad run would do harm for a long time,
// and this file is stricter than a verdict: a draft, a simulated server, an invalid or failed run, a shared server, a server with other
// settings than the run states, and speculative decoding are refused. Metrics that were not read and preemptions only warn.

// checkRuns refuses runs that cannot determine a deployment's constants, and warns about doubts that remain.
func checkRuns(ctx context.Context, db *sql.DB, runs []string) (warnings []string, err error) {
	for i, run := range runs {
		if slices.Contains(runs[:i], run) {
			return nil, hint.Misuse("run %s: named twice", run).Hint("name each run once")
		}
		if err := checkKind(ctx, db, run); err != nil {
			return nil, err
		}
	}
	deployments, err := readDeployed(ctx, db, runs)
	if err != nil {
		return nil, err
	}
	if err := sameDeployment(ctx, db, runs, deployments); err != nil {
		return nil, err
	}
	for _, run := range runs {
		verdict, err := Judge(ctx, db, run)
		if err != nil {
			return nil, err
		}
		if why := verdict.Unusable(); why != "" {
			return nil, hint.Errorf("run %s: not to be used: %s", run, why).Hint("%s", "tidemark runs "+escape.Shell(run))
		}
		warning, err := checkServer(ctx, db, run)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, warning...)
	}
	return warnings, nil
}

// checkKind refuses drafts, whose deployment is not known, and simulated servers. A simulator takes its times from the same macros as the
// prediction, so a calibration from it would find nothing but its own constants.
func checkKind(ctx context.Context, db *sql.DB, run string) error {
	var isSimulated, isDraft bool
	err := db.QueryRowContext(ctx, "select is_simulated, is_draft from staging.runs where run_id = ?", run).Scan(&isSimulated, &isDraft)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return unknown(ctx, db, "run", run, knownRuns, "")
	case err != nil:
		return fmt.Errorf("run %s: %w", run, err)
	}
	why, err := unmodelledOf(ctx, db, run)
	switch {
	case err != nil:
		return fmt.Errorf("run %s: %w", run, err)
	case why != "":
		return hint.Errorf("run %s: %s: there are no constants to fit", run, why).Hint("replay, search and report such a server without a prediction")
	case isDraft:
		return hint.Errorf("run %s: what it ran on is not known", run).
			Hint("send it again with --gpu and --catalog-model, or --environment FILE")
	case isSimulated:
		return hint.Errorf("run %s: measured on a simulated server", run).
			Hint("a simulator answers as the model predicts: only a real server can correct it")
	}
	return nil
}

// checkServer looks at what the server reported: whether others used it, whether it ran with other settings than the run states, and whether it
// decoded speculatively. Speculation is refused because a step then yields several tokens, and the terms are per step.
func checkServer(ctx context.Context, db *sql.DB, run string) (warnings []string, err error) {
	var isShared bool
	var theirs, ours float64
	err = db.QueryRowContext(ctx, "select is_shared, server_in_flight, own_in_flight from marts.shared_servers where run_id = ? and is_shared is not null", run).
		Scan(&isShared, &theirs, &ours)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		warnings = append(warnings, fmt.Sprintf("run %s: the server's metrics were not read; it is assumed that nobody else used it", run))
	case err != nil:
		return nil, fmt.Errorf("run %s: %w", run, err)
	case isShared:
		return nil, hint.Errorf("run %s: the server was shared: it had %.1f requests in flight, %.1f of them ours", run, theirs, ours).
			Hint("replay it when nobody else uses the server")
	}
	told, err := ask(ctx, db, `
select
    figure,
    value
from marts.evidence_server
where run_id = ?
    and value is not null
    and figure in ('differing_settings', 'acceptance_length', 'preemptions')`, run)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", run, err)
	}
	figures := map[string]float64{}
	for _, row := range told.Rows {
		figures[row[0].(string)] = row[1].(float64)
	}
	switch {
	case figures["differing_settings"] > 0:
		return nil, hint.Errorf("run %s: the server reports other settings than the environment of the run", run).
			Hint("%s", "tidemark diagnose "+escape.Shell(run)+" says which; send it again with what is true")
	case figures["acceptance_length"] > 0:
		return nil, hint.Errorf("run %s: the engine decoded speculatively, so that a token is not a step", run).
			Hint("replay it without speculative decoding")
	}
	if figures["preemptions"] > 0 {
		warnings = append(warnings, fmt.Sprintf("run %s: %.0f requests were preempted and computed again, which no term predicts", run, figures["preemptions"]))
	}
	return warnings, nil
}
