//go:build duckdb_arrow

package analysis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"tidemark/internal/deployment"
	"tidemark/internal/engine"
)

// Modelled is one server of a deployment, as the catalogue and the step macros have it.
type Modelled struct {
	Deployment deployment.Deployment // resolved, with the engine's defaults
	Engine     engine.Config
	Why        string // it does not fit; then there is no engine
}

// Modeller asks once for all deployments that differ only in the scheduler's limits: those do not change what a step costs.
type Modeller struct {
	db    *sql.DB
	costs map[deployment.Deployment]StepCost
	why   map[deployment.Deployment]string
}

// NewModeller asks a warehouse's catalogue and calibrations.
func NewModeller(db *sql.DB) *Modeller {
	return &Modeller{db, map[deployment.Deployment]StepCost{}, map[deployment.Deployment]string{}}
}

// Of is the engine of a deployment. Only a deployment that cannot be named is an error.
func (m *Modeller) Of(ctx context.Context, d deployment.Deployment) (Modelled, error) {
	key := d
	key.MaxNumSeqs, key.MaxNumBatchedTokens = 0, 0
	if why := m.why[key]; why != "" {
		return Modelled{Deployment: d, Why: why}, nil
	}
	cost, isThere := m.costs[key]
	if !isThere {
		var err error
		cost, err = LoadStepCost(ctx, m.db, key)
		if errors.Is(err, ErrDoesNotFit) {
			m.why[key] = err.Error()
			return Modelled{Deployment: d, Why: m.why[key]}, nil
		}
		if err != nil {
			return Modelled{}, err
		}
		m.costs[key] = cost
	}
	cost = cost.limited(d.MaxNumSeqs, d.MaxNumBatchedTokens)
	return Modelled{Deployment: cost.Deployment, Engine: cost.Engine()}, nil
}

// limited is the cost under other limits of the scheduler; 0 leaves one as it is. The largest captured graph follows from the first, as in
// macros.graph_tokens.
func (c StepCost) limited(seqs, tokens int) StepCost {
	if seqs > 0 {
		c.Deployment.MaxNumSeqs, c.graphTokens = seqs, min(512, 2*seqs)
	}
	if tokens > 0 {
		c.Deployment.MaxNumBatchedTokens = tokens
	}
	return c
}

// Prices are what deployments cost an hour: by the SLO, else by the catalogue.
type Prices struct {
	db     *sql.DB
	perGPU *float64
	known  map[string]float64
}

func NewPrices(db *sql.DB, slo SLO) *Prices {
	p := &Prices{db: db, known: map[string]float64{}}
	if slo.Cost != nil {
		p.perGPU = &slo.Cost.PerGPUHour
	}
	return p
}

// PerHour is 0 where no price is known.
func (p *Prices) PerHour(ctx context.Context, d deployment.Deployment) (float64, error) {
	gpus := float64(d.GPUs())
	if p.perGPU != nil {
		return *p.perGPU * gpus, nil
	}
	usd, isThere := p.known[d.GPU]
	if !isThere {
		err := p.db.QueryRowContext(ctx, "select usd_per_gpu_hour from macros.prices() where gpu = ? and place = 1", d.GPU).Scan(&usd)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return 0, fmt.Errorf("price: %w", err)
		}
		p.known[d.GPU] = usd
	}
	return usd * gpus, nil
}
