package take

// The verb "warehouse purge" removes sources and runs. internal/privacy rewrites the warehouse into
// a new file without them and renames it, because DuckDB leaves deleted rows in its
// free blocks, where anybody can read them. Nothing is removed while another process holds
// the warehouse: Patiently waits.
//
// Exit codes: 0, also where nothing matches; 2 for a date
// that is none; 4 also where rows are gone from the warehouse and something published
// could not be removed.

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/internal/privacy"
	"tidemark/internal/show"
	"tidemark/internal/store/objects"
	"tidemark/internal/store/published"
)

type purgeFlags struct {
	kit.Call
	before time.Time
}

func PurgeCommand() *cli.Command {
	f := &purgeFlags{}
	return &cli.Command{
		Name:      "warehouse purge",
		Aliases:   []string{"purge"},
		Usage:     "remove sources and runs, and really shrink the file",
		ArgsUsage: "[NAME...] [--before DATE]",
		Description: `Removes the source or run NAME, or everything ingested before a date: rows,
rejects and the entry. With both, NAME if it was ingested before the date.
The warehouse is written again without them, so that no byte of them stays
in it, and so is what is published, in every folder and bucket that the warehouse
remembers. Files that were read or written, copies and backups are not touched.

Example:
  tidemark warehouse purge --before 2026-08-01`,
		Flags: f.TableFlags(
			&cli.StringFlag{Name: "before", Usage: "only what was ingested before a `DATE` (UTC): 2026-08-01, or 2026-08-01T12:00:00Z", Action: f.setBefore},
		),
		Action: f.Do(f.run),
	}
}

// run opens no warehouse: internal/privacy replaces the file as a whole.
func (f *purgeFlags) run() error {
	if f.Args.Len() == 0 && f.before.IsZero() {
		return hint.Misuse("warehouse purge: a name or --before is missing").Hint("tidemark warehouse purge --help")
	}
	if err := f.NotASnapshot(); err != nil {
		return err
	}
	var result *privacy.PurgeResult
	var emptied []string          // folders where it was published
	var buckets []objects.Address // and buckets
	var leftErr error             // of those that may still have rows
	err := f.Patiently(f.Context, f.Wait, func() (err error) {
		result, err = privacy.Purge(f.Context, f.Warehouse, f.before, f.Args.Slice(), func() {
			var folderErr, bucketErr error
			emptied, folderErr = published.Withdraw(f.Warehouse, f.PublishedFolder())
			buckets, bucketErr = published.EmptyBuckets(f.Context, f.Warehouse, kit.Version)
			leftErr = errors.Join(folderErr, bucketErr)
		})
		return err
	})
	republish(&f.Call, emptied)
	resend(&f.Call, buckets)
	if err != nil {
		return err
	}
	table := kit.TableOf("name", "kind", "ingested_at", "rows")
	for _, s := range result.Sources {
		table.Rows = append(table.Rows, []any{s.Name, s.Kind, s.IngestedAt, s.Rows})
	}
	if err := f.PrintTable(table); err != nil {
		return errors.Join(err, leftErr)
	}
	if len(result.Sources) == 0 {
		f.Tell("nothing to remove; nothing was changed")
		return nil
	}
	removed := show.Things(len(result.Sources), "source", "sources")
	f.Tell("%s removed; %s had %s and has %s", removed, f.Warehouse, kit.Megabytes(result.Before), kit.Megabytes(result.After))
	return leftErr
}

func (f *purgeFlags) setBefore(_ *cli.Context, text string) (err error) {
	if f.before, err = time.Parse(time.DateOnly, text); err == nil {
		return nil
	}
	if f.before, err = show.ReadInstant(text); err == nil {
		return nil
	}
	return hint.Misuse("warehouse purge: --before %s: not a date", text).Hint("as in 2026-08-01, or with its zone: 2026-08-01T12:00:00Z")
}

// republish publishes anew what is left, wherever it was published. Where that fails, nothing is published any more.
func republish(c *kit.Call, emptied []string) {
	ctx := context.WithoutCancel(c.Context)
	for _, folder := range emptied {
		if c.PublishedFolder() == published.Off {
			c.Tell("what was published in %s is removed; \"tidemark warehouse publish\" publishes it again", folder)
			continue
		}
		// A reader that found nothing published may have the warehouse open.
		err := c.Patiently(ctx, c.Wait, func() error { return c.BroughtUp(ctx, folder) })
		if err != nil {
			c.Tell("warning: %s could not be published anew (%v), so that all in it was removed", folder, err)
			_ = published.Clean(folder) // it has nothing of what was purged
		}
	}
}

// resend copies what is left into the buckets again.
func resend(c *kit.Call, buckets []objects.Address) {
	for _, at := range buckets {
		if c.PublishedFolder() == published.Off {
			c.Tell("what was published in %s is removed; \"tidemark warehouse publish --publish %s\" publishes it again", at, at)
		} else if _, err := published.Send(c.Context, c.Warehouse, at, kit.Version, false, false); err != nil {
			c.Warn(err)
		}
	}
}
