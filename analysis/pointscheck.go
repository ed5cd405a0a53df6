package analysis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
)

// CheckNames says which of a point's words the model would read over.
func (p Point) CheckNames() error {
	if engine := p.Deployment.Normal().Engine; engine != "" && !slices.Contains(deployment.Engines, engine) {
		return hint.Misuse("no engine named %q: known are %s", engine, strings.Join(deployment.Engines, ", "))
	}
	if rate := p.AcceptanceRate; rate != nil && *rate != 0 && p.Drafts == 0 {
		return hint.Misuse("an acceptance rate of %v without speculative tokens: how many are guessed a step is missing", *rate)
	}
	return nil
}

// checkLength refuses a longest request that the model was not made for, as engines do.
func checkLength(ctx context.Context, db *sql.DB, d deployment.Deployment) error {
	if d.MaxModelLen == 0 {
		return nil
	}
	model, err := readModel(ctx, db, d.CatalogModel)
	if err != nil {
		return err
	}
	var most sql.NullInt64
	err = db.QueryRowContext(ctx, "select max_context_tokens from macros.models_named(?)", model).Scan(&most)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // an unknown model is said elsewhere
	}
	if err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	d.CatalogModel = model
	if most.Valid && most.Int64 > 0 && int64(d.MaxModelLen) > most.Int64 {
		return hint.Errorf("max_model_len: %d tokens are more than the context of %s, %d", d.MaxModelLen, d.ModelName(), most.Int64).
			Hint("take at most the model's context, or leave it out")
	}
	return nil
}

// lengthChecks asks once for what many rows have in common.
type lengthChecks map[string]error

func (known lengthChecks) of(ctx context.Context, db *sql.DB, d deployment.Deployment) (why, err error) {
	if d.MaxModelLen == 0 {
		return nil, nil
	}
	key := fmt.Sprint(d.MaxModelLen, d.CatalogModel)
	why, asked := known[key]
	if !asked {
		why = checkLength(ctx, db, d)
		known[key] = why
	}
	var answer *hint.Error
	if why != nil && !errors.As(why, &answer) {
		return nil, why
	}
	return why, nil
}
