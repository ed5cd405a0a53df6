package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/tables"
	"tidemark/internal/terminal"
	"tidemark/internal/warehouse"
)

// calculator opens what a calculator asks: the warehouse, which knows the GPUs, models and calibrations that the user
// took in, else the built-in catalogue. A warehouse that is held is waited for: the answer must not depend on a lock.
func calculator(c *cli.Context, use func(context.Context, *warehouse.Warehouse) error) error {
	path := c.String("warehouse")
	_, err := os.Stat(path)
	if err == nil {
		return withWarehouse(c.Context, c, warehouse.ReadOnly, use)
	}
	if file := (*os.PathError)(nil); c.IsSet("warehouse") && errors.As(err, &file) {
		tell(c, "warehouse %s: %v, so the built-in GPUs, models and constants are taken", path, file.Err)
	}
	return inCatalogue(c.Context, func(w *warehouse.Warehouse) error { return use(c.Context, w) })
}

func isForPrograms(c *cli.Context) bool { return c.Bool("csv") || c.Bool("json") }

// remark says a sentence under the table, where a program reads the table beside it.
func remark(c *cli.Context, format string, args ...any) {
	text := escape.Controls(fmt.Sprintf(format, args...), "")
	if isForPrograms(c) {
		tell(c, "%s", text)
		return
	}
	fmt.Fprintln(c.App.Writer, strings.Join(terminal.Wrapped(text, terminal.Width(c.App.Writer)), "\n"))
}

// rowOf is a row of a table by the names of its columns.
type rowOf map[string]any

func rowsOf(table analysis.Table) []rowOf {
	rows := make([]rowOf, len(table.Rows))
	for i, cells := range table.Rows {
		rows[i] = rowOf{}
		for j, column := range table.Columns {
			rows[i][column.Name] = cells[j]
		}
	}
	return rows
}

func (r rowOf) number(name string) float64 {
	switch v := r[name].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	default:
		return math.NaN()
	}
}

func (r rowOf) text(name string) string { return tables.Plain(r[name]) }

// For people bytes are in GB, 10^9, and in GiB, 2^30, each in a column of its own.
func gigabytes(bytes float64) string       { return show.Figures(bytes / 1e9) }
func gibibytes(bytes float64) string       { return show.Figures(bytes / (1 << 30)) }
func whole(n float64) string               { return show.Count(n) }
func tenths(n float64) string              { return grouped(strconv.FormatFloat(n, 'f', 1, 64)) }
func hasValue(number float64) bool         { return !math.IsNaN(number) }
func columnNamed(s string) analysis.Column { return analysis.Column{Name: s} }

// grouped sets commas between thousands.
func grouped(number string) string {
	whole, rest, _ := strings.Cut(number, ".")
	for i := len(whole) - 3; i > 0 && whole[i-1] != '-'; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return whole
}

// bytesOf reads a size with its unit: 5.5GiB, 80 GB. Nil: the flag is not given.
func bytesOf(c *cli.Context, flag string) (*float64, error) {
	if !c.IsSet(flag) {
		return nil, nil
	}
	text := strings.TrimSpace(c.String(flag))
	size, isSize := deployment.Bytes(text)
	if !isSize {
		return nil, hint.Misuse("%s: --%s %s: not a size", c.Command.Name, flag, text).
			Hint("a number and its unit: 80GB is 80e9 bytes, 80GiB is 85.9e9, 81559MiB as nvidia-smi says it")
	}
	return new(size), nil
}

// positiveFlags refuses what is not at least 1 where it is given.
func positiveFlags(c *cli.Context, flags ...string) error {
	for _, flag := range flags {
		if c.IsSet(flag) && c.Int64(flag) < 1 {
			return hint.Misuse("%s: --%s must be at least 1", c.Command.Name, flag)
		}
	}
	return nil
}
