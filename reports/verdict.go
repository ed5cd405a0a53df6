package reports

import (
	"context"
	"database/sql"

	"tidemark/analysis"
)

// judge gives a run its first line, which starts with its SLO if it has one.
func (run *Run) judge(ctx context.Context, db *sql.DB) error {
	verdict, err := analysis.JudgeSLO(ctx, db, run.ID)
	if err != nil {
		return err
	}
	run.Verdict = verdict
	run.FirstLine, run.HasSLO = verdict.FirstLine(), len(verdict.Objectives) > 0
	run.Notes = verdict.Notes
	return nil
}
