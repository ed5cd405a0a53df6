package main

// The published copy of the warehouse: how verbs read it, how they write it, and the verb
// publish, which does nothing else. internal/published says what is in the folder.
//
// Publishing never fails a verb: what it did is done and in the warehouse. A reader that
// finds no snapshot of the present state makes one if it can; else it reads what there is,
// and says of which time or version that is.
//
// The verb upgrade is the third: it opens the warehouse to write, and that is all.
//
// Exit codes of publish: 0; 4 where the folder cannot be written.

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/internal/hint"
	"tidemark/internal/published"
	"tidemark/internal/warehouse"
)

// publishFlag can be set for a whole shell by the environment.
func publishFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "publish", Usage: "publish into `DIR`, \"off\" for nowhere (default: beside the warehouse)",
		EnvVars: []string{"TIDEMARK_PUBLISH"},
	}
}

func publishedFolder(c *cli.Context) string {
	return published.Folder(c.String("warehouse"), c.String("publish"))
}

// publish brings the folder up to date with an open warehouse. An error is told and does
// not fail the verb. What it returns must be called once the warehouse is closed.
func publish(ctx context.Context, c *cli.Context, w *warehouse.Warehouse) (done func()) {
	if w.WillBeDiscarded() || hardStop(c.Context).Err() != nil { // the next reader publishes what is left out now
		return func() {}
	}
	folder := publishedFolder(c)
	result, done, err := published.Publish(ctx, w, folder, version)
	if err != nil {
		tell(c, "warning: %v", err)
		if advice := hint.Of(err); advice != "" {
			tell(c, "hint: %s", advice)
		}
	} else if result.IsFirst {
		tell(c, "published for readers in %s: %s (\"tidemark publish --off\" ends it)", folder, megabytes(result.Bytes))
	}
	return done
}

// reading opens what a verb reads: the snapshot where it is of the present state. If it is
// not, and nobody holds the warehouse, the snapshot is brought up to date first.
func reading(ctx context.Context, c *cli.Context, wait time.Duration, use func(context.Context, *warehouse.Warehouse) error) error {
	path, folder := c.String("warehouse"), publishedFolder(c)
	fresh, manifest, err := published.Fresh(path, folder)
	if err != nil {
		return err
	}
	var problem error
	if fresh != published.SwitchedOff && fresh != published.OfAnother && fresh != published.Current {
		problem = broughtUp(ctx, c, path)
		if fresh, manifest, err = published.Fresh(path, folder); err != nil {
			return err
		}
	}
	mode := warehouse.ReadOnly
	if problem != nil && !errors.Is(problem, errNotOpened) && fresh != published.Current && ctx.Err() == nil {
		tell(c, "warning: %v; the answer is from %s itself, and writers wait for it", problem, path)
		fresh = published.SwitchedOff
	}
	switch fresh {
	case published.OfAnother:
		tell(c, "%s holds what is published of another warehouse, so the answer is from %s itself", folder, path)
	case published.Current:
		path = published.Snapshot(folder)
	case published.Older:
		path = published.Snapshot(folder)
		tell(c, "the answer is of %s, as published then: another process is writing", manifest.Published)
	case published.OtherVersion:
		path, mode = published.Snapshot(folder), warehouse.AnyVersion
		tell(c, "the answer is from what tidemark %s published at %s: another process holds the warehouse, so it is not brought to this version yet", manifest.Version, manifest.Published)
	}
	var w *warehouse.Warehouse
	err = patiently(ctx, c, wait, func() (err error) {
		w, err = warehouse.Open(ctx, path, mode)
		return err
	})
	if err != nil {
		return err
	}
	err = w.Explain(use(ctx, w))
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

// errNotOpened marks the error of a warehouse that cannot be opened for writing, mostly
// because another process holds it.
var errNotOpened = errors.New("not opened")

// broughtUp opens the warehouse for writing, which brings its views to this version and
// computes what a killed writer left out, and publishes it.
func broughtUp(ctx context.Context, c *cli.Context, path string) error {
	w, err := warehouse.Open(tellingRenewal(ctx, c), path, warehouse.Update)
	if err != nil {
		return errors.Join(errNotOpened, err)
	}
	if w.IsRenewed() {
		tell(c, "%s: its views are now those of this version of tidemark", path)
	}
	_, done, err := published.Publish(ctx, w, publishedFolder(c), version)
	err = errors.Join(err, w.Close())
	done()
	return err
}

func publishCommand() *cli.Command {
	return &cli.Command{
		Name:  "publish",
		Usage: "bring the published copy of the warehouse up to date, or end publishing",
		Description: `Every change is published by itself, into a folder beside the warehouse:
latest.duckdb, which any DuckDB opens while work goes on, and a lake of
Parquet files, which any engine reads. This verb is for what was left out: a
folder that could not be written, or publishing that was switched off.

Example:
  tidemark publish
  duckdb -readonly tidemark.published/latest.duckdb "from marts.runs"`,
		Flags: withWarehouseFlags(
			&cli.BoolFlag{Name: "replace", Usage: "publish into a folder that holds what is published of another warehouse"},
			&cli.BoolFlag{Name: "off", Usage: "remove what is published and publish no more, until \"tidemark publish\""},
		),
		Action: runPublish,
	}
}

func upgradeCommand() *cli.Command {
	return &cli.Command{
		Name:  "upgrade",
		Usage: "bring the warehouse to this version of tidemark",
		Description: `The first verb that writes does this too; here it is all that is done. Data
stays as it is. What is computed from it is computed again where this version
says it in another way, which takes a second for some thousand requests.

Example:
  tidemark upgrade --warehouse fleet.duckdb`,
		Flags: withWarehouseFlags(),
		Action: func(c *cli.Context) error {
			return withWarehouse(c.Context, c, warehouse.Update, func(_ context.Context, w *warehouse.Warehouse) error {
				if w.IsRenewed() {
					remark(c, "%s is of this version now, tidemark %s", w.Path(), version)
				} else {
					remark(c, "%s is of this version already, tidemark %s", w.Path(), version)
				}
				return nil
			})
		},
	}
}

func runPublish(c *cli.Context) error {
	folder := publishedFolder(c)
	if folder == published.Off {
		return hint.Misuse("publish: --publish or TIDEMARK_PUBLISH says off").Hint("name a folder with --publish DIR")
	}
	if err := exclusive(c, "replace", "off"); err != nil {
		return err
	}
	if c.Bool("replace") {
		if err := published.Forget(folder); err != nil {
			return err
		}
	}
	if err := published.CheckOwner(c.String("warehouse"), folder); err != nil {
		return err
	}
	if c.Bool("off") {
		if err := published.SwitchOff(folder); err != nil {
			return err
		}
		tell(c, "nothing is published any more; %s is empty", folder)
		return nil
	}
	if err := published.SwitchOn(folder); err != nil {
		return err
	}
	if _, err := os.Stat(c.String("warehouse")); err != nil {
		return hint.Errorf("warehouse %s: %w", c.String("warehouse"), errors.Unwrap(err)).Hint("name one with --warehouse FILE")
	}
	var w *warehouse.Warehouse
	err := patiently(c.Context, c, c.Duration("wait"), func() (err error) {
		w, err = warehouse.Open(tellingRenewal(c.Context, c), c.String("warehouse"), warehouse.Update)
		return err
	})
	if err != nil {
		return err
	}
	result, done, err := published.Publish(c.Context, w, folder, version)
	err = errors.Join(err, w.Close())
	done()
	if err != nil {
		return err
	}
	if result.Bytes == 0 {
		remark(c, "%s is of the present state", folder)
		return nil
	}
	remark(c, "published in %s: %s", folder, megabytes(result.Bytes))
	return nil
}
