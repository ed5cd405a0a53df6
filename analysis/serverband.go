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
	bands, whys, err := ServerBands(ctx, db, d)
	if err != nil {
		return 0, err
	}
	return bands[0], whys[0]
}

// ServerBands are those of several deployments, by one question; why says of each what keeps it from being known.
func ServerBands(ctx context.Context, db *sql.DB, all ...deployment.Deployment) (bands []float64, why []error, err error) {
	busy, alone := Load{Clients: 32, InputTokens: 1000, OutputTokens: 200}, Load{RequestsPerS: 1e-6, InputTokens: 100, OutputTokens: 100}
	var points []Point
	for _, d := range all {
		points = append(points, Point{Deployment: d, Load: busy}, Point{Deployment: d, Load: alone})
	}
	predicted, err := Predict(ctx, db, points)
	if err != nil {
		return nil, nil, err
	}
	bands, why = make([]float64, len(all)), make([]error, len(all))
	for i := range all {
		p := predicted[2*i]
		if p.Why != "" {
			p = predicted[2*i+1]
		}
		if bands[i] = p.High/p.TPOT - 1; p.Why != "" {
			why[i] = hint.Errorf("a request of 100 and 100 tokens: %s", p.Why).Hint("take another deployment, or a larger max_model_len")
		}
	}
	return bands, why, nil
}
