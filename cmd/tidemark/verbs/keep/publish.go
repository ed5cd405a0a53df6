package keep

// The published copy of the warehouse: how verbs read it, how they write it, and the verb
// publish, which does nothing else. internal/store/published says what is in the folder.
//
// Where --publish names a bucket, the folder beside the warehouse is published as ever, and
// then copied there: verbs that read stay on this machine, and a slow network holds up
// nobody who waits for the warehouse, which is closed by then.
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

	"github.com/urfave/cli/v2"

	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/objects"
	"tidemark/internal/store/published"
	"tidemark/internal/store/warehouse"
)

func PublishCommand() *cli.Command {
	return &cli.Command{
		Name:  "publish",
		Usage: "bring the published copy up to date, or end publishing",
		Description: `Every change is published by itself, into a folder beside the warehouse:
latest.duckdb, which any DuckDB opens while work goes on, and a lake of
Parquet files, which any engine reads. This verb is for what was left out: a
folder that could not be written, or publishing that was switched off. It
also reads what is published, and makes anew what is missing or damaged.
With --publish s3://bucket/prefix a bucket gets a copy of the folder; the key
is in the AWS variables, another server than AWS in $AWS_ENDPOINT_URL.

Example:
  tidemark publish
  duckdb -readonly tidemark.published/latest.duckdb "from marts.runs"`,
		Flags: kit.WithWarehouseFlags(
			&cli.BoolFlag{Name: "replace", Usage: "publish where another warehouse is published"},
			&cli.BoolFlag{Name: "off", Usage: "remove what is published and publish no more, until \"tidemark publish\""},
		),
		Action: runPublish,
	}
}

func UpgradeCommand() *cli.Command {
	return &cli.Command{
		Name:  "upgrade",
		Usage: "bring the warehouse to this version of tidemark",
		Description: `The first verb that writes does this too; here it is all that is done. Data
stays as it is. What is computed from it is computed again where this version
says it in another way, which takes a second for some thousand requests.

Example:
  tidemark upgrade --warehouse fleet.duckdb`,
		Flags: kit.WithWarehouseFlags(),
		Action: func(c *cli.Context) error {
			if err := kit.NoArguments(c, "name the warehouse with --warehouse FILE"); err != nil {
				return err
			}
			return kit.WithWarehouse(c.Context, c, warehouse.Update, func(_ context.Context, w *warehouse.Warehouse) error {
				if w.IsRenewed() {
					kit.Remark(c, "%s is of this version now, tidemark %s", w.Path(), kit.Version)
				} else {
					kit.Remark(c, "%s is of this version already, tidemark %s", w.Path(), kit.Version)
				}
				return nil
			})
		},
	}
}

func runPublish(c *cli.Context) error {
	folder := kit.PublishedFolder(c)
	if err := errors.Join(kit.NoArguments(c, "name the warehouse with --warehouse FILE, and the folder with --publish DIR"), kit.NotASnapshot(c)); err != nil {
		return err
	}
	if folder == published.Off {
		return hint.Misuse("publish: --publish or TIDEMARK_PUBLISH says off").Hint("name a folder with --publish DIR")
	}
	if err := kit.Exclusive(c, "replace", "off"); err != nil {
		return err
	}
	bucket, isBucket, err := kit.BucketOf(c, "publish")
	if err != nil {
		return err
	}
	if isBucket && c.Bool("off") {
		if err := published.SwitchOffBucket(c.Context, c.String("warehouse"), bucket, kit.Version); err != nil {
			return err
		}
		kit.Tell(c, "nothing is published in %s any more, and what was is removed; %s stays", bucket, folder)
		return nil
	}
	if c.Bool("off") {
		return switchOff(c, folder)
	}
	if err := publishFolder(c, folder, c.Bool("replace") && !isBucket); err != nil || !isBucket {
		return err
	}
	return publishBucket(c, bucket)
}

func switchOff(c *cli.Context, folder string) error {
	err := published.CheckOwner(c.String("warehouse"), folder)
	if err == nil {
		err = published.SwitchOff(c.String("warehouse"), folder)
	}
	if err != nil {
		return err
	}
	kit.Tell(c, "nothing is published any more; what was published in %s is removed", folder)
	return nil
}

// publishFolder is the verb's work on a folder.
func publishFolder(c *cli.Context, folder string, replace bool) error {
	if replace {
		if err := published.Forget(folder); err != nil {
			return err
		}
	}
	if err := published.CheckOwner(c.String("warehouse"), folder); err != nil {
		return err
	}
	if err := published.SwitchOn(folder); err != nil {
		return err
	}
	if _, err := os.Stat(c.String("warehouse")); err != nil {
		return hint.Errorf("warehouse %s: %w", c.String("warehouse"), errors.Unwrap(err)).Hint("name one with --warehouse FILE")
	}
	var w *warehouse.Warehouse
	err := kit.Patiently(c.Context, c, c.Duration("wait"), func() (err error) {
		w, err = warehouse.Open(kit.TellingRenewal(c.Context, c), c.String("warehouse"), warehouse.Update)
		return err
	})
	if err != nil {
		return err
	}
	result, done, err := published.PublishChecked(c.Context, w, folder, kit.Version)
	closeErr := w.Close()
	done()
	if err = errors.Join(err, closeErr); err != nil {
		return err
	}
	if result.Damaged > 0 {
		kit.Remark(c, "missing or damaged, and made anew: %s", show.Things(result.Damaged, "file", "files"))
	}
	if result.Bytes == 0 {
		kit.Remark(c, "%s is of the present state", folder)
		return nil
	}
	kit.Remark(c, "published in %s: %s", folder, kit.Megabytes(result.Bytes))
	return nil
}

// publishBucket is the verb's work on a bucket, once the folder is up to date.
func publishBucket(c *cli.Context, bucket objects.Address) error {
	sent, err := published.Send(c.Context, c.String("warehouse"), bucket, kit.Version, c.Bool("replace"), true)
	kit.TellUnguarded(c, bucket, sent)
	if err != nil {
		return err
	}
	if sent.Damaged > 0 {
		kit.Remark(c, "missing or damaged, and made anew: %s", show.Things(sent.Damaged, "object", "objects"))
	}
	if sent.Objects == 0 {
		kit.Remark(c, "%s is of the present state", bucket)
		return nil
	}
	kit.Remark(c, "published in %s: %s", bucket, kit.SentWords(sent))
	return nil
}
