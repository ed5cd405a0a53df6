package tables

import (
	"io"

	"tidemark/analysis/answers"
)

// Writer prints a table of any length without holding it: Begin, then Row for each row,
// then End. After an error of the source, Flush takes the place of End.
type Writer interface {
	Begin(columns []string) error
	Row(values []any) error // keeps nothing of values
	End() error
	Flush() error // prints whole rows that came before an error
}

// Write prints a table that is held in memory already.
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

// WriteCSV prints CSV where a verb decides by itself that a program reads.
func WriteCSV(w io.Writer, table answers.Table) error { return Write(NewCSV(w), table) }

// WriteText prints for people. width is that of the terminal, in columns.
func WriteText(w io.Writer, table answers.Table, width int) error {
	return Write(NewText(w, width), table)
}
