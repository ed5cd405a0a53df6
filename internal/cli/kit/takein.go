package kit

import (
	"cmp"
	"context"
	"time"

	"tidemark/analysis"
	"tidemark/ingest"
	"tidemark/internal/cli/endings"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/experiment"
)

// Judged is the verdict on a run.
type Judged struct {
	Outcome   experiment.Outcome
	FirstLine string       // all of it in one line
	ending    endings.Text // the same with a table; empty where the run was stopped at once
}

// judge asks whether the run can be trusted, and then whether it met its SLO.
func judge(ctx context.Context, w *warehouse.Warehouse, runID string) (Judged, error) {
	verdict, err := analysis.JudgeSLO(ctx, w.DB(), runID)
	if err != nil {
		return Judged{}, err
	}
	outcome := experiment.Outcome(verdict.Outcome)
	outcome = cmp.Or(outcome, experiment.Measured)
	ending, err := endings.Run(ctx, w.DB(), verdict)
	return Judged{outcome, verdict.FirstLine(), ending}, err
}

// Headline is the verdict without its figures.
func (j Judged) Headline() string {
	if len(j.ending.Lead) == 0 {
		return j.FirstLine
	}
	return j.ending.Lead[0]
}

// PrintRunsEnding prints the verdict and the run's figures. Of a file or a pipe the first line is the whole verdict, because programs look for
// it there.
func (c *Call) PrintRunsEnding(said Judged) error {
	ending := said.ending
	switch {
	case len(ending.Lead) == 0:
		c.PrintLine("%s", said.FirstLine)
		return nil
	case !terminal.Is(c.App.Writer):
		c.PrintLine("%s", said.FirstLine)
		ending.Lead, ending.Notes = nil, nil
	}
	return c.PrintEnding(ending)
}

// JudgeApart judges a run that is not kept, in a warehouse of its own beside the run's folder.
func (c *Call) JudgeApart(ctx context.Context, folder, runID string) (said Judged, err error) {
	w, err := warehouse.Open(ctx, folder+".duckdb", warehouse.ReadWrite)
	if err != nil {
		return said, err
	}
	defer w.Close()
	if _, err := ingest.Load(ctx, w, []string{folder}, ingest.Options{Format: "run", MaxRejectedRatio: 1}); err != nil {
		return said, err
	}
	return judge(ctx, w, runID)
}

// IngestRun ingests a run's folder and judges the run. If that cannot be done now it
// says what to do: the run itself is safe on disk.
func (c *Call) IngestRun(ctx context.Context, wait time.Duration, folder, runID string) (said Judged, err error) {
	err = c.WithWarehouseWithin(ctx, wait, warehouse.ReadWrite, func(ctx context.Context, w *warehouse.Warehouse) error {
		// Who has pressed Ctrl-C twice wants to leave: the rows go in, and the next verb computes what can be asked of them.
		isHurried := HardStop(c.Context).Err() != nil
		results, err := ingest.Load(ctx, w, []string{folder}, ingest.Options{Format: "run", MaxRejectedRatio: 1, RefreshLater: isHurried})
		for _, result := range results {
			for _, note := range result.Notes {
				c.Tell("%s: %s", folder, note)
			}
		}
		if err != nil {
			return err
		}
		if isHurried {
			said.FirstLine = "stopped at once; \"tidemark runs " + runID + c.WarehouseWords() + "\" says what came of it until then"
			return nil
		}
		said, err = judge(ctx, w, runID)
		return err
	})
	if err != nil {
		return said, hint.Errorf("the run in %s was not ingested: %w", folder, err).
			Hint("tidemark ingest %s%s", escape.Shell(folder), c.WarehouseWords())
	}
	return said, nil
}
