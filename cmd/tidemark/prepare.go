package main

// What a replay needs from the warehouse before it sends anything: the plan, the
// deployment with the catalogue's figures, and the step cost for the progress line.
//
// All of it is read while the warehouse is opened once. It is closed before the first
// request is due: an open warehouse would lock out others for the length of the replay,
// and DuckDB's threads would compete with the sender for the processor.

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/warehouse"
)

// prepared is everything that a replay needs from the warehouse, which is closed
// again before the first request is due.
type prepared struct {
	planPath          string
	environment       *deployment.Deployment
	environmentSource string
	named             deployment.Deployment // before defaults
	predictTPOT       func(inFlight int, contextTokens float64) time.Duration
	drop              func() // removes a plan that was made for this replay only
}

// prepare draws the plan, resolves the environment and loads the prediction, all
// while the warehouse is opened once.
func prepare(c *cli.Context, what string) (p prepared, err error) {
	named, from, err := namedEnvironment(c)
	if err != nil {
		return p, err
	}
	if p.planPath, p.drop, err = planFor(c, what, func(ctx context.Context, w *warehouse.Warehouse) error {
		return p.lookUp(ctx, w, named, from)
	}); err != nil {
		return p, err
	}
	if named != nil && p.environment == nil { // a plan file needed no warehouse so far
		err = calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
			return p.lookUp(ctx, w, named, from)
		})
	}
	if err != nil {
		p.drop()
	}
	return p, err
}

// lookUp resolves the environment with the catalogue and loads its prediction.
func (p *prepared) lookUp(ctx context.Context, w *warehouse.Warehouse, named *deployment.Deployment, from string) error {
	if named == nil {
		return nil
	}
	resolved, err := analysis.Resolve(ctx, w.DB(), *named)
	if err != nil {
		return err
	}
	p.environment, p.environmentSource, p.named = &resolved, from, *named
	cost, err := analysis.LoadStepCost(ctx, w.DB(), resolved)
	if err != nil {
		return nil // a deployment that does not fit has no prediction; the run can still be measured
	}
	p.predictTPOT = func(inFlight int, contextTokens float64) time.Duration {
		all := float64(inFlight) * contextTokens
		windowed := all
		if cost.SlidingWindow > 0 {
			windowed = float64(inFlight) * min(contextTokens, float64(cost.SlidingWindow))
		}
		return time.Duration(cost.Seconds(inFlight, int64(all), int64(windowed), 0, 0, 0) * float64(time.Second))
	}
	return nil
}

// catalogName is the built-in catalogue's name for a model that a server reports,
// to compare it with the requested one. For a model that only the user has defined
// it is empty.
func catalogName(ctx context.Context, served, asked string) (name string) {
	_ = inCatalogue(ctx, func(w *warehouse.Warehouse) error { // an error counts as an unknown name
		return w.DB().QueryRowContext(ctx, `
select model
from macros.models_named(?)
where exists (from macros.models_named(?))`, served, asked).Scan(&name)
	})
	return name
}

// choosing are the flags that choose from a source. A plan file has already chosen.
var choiceFlagNames = []string{"from", "until", "duration", "spread-ticks", "speed", "thin", "thicken", "lengths", "request-rate", "session-rate", "class", "limit", "max-model-len", "overlong"}

// isPlanFile looks at the name only, so that a plan that does not exist is reported
// as a missing file.
func isPlanFile(what string) bool { return strings.HasSuffix(what, ".zst") }

// planFor is the plan file itself, or one drawn into a temporary folder. drop
// removes that folder; the run keeps a copy. also, if given, is called while the
// warehouse is open.
func planFor(c *cli.Context, what string, also func(context.Context, *warehouse.Warehouse) error) (path string, drop func(), err error) {
	if isPlanFile(what) {
		for _, flag := range choiceFlagNames {
			if c.IsSet(flag) {
				return "", nil, hint.Misuse("%s: --%s chooses from a source; %s is a plan already", c.Command.Name, flag, what)
			}
		}
		return what, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "tidemark-plan-")
	if err != nil {
		return "", nil, err
	}
	drop = func() { os.RemoveAll(folder) }
	path = filepath.Join(folder, "plan.jsonl.zst")
	if _, err := writePlan(c, what, path, also); err != nil {
		drop()
		return "", nil, err
	}
	return path, drop, nil
}
