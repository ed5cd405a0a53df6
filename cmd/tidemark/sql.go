package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/warehouse"
)

func sqlCommand() *cli.Command {
	return &cli.Command{
		Name:      "sql",
		Usage:     "ask anything; \"tidemark schema\" lists what there is to ask",
		ArgsUsage: "[QUERY]   (- or nothing reads it from stdin)",
		Description: `The warehouse is opened read-only. A query that may mix what other tools
mean by a word is told so on stderr.

Example:
  tidemark sql "select source_name, mean_rate_per_s from marts.sources"`,
		Flags:  tabular(),
		Action: runSQL,
	}
}

func runSQL(c *cli.Context) error {
	query, err := queryText(c)
	if err != nil {
		return err
	}
	return withWarehouse(c.Context, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := analysis.Query(ctx, w.DB(), query)
		if err != nil {
			return fmt.Errorf("sql: %w", err)
		}
		if mixed, err := analysis.MixedDefinitions(ctx, w.DB(), query); err == nil && mixed != "" {
			tell(c, "note: %s", mixed)
		}
		return printTable(c, table)
	})
}

func queryText(c *cli.Context) (string, error) {
	if c.NArg() > 1 {
		return "", hint.Misuse("sql: one query, not %d", c.NArg()).Hint("put the query in quotes")
	}
	if query := c.Args().First(); query != "" && query != "-" {
		return query, nil
	}
	text, err := io.ReadAll(c.App.Reader)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(text)) == "" {
		return "", hint.Misuse("sql: no query given").Hint(`tidemark sql "from marts.sources"`)
	}
	return string(text), nil
}

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name:      "schema",
		Usage:     "list the relations of the warehouse, or the columns of one",
		ArgsUsage: "[RELATION]",
		Description: `Example:
  tidemark schema marts.tpot_gap`,
		Flags:  tabular(),
		Action: runSchema,
	}
}

func runSchema(c *cli.Context) error {
	if c.NArg() > 1 {
		return hint.Misuse("schema: one relation, not %d", c.NArg())
	}
	return withWarehouse(c.Context, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := analysis.Schema(ctx, w.DB(), c.Args().First())
		if err != nil {
			return err
		}
		if c.NArg() == 0 && !c.Bool("csv") && !c.Bool("json") {
			firstLines(table)
		}
		return printTable(c, table)
	})
}

// firstLines shortens a list for people: of a relation's comment its grain.
func firstLines(table analysis.Table) {
	for _, row := range table.Rows {
		for i, value := range row {
			if text, ok := value.(string); ok {
				row[i], _, _ = strings.Cut(text, "\n")
			}
		}
	}
}
