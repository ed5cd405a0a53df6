package analysis

import (
	"cmp"
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
	why, err := lengthChecks{}.of(ctx, db, d)
	return cmp.Or(err, why)
}

// lengthChecks keeps what a model's context is, because many rows of a table have the same model.
type lengthChecks map[string]modelLength

type modelLength struct {
	name string        // as an error calls the model
	most sql.NullInt64 // tokens; null where the model is unknown, which is said elsewhere
	why  error         // the model cannot be read
}

// of says why a deployment's longest request is too long, if it is.
func (known lengthChecks) of(ctx context.Context, db *sql.DB, d deployment.Deployment) (why, err error) {
	if d.MaxModelLen == 0 {
		return nil, nil
	}
	length, asked := known[d.CatalogModel]
	if !asked {
		if length, err = lengthOf(ctx, db, d); err != nil {
			return nil, err
		}
		known[d.CatalogModel] = length
	}
	if most := length.most.Int64; most > 0 && int64(d.MaxModelLen) > most {
		return hint.Errorf("max_model_len: %d tokens are more than the context of %s, %d", d.MaxModelLen, length.name, most).
			Hint("take at most the model's context, or leave it out"), nil
	}
	return length.why, nil
}

func lengthOf(ctx context.Context, db *sql.DB, d deployment.Deployment) (length modelLength, err error) {
	model, err := readModel(ctx, db, d.CatalogModel)
	var answer *hint.Error
	if errors.As(err, &answer) {
		return modelLength{why: err}, nil
	}
	if err != nil {
		return length, err
	}
	d.CatalogModel = model
	length.name = d.ModelName()
	err = db.QueryRowContext(ctx, "select max_context_tokens from macros.models_named(?)", model).Scan(&length.most)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return length, fmt.Errorf("predict: %w", err)
	}
	return length, nil
}
