package keep

// The published copy of the warehouse: how verbs read it, how they write it, and the verb
// "warehouse publish", which does nothing else. internal/store/published says what is in the folder.
//
// Where --publish names a bucket, the folder beside the warehouse is published as ever, and
// then copied there: verbs that read stay on this machine, and a slow network holds up
// nobody who waits for the warehouse, which is closed by then.
//
// Publishing never fails a verb: what it did is done and in the warehouse. A reader that
// finds no snapshot of the present state makes one if it can; else it reads what there is,
// and says of which time or version that is.
//
// The verb "warehouse upgrade" is the third: it opens the warehouse to write, and that is all.
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

type publishFlags struct {
	kit.Call
	replace, off bool
}

func PublishCommand() *cli.Command {
	f := &publishFlags{}
	return &cli.Command{
		Name:    "warehouse publish",
		Aliases: []string{"publish"},
		Usage:   "bring the published copy up to date, or end publishing",
		Description: `Every change is published by itself, into a folder beside the warehouse:
latest.duckdb, which any DuckDB opens while work goes on, and a lake of
Parquet files, which any engine reads. This verb is for what was left out: a
folder that could not be written, or publishing that was switched off. It
also reads what is published, and makes anew what is missing or damaged.
With --publish s3://bucket/prefix a bucket gets a copy of the folder; the key
is in the AWS variables, another server than AWS in $AWS_ENDPOINT_URL.

Example:
  tidemark warehouse publish
  duckdb -readonly tidemark.published/latest.duckdb "from marts.runs"`,
		Flags: f.WarehouseFlags(
			&cli.BoolFlag{Name: "replace", Usage: "publish where another warehouse is published", Destination: &f.replace},
			&cli.BoolFlag{Name: "off", Usage: "remove what is published and publish no more, until \"tidemark warehouse publish\"", Destination: &f.off},
		),
		Action: f.Do(f.run),
	}
}

func UpgradeCommand() *cli.Command {
	c := &kit.Call{}
	return &cli.Command{
		Name:    "warehouse upgrade",
		Aliases: []string{"upgrade"},
		Usage:   "bring the warehouse to this version of tidemark",
		Description: `The first verb that writes does this too; here it is all that is done. Data
stays as it is. What is computed from it is computed again where this version
says it in another way, which takes a second for some thousand requests.

Example:
  tidemark warehouse upgrade --warehouse fleet.duckdb`,
		Flags: c.WarehouseFlags(),
		Action: c.Do(func() error {
			if err := c.NoArguments("name the warehouse with --warehouse FILE"); err != nil {
				return err
			}
			return c.WithWarehouse(c.Context, warehouse.Update, func(_ context.Context, w *warehouse.Warehouse) error {
				if w.IsRenewed() {
					c.Remark("%s is of this version now, tidemark %s", w.Path(), kit.Version)
				} else {
					c.Remark("%s is of this version already, tidemark %s", w.Path(), kit.Version)
				}
				return nil
			})
		}),
	}
}

func (f *publishFlags) run() error {
	folder := f.PublishedFolder()
	if err := errors.Join(f.NoArguments("name the warehouse with --warehouse FILE, and the folder with --publish DIR"), f.NotASnapshot()); err != nil {
		return err
	}
	if folder == published.Off {
		return hint.Misuse("warehouse publish: --publish or TIDEMARK_PUBLISH says off").Hint("name a folder with --publish DIR")
	}
	if err := f.Exclusive("replace", "off"); err != nil {
		return err
	}
	bucket, isBucket, err := f.BucketOf("publish", f.Publish)
	if err != nil {
		return err
	}
	if isBucket && f.off {
		if err := published.SwitchOffBucket(f.Context, f.Warehouse, bucket, kit.Version); err != nil {
			return err
		}
		f.Tell("nothing is published in %s any more, and what was is removed; %s stays", bucket, folder)
		return nil
	}
	if f.off {
		return switchOff(&f.Call, folder)
	}
	if err := publishFolder(&f.Call, folder, f.replace && !isBucket); err != nil || !isBucket {
		return err
	}
	return f.publishBucket(bucket)
}

func switchOff(c *kit.Call, folder string) error {
	err := published.CheckOwner(c.Warehouse, folder)
	if err == nil {
		err = published.SwitchOff(c.Warehouse, folder)
	}
	if err != nil {
		return err
	}
	c.Tell("nothing is published any more; what was published in %s is removed", folder)
	return nil
}

// publishFolder is the verb's work on a folder.
func publishFolder(c *kit.Call, folder string, replace bool) error {
	if replace {
		if err := published.Forget(folder); err != nil {
			return err
		}
	}
	if err := published.CheckOwner(c.Warehouse, folder); err != nil {
		return err
	}
	if err := published.SwitchOn(folder); err != nil {
		return err
	}
	if _, err := os.Stat(c.Warehouse); err != nil {
		return hint.Errorf("warehouse %s: %w", c.Warehouse, errors.Unwrap(err)).Hint("name one with --warehouse FILE")
	}
	var w *warehouse.Warehouse
	err := c.Patiently(c.Context, c.Wait, func() (err error) {
		w, err = warehouse.Open(c.TellingRenewal(c.Context), c.Warehouse, warehouse.Update)
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
		c.Remark("missing or damaged, and made anew: %s", show.Things(result.Damaged, "file", "files"))
	}
	if result.Bytes == 0 {
		c.Remark("%s is of the present state", folder)
		return nil
	}
	c.Remark("published in %s: %s", folder, kit.Megabytes(result.Bytes))
	return nil
}

// publishBucket is the verb's work on a bucket, once the folder is up to date.
func (f *publishFlags) publishBucket(bucket objects.Address) error {
	sent, err := published.Send(f.Context, f.Warehouse, bucket, kit.Version, f.replace, true)
	f.TellUnguarded(bucket, sent)
	if err != nil {
		return err
	}
	if sent.Damaged > 0 {
		f.Remark("missing or damaged, and made anew: %s", show.Things(sent.Damaged, "object", "objects"))
	}
	if sent.Objects == 0 {
		f.Remark("%s is of the present state", bucket)
		return nil
	}
	f.Remark("published in %s: %s", bucket, kit.SentWords(sent))
	return nil
}
