package send

// What a replay needs from the warehouse before it sends anything: the plan, the
// deployment with the catalogue's figures, and the step cost for the progress line.
//
// All of it is read while the warehouse is opened once. It is closed before the first
// request is due: an open warehouse would lock out others for the length of the replay,
// and DuckDB's threads would compete with the sender for the processor.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

// prepared is everything that a replay needs from the warehouse, which is closed
// again before the first request is due.
type prepared struct {
	planPath          string
	environment       *deployment.Deployment
	environmentSource string
	named             deployment.Deployment // before defaults
	rejected          string                // who rejected this configuration before, and why; empty: nobody
	predictTPOT       func(inFlight int, contextTokens float64, of plan.Header) time.Duration
	drop              func() // removes a plan that was made for this replay only
}

// prepare draws the plan, resolves the environment and loads the prediction, all
// while the warehouse is opened once.
func (f *replayFlags) prepare(what string, others map[string]*deployment.Deployment) (p prepared, err error) {
	named, from, err := f.Environment(&f.Call)
	if err != nil {
		return p, err
	}
	var also func(context.Context, *warehouse.Warehouse) error
	if named != nil || len(others) > 0 {
		also = func(ctx context.Context, w *warehouse.Warehouse) error {
			if err := lookUpOthers(ctx, w, others); err != nil || named == nil {
				return err
			}
			return p.lookUp(ctx, w, *named, from)
		}
	}
	p.planPath, p.drop, err = f.PlanFor(what, also)
	return p, err
}

// lookUp resolves the environment with the catalogue and loads its prediction.
func (p *prepared) lookUp(ctx context.Context, w *warehouse.Warehouse, named deployment.Deployment, from string) error {
	cost, err := analysis.LoadStepCost(ctx, w.DB(), named)
	if err != nil && !errors.Is(err, analysis.ErrDoesNotFit) {
		return err
	}
	p.environment, p.environmentSource, p.named = &cost.Deployment, from, named
	var rejectedErr error
	if p.rejected, rejectedErr = analysis.RejectedDeployment(ctx, w.DB(), cost.Deployment); rejectedErr != nil {
		return rejectedErr
	}
	if err != nil {
		return nil // a deployment that does not fit has no prediction; the run can still be measured
	}
	p.predictTPOT = cost.TPOTOf
	return nil
}

// lookUpOthers has the catalogue's names put into the deployments of other models. What was not named of their engines stays so: the servers are
// compared with what was named.
func lookUpOthers(ctx context.Context, w *warehouse.Warehouse, others map[string]*deployment.Deployment) error {
	for model, named := range others {
		known, err := analysis.Resolve(ctx, w.DB(), *named)
		if err != nil {
			return fmt.Errorf("what %s runs on: %w", model, err)
		}
		known.Engine, known.MaxNumSeqs, known.MaxNumBatchedTokens = named.Engine, named.MaxNumSeqs, named.MaxNumBatchedTokens
		*named = known
	}
	return nil
}

// catalogName is analysis.CatalogName in the built-in catalogue.
func catalogName(ctx context.Context, served, asked string) (name string) {
	_ = kit.InCatalogue(ctx, func(w *warehouse.Warehouse) (err error) { // an error counts as an unknown name
		name, err = analysis.CatalogName(ctx, w.DB(), served, asked)
		return err
	})
	return name
}
