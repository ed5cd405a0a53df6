package main

// The verb purge removes sources and runs. internal/privacy rewrites the warehouse into
// a new file without them and renames it, because DuckDB leaves deleted rows in its
// free blocks, where anybody can read them.
//
// Nothing is removed while another process holds the warehouse: patiently waits.
// Exit codes: 0, also where nothing matches; 2 for a date that is none; 4 also where rows are gone from the warehouse and
// something published could not be removed.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/internal/hint"
	"tidemark/internal/objects"
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
in it, and so is what is published, in every folder and bucket that the warehouse
remembers. Files that were read or written, copies and backups are not touched.

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
	if err := notASnapshot(c); err != nil {
		return err
	}
	var result *privacy.PurgeResult
	var emptied []string          // folders where it was published
	var buckets []objects.Address // and buckets
	var leftErr error             // of those that may still have rows
	err := patiently(c.Context, c, c.Duration("wait"), func() (err error) {
		result, err = privacy.Purge(c.Context, c.String("warehouse"), before, c.Args().Slice(), func() {
			var folderErr, bucketErr error
			emptied, folderErr = published.Withdraw(c.String("warehouse"), publishedFolder(c))
			buckets, bucketErr = published.EmptyBuckets(c.Context, c.String("warehouse"), version)
			leftErr = errors.Join(folderErr, bucketErr)
		})
		return err
	})
	republish(c, emptied)
	resend(c, buckets)
	if err != nil {
		return err
	}
	table := tableOf("name", "kind", "ingested_at", "rows")
	for _, s := range result.Sources {
		table.Rows = append(table.Rows, []any{s.Name, s.Kind, s.IngestedAt, s.Rows})
	}
	if err := printTable(c, table); err != nil {
		return errors.Join(err, leftErr)
	}
	if len(result.Sources) == 0 {
		tell(c, "nothing to remove; nothing was changed")
		return nil
	}
	removed := show.Things(len(result.Sources), "source", "sources")
	tell(c, "%s removed; %s had %s and has %s", removed, c.String("warehouse"), megabytes(result.Before), megabytes(result.After))
	return leftErr
}

// republish publishes anew what is left, wherever it was published. Where that fails, nothing is published any more.
func republish(c *cli.Context, emptied []string) {
	ctx := context.WithoutCancel(c.Context)
	for _, folder := range emptied {
		if publishedFolder(c) == published.Off {
			tell(c, "what was published in %s is removed; \"tidemark publish\" publishes it again", folder)
			continue
		}
		// A reader that found nothing published may have the warehouse open.
		err := patiently(ctx, c, c.Duration("wait"), func() error { return broughtUp(ctx, c, folder) })
		if err != nil {
			tell(c, "warning: %s could not be published anew (%v), so that all in it was removed", folder, err)
			_ = published.Clean(folder) // it has nothing of what was purged
		}
	}
}

// resend copies what is left into the buckets again.
func resend(c *cli.Context, buckets []objects.Address) {
	for _, at := range buckets {
		if publishedFolder(c) == published.Off {
			tell(c, "what was published in %s is removed; \"tidemark publish --publish %s\" publishes it again", at, at)
		} else if _, err := published.Send(c.Context, c.String("warehouse"), at, version, false, false); err != nil {
			warn(c, err)
		}
	}
}

func megabytes(bytes int64) string { return fmt.Sprintf("%s MB", show.Figures(float64(bytes)/1e6)) }
