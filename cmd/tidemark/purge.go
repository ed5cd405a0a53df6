package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/privacy"
	"tidemark/internal/show"
)

func purgeCommand() *cli.Command {
	return &cli.Command{
		Name:      "purge",
		Usage:     "remove sources and runs, and really shrink the file",
		ArgsUsage: "[NAME...] [--before DATE]",
		Description: `Removes what is called NAME, or what was taken in before a date: its rows, its
rejects, its entry. With both, what is called NAME and was taken in before. The warehouse is written anew without them, so that no byte
of them stays in it. It does not reach files that were read or written, nor
copies and backups of the warehouse.

Example:
  tidemark purge --before 2026-08-01`,
		Flags: tabular(
			&cli.StringFlag{Name: "before", Usage: "only what was taken in before a `DATE` (UTC): 2026-08-01, or 2026-08-01T12:00:00Z"},
		),
		Action: runPurge,
	}
}

func runPurge(c *cli.Context) error {
	if c.NArg() == 0 && !c.IsSet("before") {
		return hint.Misuse("purge: neither --before nor a name").Hint("tidemark purge --help")
	}
	var before time.Time
	if text := c.String("before"); c.IsSet("before") {
		var err error
		if before, err = time.Parse(time.DateOnly, text); err != nil {
			if before, err = time.Parse(time.RFC3339, text); err != nil {
				return hint.Misuse("purge: --before %s: not a date", text).Hint("as in 2026-08-01 or 2026-08-01T12:00:00Z")
			}
		}
	}
	var result *privacy.PurgeResult
	err := patiently(c.Context, c, c.Duration("wait"), func() (err error) {
		result, err = privacy.Purge(c.Context, c.String("warehouse"), before, c.Args().Slice())
		return err
	})
	if err != nil {
		return err
	}
	table := analysis.Table{Columns: columnsOf("name", "kind", "ingested_at", "rows")}
	for _, s := range result.Sources {
		table.Rows = append(table.Rows, []any{s.Name, s.Kind, s.IngestedAt, s.Rows})
	}
	if err := printTable(c, table); err != nil {
		return err
	}
	if len(result.Sources) == 0 {
		tell(c, "nothing to remove; nothing was changed")
		return nil
	}
	removed := show.Things(len(result.Sources), "source", "sources")
	tell(c, "%s removed; %s had %s and has %s", removed, c.String("warehouse"), megabytes(result.Before), megabytes(result.After))
	return nil
}

func megabytes(bytes int64) string { return fmt.Sprintf("%s MB", show.Figures(float64(bytes)/1e6)) }
