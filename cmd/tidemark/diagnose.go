package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/tables"
	"tidemark/internal/terminal"
	"tidemark/internal/warehouse"
)

func diagnoseCommand() *cli.Command {
	return &cli.Command{
		Name:      "diagnose",
		Usage:     "what is wrong with a run: symptoms, what confirms them, what to try first",
		ArgsUsage: "RUN | FILE | FILE#POINT",
		Description: `A run, a file of metrics that was taken in, or a measurement of another tool.
What it looks at: tidemark sql "from marts.evidence where subject = 'RUN'".
Exits 0 whatever it finds, 3 when the numbers themselves are in doubt.

Example:
  tidemark diagnose RUN --json`,
		Flags:  tabular(),
		Action: runDiagnose,
	}
}

func runDiagnose(c *cli.Context) error {
	if c.NArg() != 1 {
		return hint.Misuse("diagnose: one run, file or measurement, not %d", c.NArg()).Hint(`"tidemark runs" lists the runs`)
	}
	return withWarehouse(c.Context, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		all, err := analysis.Diagnose(ctx, w.DB(), c.Args().First())
		if err != nil {
			return err
		}
		if err := printDiagnoses(c, all); err != nil {
			return err
		}
		for _, d := range all {
			if d.IsDoubtful() {
				return exitError{code: exitInvalid}
			}
		}
		return nil
	})
}

func printDiagnoses(c *cli.Context, all []analysis.Diagnosis) error {
	if c.Bool("csv") || c.Bool("json") {
		together := all[0].Symptoms
		for _, d := range all[1:] {
			together.Rows = append(together.Rows, d.Symptoms.Rows...)
		}
		for _, d := range all {
			tell(c, "%s", d.FirstLine())
			if d.Failed != "" {
				tell(c, "%s: %s", d.Subject, d.Failed)
			}
			for _, note := range d.Notes {
				tell(c, "%s: %s", d.Subject, note)
			}
		}
		return printTable(c, together)
	}
	for i, d := range all {
		if i > 0 {
			fmt.Fprintln(c.App.Writer)
		}
		if err := writeDiagnosis(c.App.Writer, d, terminal.Width(c.App.Writer)); err != nil {
			return err
		}
	}
	return nil
}

// writeDiagnosis shows one diagnosis: the finding in a line, what limits the run,
// then a paragraph per symptom.
func writeDiagnosis(w io.Writer, d analysis.Diagnosis, width int) error {
	const names = 12
	var b strings.Builder
	labelled(&b, "", 0, d.FirstLine(), width)
	if d.Invalid != "" {
		labelled(&b, "", 0, "the run is invalid: "+d.Invalid, width)
	}
	if d.Failed != "" {
		labelled(&b, "", 0, d.Failed, width)
	}
	for _, note := range d.Notes {
		labelled(&b, "", 0, note, width)
	}
	if d.Regime != "" {
		labelled(&b, "", 0, d.Regime, width)
	}
	for _, row := range named(d.Symptoms) {
		fmt.Fprintf(&b, "\n%s %s (%s, %s)\n", mark(row["kind"]), row["title"], row["symptom"], row["rule"])
		labelled(&b, "  found", names, row["evidence"], width)
		labelled(&b, "  means", names, row["meaning"], width)
		labelled(&b, "  confirm", names, row["confirm_with"]+"; "+row["confirmation"], width)
		labelled(&b, "  try first", names, row["first_response"], width)
		if row["unknown"] != "" {
			labelled(&b, "  not known", names, row["unknown"], width)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mark shows at a glance how serious a symptom is.
func mark(kind string) string {
	switch kind {
	case "invalid":
		return "?"
	case "problem":
		return "!"
	default:
		return "-"
	}
}

// named turns a table into rows by column name.
func named(table analysis.Table) []map[string]string {
	rows := make([]map[string]string, len(table.Rows))
	for i, row := range table.Rows {
		rows[i] = map[string]string{}
		for j, column := range table.Columns {
			rows[i][column.Name] = tables.Plain(row[j])
		}
	}
	return rows
}
