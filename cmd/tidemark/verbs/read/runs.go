package read

// The verb runs lists the runs, or shows the verdict and the certificate of one. The
// certificate is the list of findings on how well the client kept to its plan
// (queries/marts/certificate.sql).
//
// With --slo it judges the run, or the result of another tool, anew: judge.go.
//
// Exit codes: 0, also for an invalid run: the verb reports, and replay has judged. With --slo those of judge.go.

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/endings"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/store/warehouse"
)

type runsFlags struct {
	kit.Call
	slo string
}

func RunsCommand() *cli.Command {
	f := &runsFlags{}
	return &cli.Command{
		Name:      "runs",
		Aliases:   []string{"judge"},
		Usage:     "list the runs; the verdict on one, by any SLO with --slo",
		ArgsUsage: "[RUN | SOURCE | SOURCE#POINT]",
		Description: `A run is named by its id, or by its name (replay --name) or the end of its id
(azure-conv-0bff) where no other run has the same: the column run has what to
type, --json the id. With --slo FILE a run is judged by any SLO, and so are the
requests of another tool, measurement by measurement: exits 0 where it is met,
1 where it is not or more requests are needed to decide, 3 where the run is
invalid.

Example:
  tidemark runs --json
  tidemark runs RUN --slo slo.yaml`,
		Flags: f.TableFlags(
			&cli.StringFlag{Name: "slo", Usage: "judge the run or source by the SLO in this YAML `FILE`", Destination: &f.slo},
		),
		Action: f.Do(func() error {
			if f.IsGiven("slo") {
				return f.judge()
			}
			return runRuns(&f.Call)
		}),
	}
}

func runRuns(c *kit.Call) error {
	runID, err := c.OptionalArgument("run")
	if err != nil {
		return err
	}
	return c.Answering(func(ctx context.Context, w *warehouse.Warehouse) error {
		switch {
		case runID != "":
			runID, err := analysis.RunID(ctx, w.DB(), runID)
			if err != nil {
				return err
			}
			return showRun(ctx, c, w, runID)
		case c.IsForPrograms():
			return c.PrintAnswer(analysis.Runs(ctx, w.DB()))
		}
		table, err := analysis.RunsInBrief(ctx, w.DB())
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(table.Rows, func(row []any) bool { return kit.OrNull(tables.Plain(row[1])) != nil }) {
			table = without(table, 1)
		}
		return c.PrintList(table, "--json shows all")
	})
}

// without leaves out a column that says nothing.
func without(table analysis.Table, place int) analysis.Table {
	table.Columns = slices.Delete(table.Columns, place, place+1)
	for i, row := range table.Rows {
		table.Rows[i] = slices.Delete(row, place, place+1)
	}
	return table
}

// showRun prints the verdict and the certificate. For people it shows each finding
// with its bound, and the meaning only where a line is not ok.
func showRun(ctx context.Context, c *kit.Call, w *warehouse.Warehouse, runID string) error {
	verdict, err := analysis.JudgeSLO(ctx, w.DB(), runID)
	if err != nil {
		return err
	}
	if terminal.Is(c.App.Writer) && !c.IsForPrograms() {
		ending, err := endings.Run(ctx, w.DB(), verdict)
		if err != nil {
			return err
		}
		if err := c.PrintEnding(ending); err != nil {
			return err
		}
		c.Gap()
	} else {
		c.Tell("%s", verdict.FirstLine())
	}
	sentences, err := analysis.EngineTime(ctx, w.DB(), runID)
	if err != nil {
		return err
	}
	anatomy, err := analysis.Anatomy(ctx, w.DB(), runID)
	if err != nil {
		return err
	}
	throttlings, err := analysis.Throttlings(ctx, w.DB(), runID, "run")
	if err != nil {
		return err
	}
	notes, err := analysis.RunNotes(ctx, w.DB(), runID)
	if err != nil {
		return err
	}
	for _, sentence := range slices.Concat(notes, sentences, anatomy, throttlings) {
		c.Tell("%s", sentence)
	}
	if c.IsForPrograms() {
		return c.PrintAnswer(analysis.Certificate(ctx, w.DB(), runID))
	}
	return c.PrintAnswer(analysis.CertificateInBrief(ctx, w.DB(), runID))
}
