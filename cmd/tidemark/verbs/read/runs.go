package read

// The verb runs lists the runs, or shows the verdict and the certificate of one. The
// certificate is the list of findings on how well the client kept to its plan
// (queries/marts/certificate.sql).
//
// Exit codes: 0, also for an invalid run: the verb reports, and replay has judged.

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/internal/cli/endings"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/store/warehouse"
)

func RunsCommand() *cli.Command {
	return &cli.Command{
		Name:      "runs",
		Usage:     "list the runs; with one named, its verdict and certificate",
		ArgsUsage: "[RUN]",
		Description: `A run is named by its id, or by its name (replay --name) where no other run has
the same: the column run has what to type, --json the id.

Example:
  tidemark runs --json`,
		Flags:  kit.WithTableFlags(),
		Action: runRuns,
	}
}

// briefRuns names a run by its name where that is enough for every verb, because an id takes half a terminal.
const briefRuns = `
select
    case when count(*) over (partition by name) = 1 then coalesce(nullif(name, ''), run_id) else run_id end as run,
    case when count(*) over (partition by name) > 1 then nullif(name, '') end as name,
    case
        when not is_valid then 'invalid'
        when has_failed then 'failed'
        else 'valid'
    end as verdict,
    p99_ttft_s,
    p99_tpot_s,
    failed,
    sent,
    p99_lateness_s as p99_late_s,
    measured_on,
    run_id as id
from marts.runs
order by run_id`

func runRuns(c *cli.Context) error {
	runID, err := kit.OptionalArgument(c, "run")
	if err != nil {
		return err
	}
	return kit.Answering(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		switch {
		case runID != "":
			ids, err := analysis.RunIDs(ctx, w.DB(), []string{runID})
			if err != nil {
				return err
			}
			return showRun(ctx, c, w, ids[0])
		case kit.IsForPrograms(c):
			return kit.PrintQuery(ctx, c, w, "from marts.runs order by run_id")
		}
		table, err := answers.Query(ctx, w.DB(), briefRuns)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(table.Rows, func(row []any) bool { return kit.OrNull(tables.Plain(row[1])) != nil }) {
			table = without(table, 1)
		}
		return kit.PrintList(c, table, "--json shows all")
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
func showRun(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, runID string) error {
	verdict, err := analysis.JudgeSLO(ctx, w.DB(), runID)
	if err != nil {
		return err
	}
	if terminal.Is(c.App.Writer) && !kit.IsForPrograms(c) {
		ending, err := endings.Run(ctx, w.DB(), verdict)
		if err != nil {
			return err
		}
		if err := kit.PrintEnding(c, ending); err != nil {
			return err
		}
		kit.Gap(c)
	} else {
		kit.Tell(c, "%s", verdict.FirstLine())
	}
	if kit.IsForPrograms(c) {
		table, err := analysis.Certificate(ctx, w.DB(), runID)
		if err != nil {
			return err
		}
		return kit.PrintTable(c, table)
	}
	return kit.PrintQuery(ctx, c, w, `
		select
			outcome,
			subject,
			measured
				|| case when bound is null then '' else ' (' || bound || ')' end
				|| case when outcome = 'ok' then '' else ': ' || meaning end as found
		from marts.certificate
		where run_id = ?
		order by seq`, runID)
}
