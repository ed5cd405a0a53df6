package read

// runs --slo applies an SLO to anything that has requests: a run, or the result of another
// tool. analysis.JudgeAny does it.
//
// Exit codes, as those of replay: 0 met; 1 not met or undecided; 3 the
// run is invalid; 2 for a name that does not exist, and for a result that the SLO cannot judge.

import (
	"context"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/maybe"
	"tidemark/internal/store/warehouse"
)

// judge applies the SLO of --slo.
func (f *runsFlags) judge() error {
	name, err := f.OneArgument("run or source")
	if err != nil {
		return err
	}
	if err := f.Require("slo"); err != nil {
		return err
	}
	slo, err := analysis.ReadSLO(f.slo)
	if err != nil {
		return err
	}
	return f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		name, err := analysis.Subject(ctx, w.DB(), name)
		if err != nil {
			return err
		}
		verdicts, err := analysis.JudgeAny(ctx, w.DB(), f.Warehouse, name, slo)
		if err != nil {
			return err
		}
		if err := printJudged(&f.Call, verdicts); err != nil {
			return err
		}
		outcomes := map[string]bool{}
		for _, verdict := range verdicts {
			outcomes[verdict.Outcome] = true
		}
		switch {
		case outcomes[analysis.NotMet], outcomes[analysis.Undecided]:
			return kit.ExitError{Code: kit.ExitNotMet}
		case outcomes[analysis.Invalid]:
			return kit.ExitError{Code: kit.ExitInvalid}
		}
		return nil
	})
}

// printJudged prints a line for each subject; for programs a row for each objective of it, in the columns of marts.slo.
func printJudged(c *kit.Call, verdicts []analysis.AnyVerdict) error {
	table := kit.TableOf("subject", "metric", "percentile", "class", "at_most", "observed", "low", "high", "samples", "effective_samples", "above",
		"outcome", "reason", "more_requests")
	for _, verdict := range verdicts {
		line := verdict.FirstLine()
		if len(verdicts) > 1 {
			line = verdict.Subject + ": " + line
		}
		c.Remark("%s", line)
		for _, o := range verdict.Objectives {
			var more any
			if o.MoreRequests != nil {
				more = *o.MoreRequests
			}
			table.Rows = append(table.Rows, []any{verdict.Subject, o.Metric, kit.OrNull(o.Percentile), kit.OrNull(o.Class), o.AtMost,
				maybe.Cell(o.Observed), maybe.Cell(o.Low), maybe.Cell(o.High), o.Samples, o.EffectiveSamples, o.Above,
				o.Outcome, kit.OrNull(o.Reason), more})
		}
	}
	if c.IsForPrograms() {
		return c.PrintTable(table)
	}
	return nil
}
