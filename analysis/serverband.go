//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
)

// ServerBand is how far the steps of a server may be from the model's, one side: 90 % of real ones lie between 1 / (1 + it) and 1 + it times what
// is predicted. It is that of a busy server, where the band is wider than of a single request, and of a single one where no more fit.
func ServerBand(ctx context.Context, db *sql.DB, d deployment.Deployment) (float64, error) {
	busy, alone := Load{Clients: 32, InputTokens: 1000, OutputTokens: 200}, Load{RequestsPerS: 1e-6, InputTokens: 100, OutputTokens: 100}
	predicted, err := Predict(ctx, db, []Point{{Deployment: d, Load: busy}, {Deployment: d, Load: alone}})
	if err != nil {
		return 0, err
	}
	if predicted[0].Why != "" {
		predicted = predicted[1:]
	}
	if why := predicted[0].Why; why != "" {
		return 0, hint.Errorf("a request of 100 and 100 tokens: %s", why).Hint("take another deployment, or a larger max_model_len")
	}
	return predicted[0].High/predicted[0].TPOT - 1, nil
}
