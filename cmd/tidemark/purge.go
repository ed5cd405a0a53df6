package main

// The verb purge removes sources and runs. internal/privacy rewrites the warehouse into
// a new file without them and renames it, because DuckDB leaves deleted rows in its
// free blocks, where anybody can read them.
//
// Nothing is removed while another process holds the warehouse: patiently waits.
// Exit codes: 0, also where nothing matches; 2 for a date that is none.

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/internal/hint"
	"tidemark/internal/privacy"
	"tidemark/internal/published"
	"tidemark/internal/show"
)

func purgeCommand() *cli.Command {
	return &cli.Command{
		Name:      "purge",
		Usage:     "remove sources and runs, and really shrink the file",
		ArgsUsage: "[NAME...] [--before DATE]",
		Description: `Removes the source or run NAME, or everything ingested before a date: rows,
rejects and the entry. With both, NAME if it was ingested before the date.
The warehouse is written again without them, so that no byte of them stays
in it, and so is what is published. Files that were read or written, copies and backups are not touched.

Example:
  tidemark purge --before 2026-08-01`,
		Flags: withTableFlags(
			&cli.StringFlag{Name: "before", Usage: "only what was ingested before a `DATE` (UTC): 2026-08-01, or 2026-08-01T12:00:00Z"},
		),
		Action: runPurge,
	}
}

// runPurge opens no warehouse: internal/privacy replaces the file as a whole.
func runPurge(c *cli.Context) error {
	if c.NArg() == 0 && !c.IsSet("before") {
		return hint.Misuse("purge: a name or --before is missing").Hint("tidemark purge --help")
	}
	var before time.Time
	if text := c.String("before"); c.IsSet("before") {
		var notDate, notTime error
		if before, notDate = time.Parse(time.DateOnly, text); notDate != nil {
			before, notTime = time.Parse(time.RFC3339, text)
		}
		if notTime != nil {
			return hint.Misuse("purge: --before %s: not a date", text).Hint("as in 2026-08-01 or 2026-08-01T12:00:00Z")
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
	table := tableOf("name", "kind", "ingested_at", "rows")
	for _, s := range result.Sources {
		table.Rows = append(table.Rows, []any{s.Name, s.Kind, s.IngestedAt, s.Rows})
	}
	if len(result.Sources) > 0 {
		if err := purgePublished(c); err != nil {
			return err
		}
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

// purgePublished publishes anew what is left, so that nothing published has a byte of what was removed. Where that fails,
// all that is published is removed.
func purgePublished(c *cli.Context) error {
	folder := publishedFolder(c)
	state, _, err := published.Fresh(c.String("warehouse"), folder)
	if err != nil || state == published.SwitchedOff || state == published.OfAnother || state == published.Missing {
		return err
	}
	if err := published.Forget(folder); err != nil {
		return err
	}
	if broughtUp(c.Context, c, c.String("warehouse")) == nil {
		return nil
	}
	tell(c, "%s could not be published anew, so that all in it was removed", folder)
	return published.Clean(folder)
}

func megabytes(bytes int64) string { return fmt.Sprintf("%s MB", show.Figures(float64(bytes)/1e6)) }
