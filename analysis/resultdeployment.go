package analysis

import (
	"context"
	"database/sql"
	"fmt"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
)

// NameDeployment says what the results in some sources were measured on, because most tools do not write it into their files. What is said here
// comes before what a file says. marts.points then has a floor and a prediction for them. It counts the measurements; sources without any,
// such as metrics that were read from the same folder, are left alone.
func NameDeployment(ctx context.Context, db *sql.DB, sources []string, d deployment.Deployment) (points int64, err error) {
	if _, err := Resolve(ctx, db, d); err != nil {
		return 0, err
	}
	for _, source := range sources {
		result, err := db.ExecContext(ctx, `
update raw.points
set settings = json_merge_patch(coalesce(settings, '{}'::json), json_object('environment', ?::json))
where source_id in (select source_id from raw.sources where name = ?)`, d.SQL(), source)
		if err != nil {
			return 0, fmt.Errorf("source %s: %w", source, err)
		}
		changed, err := result.RowsAffected()
		if err != nil {
			return 0, fmt.Errorf("source %s: %w", source, err)
		}
		points += changed
	}
	if points == 0 {
		return 0, hint.Misuse("--environment: none of these files is a result of another tool").
			Hint("a run names its deployment when it is made; what a trace is replayed on is not known before")
	}
	return points, nil
}
