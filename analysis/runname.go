package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/hint"
)

// shortID is a run's id without the instant that it begins with.
const shortID = "regexp_replace(run_id, '^[0-9]{8}-[0-9]{6}-', '')"

// RunIDs gives for each of these the id of a run: what is an id stays, and a name (replay --name) or a short id stands for the one run that has
// it. What is nothing of that stays too, for whoever looks the run up says so.
func RunIDs(ctx context.Context, db *sql.DB, named []string) ([]string, error) {
	ids := slices.Clone(named)
	for i, name := range named {
		table, err := ask(ctx, db, `
select
    run_id,
    run_id = $1 as is_id
from staging.runs
where $1 in (run_id, name, `+shortID+`)
qualify run_id = $1 or coalesce(name = $1, false) = bool_or(coalesce(name = $1, false)) over ()
order by
    is_id desc,
    run_id`, name)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", name, err)
		}
		switch found := table.FirstColumn(); {
		case len(found) == 0 || table.At(0, "is_id") == true:
		case len(found) > 1:
			return nil, hint.Misuse("%d runs are named %q", len(found), name).Hint("give the id of one: %s", strings.Join(found, ", "))
		default:
			ids[i] = found[0]
		}
	}
	return ids, nil
}

// RunID is the id of the one run that is named so. Unlike RunIDs it refuses what no run has.
func RunID(ctx context.Context, db *sql.DB, named string) (string, error) {
	ids, err := RunIDs(ctx, db, []string{named})
	if err != nil {
		return "", err
	}
	return ids[0], RefuseUnknownRun(ctx, db, ids[0])
}

// RefuseUnknownRun refuses an id that no run has.
func RefuseUnknownRun(ctx context.Context, db *sql.DB, runID string) error {
	table, err := ask(ctx, db, "select run_id from staging.runs where run_id = ?", runID)
	if err != nil || len(table.Rows) > 0 {
		return err
	}
	return unknown(ctx, db, "run", runID, knownRuns, `"tidemark runs" lists them`)
}

// Subject gives the id of the run that a name stands for, for questions that take sources too: a source's own name stays what it is.
func Subject(ctx context.Context, db *sql.DB, named string) (string, error) {
	source, _, _ := strings.Cut(named, "#")
	table, err := ask(ctx, db, "select source_name from staging.sources where source_name in ($1, $2) limit 1", named, source)
	if err != nil || len(table.Rows) > 0 {
		return named, err
	}
	ids, err := RunIDs(ctx, db, []string{named})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}
