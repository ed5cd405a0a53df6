package kit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/objects"
	"tidemark/internal/store/published"
	"tidemark/internal/store/warehouse"
)

// PublishedFolder is the folder of this machine.
func (c *Call) PublishedFolder() string {
	asked := c.Publish
	if objects.IsAddress(asked) {
		asked = ""
	}
	return published.Folder(c.Warehouse, asked)
}

// BucketOf is the bucket that the value of a flag names, if it names one.
func (c *Call) BucketOf(flag, asked string) (at objects.Address, is bool, err error) {
	if is = objects.IsAddress(asked); is {
		at, err = objects.ParseAddress(asked)
	} else {
		err = objects.CheckFolder(asked)
	}
	if err != nil {
		err = hint.Errorf("%s: --%s: %w", c.Verb, flag, err).Hint("%s", hint.Of(err))
	}
	return at, is, err
}

// sendToBucket copies the folder into the bucket that --publish names. The warehouse is closed: nobody waits for the network. As
// with the folder, an error is told and does not fail the verb.
func (c *Call) sendToBucket() {
	at, is, err := c.BucketOf("publish", c.Publish)
	if !is {
		return
	}
	var sent published.Sent
	if err == nil {
		sent, err = published.Send(c.Context, c.Warehouse, at, Version, false, false)
	}
	if err != nil {
		c.Warn(err)
	} else if sent.IsFirst {
		c.Tell("published for readers elsewhere in %s: %s", at, SentWords(sent))
	}
	c.TellUnguarded(at, sent)
}

func SentWords(sent published.Sent) string {
	return fmt.Sprintf("%s, %s", show.Things(sent.Objects, "object", "objects"), Megabytes(sent.Bytes))
}

func (c *Call) TellUnguarded(at objects.Address, sent published.Sent) {
	if sent.IsUnguarded {
		c.Tell("warning: the server of %s heeds no conditions (If-Match), so that nothing keeps two publishers apart: let one process alone publish there", at)
	}
}

func (c *Call) Warn(err error) {
	c.Tell("warning: %v", err)
	if advice := hint.Of(err); advice != "" {
		c.Tell("hint: %s", advice)
	}
}

// publish brings the folder up to date with an open warehouse. An error is told and does
// not fail the verb. What it returns must be called once the warehouse is closed; it also
// copies the folder into a bucket.
func (c *Call) publish(ctx context.Context, w *warehouse.Warehouse) (done func()) {
	if w.WillBeDiscarded() || HardStop(c.Context).Err() != nil { // the next reader publishes what is left out now
		return func() {}
	}
	folder := c.PublishedFolder()
	result, release, err := published.Publish(ctx, w, folder, Version)
	if err != nil {
		c.Warn(err)
	} else if result.IsFirst {
		c.Tell("published for readers in %s: %s (\"tidemark warehouse publish --off\" ends it)", folder, Megabytes(result.Bytes))
	}
	return func() {
		release()
		c.sendToBucket()
	}
}

// reading opens what a verb reads: the snapshot where it is of the present state. If it is not, and nobody holds the
// warehouse, the snapshot is brought up to date first. Where nothing was ever published, it reads the warehouse and
// publishes nothing.
func (c *Call) reading(ctx context.Context, wait time.Duration, use func(context.Context, *warehouse.Warehouse) error) error {
	path := c.Warehouse
	if _, is := published.SnapshotOf(path); is {
		return c.readingFrom(ctx, wait, path, warehouse.AnyVersion, use)
	}
	snapshot, mode := c.snapshotToRead(ctx)
	if snapshot == "" {
		return c.readingFrom(ctx, wait, path, warehouse.ReadOnly, use)
	}
	w, err := warehouse.Open(ctx, snapshot, mode)
	if errors.Is(err, warehouse.ErrHeld) { // by another program: this one never writes into it
		return c.readingFrom(ctx, wait, snapshot, mode, use)
	}
	if err != nil && ctx.Err() == nil {
		c.tellDamaged(err)
		return c.readingFrom(ctx, wait, path, warehouse.ReadOnly, use)
	}
	return reads(ctx, w, err, func(ctx context.Context, w *warehouse.Warehouse) error {
		return ofSnapshot(w.Explain(use(ctx, w)), snapshot)
	})
}

// readingFrom opens one file, and waits for it while another process holds it.
func (c *Call) readingFrom(ctx context.Context, wait time.Duration, path string, mode warehouse.Mode, use func(context.Context, *warehouse.Warehouse) error) error {
	var w *warehouse.Warehouse
	err := c.Patiently(ctx, wait, func() (err error) {
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
	return hint.Wrap(err).Hint(`"tidemark warehouse publish" makes it anew from the warehouse, which is another file; until then ask with --publish off`)
}

// snapshotToRead says which snapshot to read, or none: then it is the warehouse itself. It tells why, where that is not
// the usual case.
func (c *Call) snapshotToRead(ctx context.Context) (snapshot string, mode warehouse.Mode) {
	path, folder := c.Warehouse, c.PublishedFolder()
	fresh, manifest, why := published.Fresh(path, folder)
	var problem error
	switch fresh {
	case published.Missing:
		c.updated(ctx, path)
		return "", 0
	case published.Due, published.Older, published.OtherVersion:
		problem = c.BroughtUp(ctx, folder)
		fresh, manifest, why = published.Fresh(path, folder)
	}
	isHeld := errors.Is(problem, warehouse.ErrHeld) || problem == nil
	if fresh != published.Current && problem != nil && !errors.As(problem, new(notOpened)) && ctx.Err() == nil {
		c.Tell("warning: %v; the answer is from %s itself, and writers wait for it", problem, path)
		return "", 0
	}
	switch fresh {
	case published.Current:
		return published.Snapshot(folder), warehouse.ReadOnly
	case published.OfAnother:
		c.Tell("%s holds what is published of another warehouse, so the answer is from %s itself", folder, path)
	case published.Damaged:
		c.tellDamaged(why)
	case published.Older:
		if isHeld {
			c.Tell("the answer is of %s, as published then: another process is writing", manifest.Published)
		} else {
			c.Tell("the answer is of %s, as published then: it cannot be brought up to date: %v", manifest.Published, problem)
		}
		return published.Snapshot(folder), warehouse.ReadOnly
	case published.OtherVersion:
		because := "another process holds the warehouse"
		if !isHeld {
			because = problem.Error()
		}
		c.Tell("the answer is from what tidemark %s published at %s: %s, so it is not brought to this version yet", manifest.Version, manifest.Published, because)
		return published.Snapshot(folder), warehouse.AnyVersion
	}
	return "", 0
}

func (c *Call) tellDamaged(why error) {
	c.Tell("warning: what is published is damaged (%v); the answer is from %s itself: \"tidemark warehouse publish%s\" makes it anew", why, c.Warehouse, c.WarehouseWords())
}

// updated brings a warehouse that is published nowhere to this version, and computes what a killed writer left out, if
// either is lacking. Where it cannot, opening it says so.
func (c *Call) updated(ctx context.Context, path string) {
	w, err := warehouse.Open(ctx, path, warehouse.ReadOnly)
	if err == nil {
		isWhole := w.IsComputed(ctx)
		if w.Close() == nil && isWhole {
			return
		}
	} else if !errors.Is(err, warehouse.ErrStale) {
		return
	}
	if w, err = warehouse.Open(c.TellingRenewal(ctx), path, warehouse.Update); err != nil {
		return
	}
	if w.IsRenewed() {
		c.Tell("%s: its views are now those of this version of tidemark", path)
	}
	_ = w.Close()
}

// notOpened is the error of a warehouse that cannot be opened for writing, mostly because another process holds it.
type notOpened struct{ error }

func (e notOpened) Unwrap() error { return e.error }

// BroughtUp opens the warehouse for writing, which brings its views to this version and computes what a killed writer left
// out, and publishes it into the folders.
func (c *Call) BroughtUp(ctx context.Context, folders ...string) error {
	path := c.Warehouse
	w, err := warehouse.Open(c.TellingRenewal(ctx), path, warehouse.Update)
	if err != nil {
		return notOpened{err}
	}
	if w.IsRenewed() {
		c.Tell("%s: its views are now those of this version of tidemark", path)
	}
	var errs []error
	for _, folder := range folders {
		_, done, err := published.Publish(ctx, w, folder, Version)
		defer done() // after the warehouse is closed
		errs = append(errs, err)
	}
	return errors.Join(append(errs, w.Close())...)
}

// NotASnapshot refuses to write into what is published: the next change would replace it.
func (c *Call) NotASnapshot() error {
	path := c.Warehouse
	of, is := published.SnapshotOf(path)
	if !is {
		return nil
	}
	return hint.Misuse("%s: --warehouse %s: a published snapshot: what is written into it is lost at the next change", c.Verb, path).
		Hint("name the warehouse itself: --warehouse %s", of)
}
