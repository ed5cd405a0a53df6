package tables

import (
	"io"

	"tidemark/analysis/answers"
)

// Writer prints a table of any length without holding it.
type Writer interface {
	Begin(columns []answers.Column) error
	Row(values []any) error // keeps nothing of values
	End() error
	Flush() error // prints whole rows that came before an error
}

func Write(rows Writer, table answers.Table) error {
	if err := rows.Begin(table.Columns); err != nil {
		return err
	}
	for _, row := range table.Rows {
		if err := rows.Row(row); err != nil {
			return err
		}
	}
	return rows.End()
}

func WriteCSV(w io.Writer, table answers.Table) error { return Write(NewCSV(w), table) }

func WriteText(w io.Writer, table answers.Table, width int) error {
	return Write(NewText(w, width), table)
}
