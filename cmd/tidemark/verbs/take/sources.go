package take

// The verb sources lists what was ingested, or audits one source. analysis.AuditOf has
// the audit.
//
// People get the columns that fit a terminal. Programs get all of them, because a
// script that breaks when a column is missing cannot widen its window.
//
// What "tidemark sources NAME" prints for people: the facts about a source, the tables
// behind them and the findings. analysis.AuditOf finds everything; this file only lays
// it out.
//
// The layout is not package tables': names stand on the left in a column of fixed width,
// and a long text continues under itself. diagnose uses the same layout (kit.Labelled).

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/store/warehouse"
)

func SourcesCommand() *cli.Command {
	c := &kit.Call{}
	return &cli.Command{
		Name:      "sources",
		Usage:     "list what was ingested; with a name, audit that source",
		ArgsUsage: "[NAME]",
		Description: `Example:
  tidemark sources azure-code`,
		Flags:  c.TableFlags(),
		Action: c.Do(func() error { return runSources(c) }),
	}
}

func runSources(c *kit.Call) error {
	name, err := c.OptionalArgument("name")
	if err != nil {
		return err
	}
	return c.WithWarehouse(c.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		switch {
		case name == "" && c.IsForPrograms():
			return c.PrintAnswer(analysis.Sources(ctx, w.DB()))
		case name == "":
			return listSources(ctx, c, w)
		case c.IsForPrograms():
			return c.PrintAnswer(analysis.Source(ctx, w.DB(), name))
		}
		audit, err := analysis.AuditOf(ctx, w.DB(), name)
		if err != nil {
			return err
		}
		return writeAudit(c.App.Writer, audit, terminal.Width(c.App.Writer))
	})
}

// listSources prints the traces, and then everything else.
func listSources(ctx context.Context, c *kit.Call, w *warehouse.Warehouse) error {
	traces, others, err := analysis.SourcesInBrief(ctx, w.DB())
	if err != nil {
		return err
	}
	if len(traces.Rows) > 0 || len(others.Rows) == 0 {
		if err := c.PrintTable(traces); err != nil || len(others.Rows) == 0 {
			return err
		}
		fmt.Fprintln(c.App.Writer)
	}
	return c.PrintTable(others)
}

// writeAudit shows what is known about a source: facts, then the tables behind
// them, then the findings.
func writeAudit(w io.Writer, audit analysis.Audit, width int) error {
	var b strings.Builder
	writeFacts(&b, audit.Facts, width)
	columns(&b, "evenness", "a Poisson stream has an index of dispersion of 1 at every width", audit.Windows)
	columns(&b, "reuse", "by a cache that drops the prompt block used longest ago", audit.Caches)
	if audit.IsTrace {
		writeFindings(&b, audit.Findings, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeFacts aligns the facts in two columns.
func writeFacts(b *strings.Builder, facts analysis.Table, width int) {
	const names = 15
	for _, row := range facts.Rows {
		kit.Labelled(b, tables.Plain(row[0]), names, tables.Plain(row[1]), width)
	}
}

// columns writes a table under its name, if it has rows.
func columns(b *strings.Builder, name, what string, table analysis.Table) {
	if len(table.Rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%-15s%s\n%15s", name, what, "")
	for _, column := range table.Columns {
		fmt.Fprintf(b, "%12s", column)
	}
	for _, row := range table.Rows {
		fmt.Fprintf(b, "\n%15s", "")
		for _, cell := range row {
			fmt.Fprintf(b, "%12s", tables.Plain(cell))
		}
	}
	b.WriteString("\n")
}

// writeFindings lists alarms first; known peculiarities of a format are only
// counted.
func writeFindings(b *strings.Builder, findings analysis.Table, width int) {
	alarms := 0
	for _, row := range findings.Rows {
		if row[1] == true {
			alarms++
		}
	}
	b.WriteString("\n")
	switch known := len(findings.Rows) - alarms; {
	case len(findings.Rows) == 0:
		b.WriteString("Nothing odd was found.\n")
	case alarms == 0:
		fmt.Fprintf(b, "Nothing misleads a replay. To know:\n")
	case known == 0:
		fmt.Fprintf(b, "Sent as recorded, it misleads (!):\n")
	default:
		fmt.Fprintf(b, "Sent as recorded, it misleads (!); the rest is worth knowing:\n")
	}
	for _, row := range findings.Rows {
		mark := " "
		if row[1] == true {
			mark = "!"
		}
		fmt.Fprintf(b, "\n%s %s\n", mark, row[0])
		const names = 15
		kit.Labelled(b, "    found", names, tables.Plain(row[3]), width)
		kit.Labelled(b, "    means", names, tables.Plain(row[4]), width)
		remedy := "none; no option changes it"
		if row[5] != nil {
			remedy = tables.Plain(row[5])
		}
		kit.Labelled(b, "    option", names, remedy, width)
	}
}
