package main

// What "tidemark sources NAME" prints for people: the facts about a source, the tables
// behind them and the findings. analysis.AuditOf finds everything; this file only lays
// it out.
//
// The layout is not package tables': names stand on the left in a column of fixed width,
// and a long text continues under itself. diagnose.go uses the same layout (labelled).

import (
	"fmt"
	"io"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/escape"
	"tidemark/internal/tables"
	"tidemark/internal/terminal"
)

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
		labelled(b, tables.Plain(row[0]), names, tables.Plain(row[1]), width)
	}
}

// labelled writes a text next to its name, in as many lines as it takes.
func labelled(b *strings.Builder, name string, column int, text string, width int) {
	room := max(tables.LeastText, width-column)
	for _, line := range terminal.Wrapped(escape.Controls(text, ""), room) {
		for ; len(line) > room; line = line[room:] { // one word, as a path
			fmt.Fprintf(b, "%-*s%s\n", column, name, line[:room])
			name = ""
		}
		fmt.Fprintf(b, "%-*s%s\n", column, name, line)
		name = ""
	}
}

// columns writes a table under its name, if it has rows.
func columns(b *strings.Builder, name, what string, table analysis.Table) {
	if len(table.Rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%-15s%s\n%15s", name, what, "")
	for _, column := range table.Columns {
		fmt.Fprintf(b, "%12s", column.Name)
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
		fmt.Fprintf(b, "Sent as recorded, it misleads (!); the rest is to know:\n")
	}
	for _, row := range findings.Rows {
		mark := " "
		if row[1] == true {
			mark = "!"
		}
		fmt.Fprintf(b, "\n%s %s\n", mark, row[0])
		const names = 15
		labelled(b, "    found", names, tables.Plain(row[3]), width)
		labelled(b, "    means", names, tables.Plain(row[4]), width)
		remedy := "none; no option changes it"
		if row[5] != nil {
			remedy = tables.Plain(row[5])
		}
		labelled(b, "    option", names, remedy, width)
	}
}
