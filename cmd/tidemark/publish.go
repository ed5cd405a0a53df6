package main

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
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/objects"
	"tidemark/internal/store/published"
	"tidemark/internal/store/warehouse"
)

// publishFlag can be set for a whole shell by the environment.
func publishFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "publish", Usage: "publish into `DIR` or s3://bucket/prefix, \"off\" for nowhere (default: beside the warehouse)",
		EnvVars: []string{"TIDEMARK_PUBLISH"},
		Action: func(c *cli.Context, value string) error {
			_, _, err := bucketOf(c, "publish")
			return err
		},
	}
}

// publishedFolder is the folder of this machine.
func publishedFolder(c *cli.Context) string {
	asked := c.String("publish")
	if objects.IsAddress(asked) {
		asked = ""
	}
	return published.Folder(c.String("warehouse"), asked)
}

// bucketOf is the bucket that a flag names, if it names one.
func bucketOf(c *cli.Context, flag string) (at objects.Address, is bool, err error) {
	asked := c.String(flag)
	if is = objects.IsAddress(asked); is {
		at, err = objects.ParseAddress(asked)
	} else {
		err = objects.CheckFolder(asked)
	}
	if err != nil {
		err = hint.Errorf("%s: --%s: %w", c.Command.Name, flag, err).Hint("%s", hint.Of(err))
	}
	return at, is, err
}

// sendToBucket copies the folder into the bucket that --publish names. The warehouse is closed: nobody waits for the network. As
// with the folder, an error is told and does not fail the verb.
func sendToBucket(c *cli.Context) {
	at, is, err := bucketOf(c, "publish")
	if !is {
		return
	}
	var sent published.Sent
	if err == nil {
		sent, err = published.Send(c.Context, c.String("warehouse"), at, version, false, false)
	}
	if err != nil {
		warn(c, err)
	} else if sent.IsFirst {
		tell(c, "published for readers elsewhere in %s: %s", at, sentWords(sent))
	}
	tellUnguarded(c, at, sent)
}

func sentWords(sent published.Sent) string {
	return fmt.Sprintf("%s, %s", show.Things(sent.Objects, "object", "objects"), megabytes(sent.Bytes))
}

func tellUnguarded(c *cli.Context, at objects.Address, sent published.Sent) {
	if sent.IsUnguarded {
		tell(c, "warning: the server of %s heeds no conditions (If-Match), so that nothing keeps two publishers apart: let one process alone publish there", at)
	}
}

func warn(c *cli.Context, err error) {
	tell(c, "warning: %v", err)
	if advice := hint.Of(err); advice != "" {
		tell(c, "hint: %s", advice)
	}
}

// publish brings the folder up to date with an open warehouse. An error is told and does
// not fail the verb. What it returns must be called once the warehouse is closed; it also
// copies the folder into a bucket.
func publish(ctx context.Context, c *cli.Context, w *warehouse.Warehouse) (done func()) {
	if w.WillBeDiscarded() || hardStop(c.Context).Err() != nil { // the next reader publishes what is left out now
		return func() {}
	}
	folder := publishedFolder(c)
	result, release, err := published.Publish(ctx, w, folder, version)
	if err != nil {
		warn(c, err)
	} else if result.IsFirst {
		tell(c, "published for readers in %s: %s (\"tidemark publish --off\" ends it)", folder, megabytes(result.Bytes))
	}
	return func() {
		release()
		sendToBucket(c)
	}
}

// reading opens what a verb reads: the snapshot where it is of the present state. If it is not, and nobody holds the
// warehouse, the snapshot is brought up to date first. Where nothing was ever published, it reads the warehouse and
// publishes nothing.
func reading(ctx context.Context, c *cli.Context, wait time.Duration, use func(context.Context, *warehouse.Warehouse) error) error {
	path := c.String("warehouse")
	if _, is := published.SnapshotOf(path); is {
		return readingFrom(ctx, c, wait, path, warehouse.AnyVersion, use)
	}
	snapshot, mode := snapshotToRead(ctx, c)
	if snapshot == "" {
		return readingFrom(ctx, c, wait, path, warehouse.ReadOnly, use)
	}
	w, err := warehouse.Open(ctx, snapshot, mode)
	if errors.Is(err, warehouse.ErrHeld) { // by another program: this one never writes into it
		return readingFrom(ctx, c, wait, snapshot, mode, use)
	}
	if err != nil && ctx.Err() == nil {
		tellDamaged(c, err)
		return readingFrom(ctx, c, wait, path, warehouse.ReadOnly, use)
	}
	return reads(ctx, w, err, func(ctx context.Context, w *warehouse.Warehouse) error {
		return ofSnapshot(w.Explain(use(ctx, w)), snapshot)
	})
}

// readingFrom opens one file, and waits for it while another process holds it.
func readingFrom(ctx context.Context, c *cli.Context, wait time.Duration, path string, mode warehouse.Mode, use func(context.Context, *warehouse.Warehouse) error) error {
	var w *warehouse.Warehouse
	err := patiently(ctx, c, wait, func() (err error) {
		w, err = warehouse.Open(ctx, path, mode)
		return err
	})
	return reads(ctx, w, err, func(ctx context.Context, w *warehouse.Warehouse) error { return w.Explain(use(ctx, w)) })
}

func reads(ctx context.Context, w *warehouse.Warehouse, openErr error, use func(context.Context, *warehouse.Warehouse) error) error {
	if openErr != nil {
		return openErr
	}
	err := use(ctx, w)
	if isLeft, _ := ctx.Value(leftOpen{}).(bool); isLeft {
		return err
	}
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return err
}

// ofSnapshot corrects the advice of an error that found a snapshot damaged: the warehouse is whole.
func ofSnapshot(err error, snapshot string) error {
	if err == nil || !strings.HasPrefix(err.Error(), "warehouse "+snapshot+": the file is damaged") {
		return err
	}
	return hint.Wrap(err).Hint(`"tidemark publish" makes it anew from the warehouse, which is another file; until then ask with --publish off`)
}

// snapshotToRead says which snapshot to read, or none: then it is the warehouse itself. It tells why, where that is not
// the usual case.
func snapshotToRead(ctx context.Context, c *cli.Context) (snapshot string, mode warehouse.Mode) {
	path, folder := c.String("warehouse"), publishedFolder(c)
	fresh, manifest, why := published.Fresh(path, folder)
	var problem error
	switch fresh {
	case published.Missing:
		updated(ctx, c, path)
		return "", 0
	case published.Due, published.Older, published.OtherVersion:
		problem = broughtUp(ctx, c, folder)
		fresh, manifest, why = published.Fresh(path, folder)
	}
	isHeld := errors.Is(problem, warehouse.ErrHeld) || problem == nil
	if fresh != published.Current && problem != nil && !isNotOpened(problem) && ctx.Err() == nil {
		tell(c, "warning: %v; the answer is from %s itself, and writers wait for it", problem, path)
		return "", 0
	}
	switch fresh {
	case published.Current:
		return published.Snapshot(folder), warehouse.ReadOnly
	case published.OfAnother:
		tell(c, "%s holds what is published of another warehouse, so the answer is from %s itself", folder, path)
	case published.Damaged:
		tellDamaged(c, why)
	case published.Older:
		if isHeld {
			tell(c, "the answer is of %s, as published then: another process is writing", manifest.Published)
		} else {
			tell(c, "the answer is of %s, as published then: it cannot be brought up to date: %v", manifest.Published, problem)
		}
		return published.Snapshot(folder), warehouse.ReadOnly
	case published.OtherVersion:
		because := "another process holds the warehouse"
		if !isHeld {
			because = problem.Error()
		}
		tell(c, "the answer is from what tidemark %s published at %s: %s, so it is not brought to this version yet", manifest.Version, manifest.Published, because)
		return published.Snapshot(folder), warehouse.AnyVersion
	}
	return "", 0
}

func tellDamaged(c *cli.Context, why error) {
	tell(c, "warning: what is published is damaged (%v); the answer is from %s itself: \"tidemark publish%s\" makes it anew", why, c.String("warehouse"), warehouseWords(c))
}

// updated brings a warehouse that is published nowhere to this version, and computes what a killed writer left out, if
// either is lacking. Where it cannot, opening it says so.
func updated(ctx context.Context, c *cli.Context, path string) {
	w, err := warehouse.Open(ctx, path, warehouse.ReadOnly)
	if err == nil {
		isWhole := w.IsComputed(ctx)
		if w.Close() == nil && isWhole {
			return
		}
	} else if !errors.Is(err, warehouse.ErrStale) {
		return
	}
	if w, err = warehouse.Open(tellingRenewal(ctx, c), path, warehouse.Update); err != nil {
		return
	}
	if w.IsRenewed() {
		tell(c, "%s: its views are now those of this version of tidemark", path)
	}
	_ = w.Close()
}

// notOpened is the error of a warehouse that cannot be opened for writing, mostly because another process holds it.
type notOpened struct{ error }

func (e notOpened) Unwrap() error { return e.error }

func isNotOpened(err error) bool { return errors.As(err, new(notOpened)) }

// broughtUp opens the warehouse for writing, which brings its views to this version and computes what a killed writer left
// out, and publishes it into the folders.
func broughtUp(ctx context.Context, c *cli.Context, folders ...string) error {
	path := c.String("warehouse")
	w, err := warehouse.Open(tellingRenewal(ctx, c), path, warehouse.Update)
	if err != nil {
		return notOpened{err}
	}
	if w.IsRenewed() {
		tell(c, "%s: its views are now those of this version of tidemark", path)
	}
	var errs []error
	for _, folder := range folders {
		_, done, err := published.Publish(ctx, w, folder, version)
		defer done() // after the warehouse is closed
		errs = append(errs, err)
	}
	return errors.Join(append(errs, w.Close())...)
}

// notASnapshot refuses to write into what is published: the next change would replace it.
func notASnapshot(c *cli.Context) error {
	path := c.String("warehouse")
	of, is := published.SnapshotOf(path)
	if !is {
		return nil
	}
	return hint.Misuse("%s: --warehouse %s: a published snapshot: what is written into it is lost at the next change", c.Command.Name, path).
		Hint("name the warehouse itself: --warehouse %s", of)
}

func publishCommand() *cli.Command {
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
		Flags: withWarehouseFlags(
			&cli.BoolFlag{Name: "replace", Usage: "publish where another warehouse is published"},
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
			if err := noArguments(c, "name the warehouse with --warehouse FILE"); err != nil {
				return err
			}
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
	if err := errors.Join(noArguments(c, "name the warehouse with --warehouse FILE, and the folder with --publish DIR"), notASnapshot(c)); err != nil {
		return err
	}
	if folder == published.Off {
		return hint.Misuse("publish: --publish or TIDEMARK_PUBLISH says off").Hint("name a folder with --publish DIR")
	}
	if err := exclusive(c, "replace", "off"); err != nil {
		return err
	}
	bucket, isBucket, err := bucketOf(c, "publish")
	if err != nil {
		return err
	}
	if isBucket && c.Bool("off") {
		if err := published.SwitchOffBucket(c.Context, c.String("warehouse"), bucket, version); err != nil {
			return err
		}
		tell(c, "nothing is published in %s any more, and what was is removed; %s stays", bucket, folder)
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
	tell(c, "nothing is published any more; what was published in %s is removed", folder)
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
	err := patiently(c.Context, c, c.Duration("wait"), func() (err error) {
		w, err = warehouse.Open(tellingRenewal(c.Context, c), c.String("warehouse"), warehouse.Update)
		return err
	})
	if err != nil {
		return err
	}
	result, done, err := published.PublishChecked(c.Context, w, folder, version)
	closeErr := w.Close()
	done()
	if err = errors.Join(err, closeErr); err != nil {
		return err
	}
	if result.Damaged > 0 {
		remark(c, "missing or damaged, and made anew: %s", show.Things(result.Damaged, "file", "files"))
	}
	if result.Bytes == 0 {
		remark(c, "%s is of the present state", folder)
		return nil
	}
	remark(c, "published in %s: %s", folder, megabytes(result.Bytes))
	return nil
}

// publishBucket is the verb's work on a bucket, once the folder is up to date.
func publishBucket(c *cli.Context, bucket objects.Address) error {
	sent, err := published.Send(c.Context, c.String("warehouse"), bucket, version, c.Bool("replace"), true)
	tellUnguarded(c, bucket, sent)
	if err != nil {
		return err
	}
	if sent.Damaged > 0 {
		remark(c, "missing or damaged, and made anew: %s", show.Things(sent.Damaged, "object", "objects"))
	}
	if sent.Objects == 0 {
		remark(c, "%s is of the present state", bucket)
		return nil
	}
	remark(c, "published in %s: %s", bucket, sentWords(sent))
	return nil
}
