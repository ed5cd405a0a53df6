package main

// predict --points: a CSV of configurations in, the same rows with predictions out, in
// the same order. analysis reads the columns under the names that other tools use.
//
// The output is CSV unless a terminal or --json asks for something else, so that the
// command works as a filter in a pipe.

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
	"tidemark/internal/userfile"
	"tidemark/internal/warehouse"
)

// predictPoints prints the table of configurations with the predictions added.
func predictPoints(c *cli.Context, base analysis.Point) error {
	path := c.String("points")
	points, err := readPoints(c, path)
	if err != nil {
		return err
	}
	if lacks := points.Lacks(base); len(lacks) > 0 {
		return hint.Misuse("predict: %s: no column for %s", path, strings.Join(lacks, ", ")).
			Hint("columns are gpu, model, input_len, output_len, concurrency or request_rate, ...; what is the same for all rows may be a flag")
	}
	if path == "-" {
		path = "stdin"
	}
	return calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, missed, err := analysis.PredictPoints(ctx, w.DB(), points, base)
		if err != nil {
			return fmt.Errorf("predict: %s: %w", path, err)
		}
		if err := printPoints(c, table, points); err != nil {
			return err
		}
		if len(missed.Renewed) > 0 {
			tell(c, "%s: computed again: %s", path, strings.Join(missed.Renewed, ", "))
		}
		if missed.FirstWhy != "" {
			tell(c, "%s: %d of %d rows have no prediction, the first in line %d: %s", path, missed.Rows-missed.Predicted, missed.Rows, missed.FirstWhyLine,
				strings.TrimPrefix(missed.FirstWhy, fmt.Sprintf("line %d: ", missed.FirstWhyLine)))
		}
		if len(missed.BelowFloor) > 0 {
			tell(c, "%s: %s: measured below the floor: error of the data (a wrong GPU, model, format or number of GPUs), left out of the errors",
				path, linesNamed(missed.BelowFloor))
		}
		tell(c, "%s: %s", path, missed)
		return nil
	})
}

// mostLines is how many lines a message lists.
const mostLines = 12

// linesNamed names lines of the file, so that an editor finds them.
func linesNamed(lines []int) string {
	if len(lines) == 1 {
		return fmt.Sprintf("line %d", lines[0])
	}
	var named []string
	for _, line := range lines[:min(len(lines), mostLines)] {
		named = append(named, fmt.Sprint(line))
	}
	if more := len(lines) - mostLines; more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	last := len(named) - 1
	return "lines " + strings.Join(named[:last], ", ") + " and " + named[last]
}

// readPoints reads the file, or stdin for "-".
func readPoints(c *cli.Context, path string) (*analysis.Points, error) {
	from := io.NopCloser(c.App.Reader)
	if path != "-" {
		file, err := userfile.Open(path)
		if err != nil {
			return nil, fmt.Errorf("predict: %w", err)
		}
		from = file
	}
	defer from.Close()
	points, err := analysis.ReadPoints(from)
	if err != nil {
		return nil, fmt.Errorf("predict: %s: %w", path, err)
	}
	return points, nil
}

// printPoints gives a program a table of the file's kind: CSV unless it asked for JSON. A person gets what fits the terminal.
func printPoints(c *cli.Context, table analysis.Table, points *analysis.Points) error {
	switch {
	case isForPrograms(c):
		return printTable(c, table)
	case !terminal.Is(c.App.Writer):
		return tables.WriteCSV(terminal.Product(c.App.Writer), table)
	}
	return tables.WriteText(c.App.Writer, pointsForPeople(table, points), terminal.Width(c.App.Writer))
}

// pointsForPeople are the lines of the file with the answer alone.
func pointsForPeople(table analysis.Table, points *analysis.Points) analysis.Table {
	people := tableOf("line", "TPOT ms", "90 % band", "floor ms", "error", "remark")
	for i, row := range rowsOf(table) {
		cells := []any{int64(points.Lines[i]), "-", "-", "-", "-", row.text("why")}
		if tpot := row.number("predicted_tpot_s"); hasValue(tpot) {
			cells[1], cells[3] = milliseconds(tpot), milliseconds(row.number("floor_tpot_s"))
			cells[2] = milliseconds(row.number("low_s")) + " - " + milliseconds(row.number("high_s"))
		}
		if missed := row.number("error_ratio"); hasValue(missed) {
			cells[4] = fmt.Sprintf("%+.1f %%", 100*missed)
			if row["is_below_floor"] == true {
				cells[5] = "measured below the floor: error of the data"
			}
		}
		people.Rows = append(people.Rows, cells)
	}
	return people
}
