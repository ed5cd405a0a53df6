//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tidemark/queries"
)

// seedParts are the seeds: a column list in <name>.sql, and the rows in
// <name>.csv, in <name>.jsonl with one object per line, or for measured curves
// in <name>.csv.gz. A "create table ... as" makes its own rows.
func seedParts() []part {
	rows := map[string]queries.File{}
	for _, extension := range []string{".csv", ".jsonl", ".gz"} {
		for _, file := range queries.In("seeds", extension) {
			rows[strings.TrimSuffix(file.Name, ".csv")] = file
		}
	}
	var parts []part
	for _, file := range queries.In("seeds", ".sql") {
		parts = append(parts, part{relation: file.Relation(), path: file.Path, text: file.Text, rows: rows[file.Name].Text, create: func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, seedTable(file)); err != nil {
				return err
			}
			source, ok := rows[file.Name]
			if !ok && makesItsRows.MatchString(queries.WithoutComments(file.Text)) {
				return nil
			}
			if !ok {
				return fmt.Errorf("no %s.csv or %s.jsonl beside it", file.Name, file.Name)
			}
			fill := fillSeed
			if strings.HasSuffix(source.Path, ".gz") {
				fill = fillCurves
			}
			if err := fill(ctx, tx, file.Relation(), source); err != nil {
				return fmt.Errorf("%s: %w", source.Path, err)
			}
			return nil
		}})
	}
	return parts
}

var makesItsRows = regexp.MustCompile(`(?i)^\s*create table \S+ as\s`)

// seedTable makes a statement of the file, which may be a complete one or only
// the column list, with or without brackets.
func seedTable(file queries.File) string {
	code := strings.ToLower(strings.TrimSpace(queries.WithoutComments(file.Text)))
	switch {
	case strings.HasPrefix(code, "create"):
		return file.Text
	case strings.HasPrefix(code, "("):
		return "create table " + file.Relation() + "\n" + file.Text
	default:
		return "create table " + file.Relation() + " (\n" + file.Text + "\n)"
	}
}

// fillSeed casts every cell to its column's type; an empty cell is null.
func fillSeed(ctx context.Context, tx *sql.Tx, relation string, source queries.File) error {
	read := csvRows
	if strings.HasSuffix(source.Path, ".jsonl") {
		read = jsonRows
	}
	lines, err := read(source.Text)
	if err != nil || len(lines) < 2 {
		return err
	}
	columns := strings.Join(lines[0], ", ")
	// The time to parse a statement grows with the square of its rows.
	const atOnce = 200
	for rows := lines[1:]; len(rows) > 0; {
		chunk := rows[:min(atOnce, len(rows))]
		rows = rows[len(chunk):]
		if _, err := tx.ExecContext(ctx, "insert into "+relation+" ("+columns+") values "+literals(chunk)); err != nil {
			return err
		}
	}
	return nil
}

// csvRows are the cells of all lines, the header first. Lines that start with #
// name the sources of rows.
func csvRows(text string) ([][]string, error) {
	reader := csv.NewReader(strings.NewReader(text))
	reader.Comment = '#'
	return reader.ReadAll()
}

// jsonRows reads one object per line; the first object names the columns. A
// value that is neither a string nor null becomes the cell as it is written.
func jsonRows(text string) ([][]string, error) {
	var rows [][]string
	number := 0
	for line := range strings.Lines(text) {
		number++
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if rows == nil {
			rows = append(rows, slices.Sorted(maps.Keys(object)))
		}
		row := make([]string, len(rows[0]))
		for i, column := range rows[0] {
			row[i] = string(object[column])
			var cell *string
			if json.Unmarshal(object[column], &cell) != nil {
				continue
			}
			if row[i] = ""; cell != nil {
				row[i] = *cell
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func literals(rows [][]string) string {
	var text strings.Builder
	for i, row := range rows {
		if i > 0 {
			text.WriteString(",\n")
		}
		text.WriteByte('(')
		for j, cell := range row {
			if j > 0 {
				text.WriteString(", ")
			}
			if cell == "" {
				text.WriteString("null")
			} else {
				text.WriteString(quoted(cell))
			}
		}
		text.WriteByte(')')
	}
	return text.String()
}

// quoted is an SQL string literal.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
