package read

// The verb diagnose lists the symptoms of a run, a metrics file or another tool's
// measurement. The figures are in marts.evidence, the rules in seeds.symptoms, and
// marts.symptoms has what fired; analysis.Diagnose reads it. This file prints it, a paragraph per symptom for people.
//
// Exit codes: 0 whatever is found, because a symptom is an answer and not a failure; 3
// where the numbers themselves cannot be trusted; 2 for a name that does not exist.

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/store/warehouse"
)

func DiagnoseCommand() *cli.Command {
	c := &kit.Call{}
	return &cli.Command{
		Name:      "diagnose",
		Usage:     "symptoms of a run, what confirms them, what to try first",
		ArgsUsage: "RUN | FILE | FILE#POINT",
		Description: `A run, an ingested file of metrics, or a measurement of another tool.
What it looks at: tidemark sql "from marts.evidence where subject = 'RUN'".
Exits 0 whatever it finds, 3 when the numbers themselves are in doubt.

Example:
  tidemark diagnose RUN --json`,
		Flags:  c.TableFlags(),
		Action: c.Do(func() error { return runDiagnose(c) }),
	}
}

func runDiagnose(c *kit.Call) error {
	subject, err := c.OneArgument("run, file or measurement")
	if err != nil {
		return err
	}
	return c.WithWarehouse(c.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		subject, err := analysis.Subject(ctx, w.DB(), subject)
		if err != nil {
			return err
		}
		all, err := analysis.Diagnose(ctx, w.DB(), subject)
		if err != nil {
			return err
		}
		if err := printDiagnoses(c, all); err != nil {
			return err
		}
		if slices.ContainsFunc(all, analysis.Diagnosis.IsDoubtful) {
			return kit.ExitError{Code: kit.ExitInvalid}
		}
		return nil
	})
}

// printDiagnoses prints one table of all symptoms for programs. What the table has no
// column for (the finding in a line, notes) then goes to stderr.
func printDiagnoses(c *kit.Call, all []analysis.Diagnosis) error {
	if c.IsForPrograms() {
		together := all[0].Symptoms
		for _, d := range all[1:] {
			together.Rows = append(together.Rows, d.Symptoms.Rows...)
		}
		for _, d := range all {
			c.Tell("%s", d.FirstLine())
			for _, note := range append([]string{d.Failed}, d.Notes...) {
				if note != "" {
					c.Tell("%s: %s", d.Subject, note)
				}
			}
		}
		return c.PrintTable(together)
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
	lines := []string{d.FirstLine()}
	if d.Invalid != "" {
		lines = append(lines, "the run is invalid: "+d.Invalid)
	}
	for _, line := range slices.Concat(lines, []string{d.Failed}, d.Notes, []string{d.Regime}) {
		if line != "" {
			kit.Labelled(&b, "", 0, line, width)
		}
	}
	for _, row := range kit.RowsOf(d.Symptoms) {
		fmt.Fprintf(&b, "\n%s %s (%s, %s)\n", mark(row.Text("kind")), row.Text("title"), row.Text("symptom"), row.Text("rule"))
		kit.Labelled(&b, "  found", names, row.Text("evidence"), width)
		kit.Labelled(&b, "  means", names, row.Text("meaning"), width)
		kit.Labelled(&b, "  confirm", names, row.Text("confirm_with")+"; "+row.Text("confirmation"), width)
		kit.Labelled(&b, "  try first", names, row.Text("first_response"), width)
		if row.Text("unknown") != "" {
			kit.Labelled(&b, "  not known", names, row.Text("unknown"), width)
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
