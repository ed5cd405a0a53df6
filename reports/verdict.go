package reports

import (
	"context"
	"database/sql"

	"tidemark/analysis"
)

func firstLine(ctx context.Context, db *sql.DB, runID string) (string, error) {
	verdict, err := analysis.Judge(ctx, db, runID)
	if err != nil {
		return "", err
	}
	return verdict.FirstLine(), nil
}
