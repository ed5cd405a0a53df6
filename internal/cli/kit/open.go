package kit

// How a verb opens the warehouse, and how it waits for it.
//
// DuckDB lets one process write, or several read. A verb that reads therefore opens the
// published snapshot, which nobody writes. A verb that writes opens the warehouse as late
// and closes it as early as it can, waits up to --wait while another process holds it, and
// publishes before it closes. The wait polls ten times a second: there is no signal that
// a lock is free.
//
// Four ways to open it:
//
//   - WithWarehouse: the file itself, which must exist unless it is opened to write;
//   - Answering: the same to read, for a verb that ends with its answer;
//   - WithWarehouseIfAny: the file, or nil for verbs that can do without one;
//   - Calculator: the file, or the built-in catalogue in memory.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"tidemark/internal/escape"
	"tidemark/internal/store/warehouse"
)

// WithWarehouse opens the warehouse of the command for the duration of one
// function, and waits for it while another process holds it.
func (c *Call) WithWarehouse(ctx context.Context, mode warehouse.Mode, use func(context.Context, *warehouse.Warehouse) error) error {
	return c.WithWarehouseWithin(ctx, c.Wait, mode, use)
}

// EndsAfterVerb says that this process is the program, which ends with its verb. Tests call run and go on.
var EndsAfterVerb bool

// Answering is for a verb that reads the warehouse once and does nothing after it. It does not close the file: DuckDB takes a tenth of such a
// verb's time to free what it knew, which the end of the process does for nothing.
func (c *Call) Answering(use func(context.Context, *warehouse.Warehouse) error) error {
	return c.WithWarehouse(context.WithValue(c.Context, leftOpen{}, EndsAfterVerb), warehouse.ReadOnly, use)
}

type leftOpen struct{}

// WithWarehouseWithin is WithWarehouse that waits that long where another process has the file.
func (c *Call) WithWarehouseWithin(ctx context.Context, wait time.Duration, mode warehouse.Mode, use func(context.Context, *warehouse.Warehouse) error) error {
	if mode == warehouse.ReadOnly {
		return c.reading(ctx, wait, use)
	}
	if err := c.NotASnapshot(); err != nil {
		return err
	}
	var w *warehouse.Warehouse
	err := c.Patiently(ctx, wait, func() (err error) {
		w, err = warehouse.Open(c.TellingRenewal(ctx), c.Warehouse, mode)
		return err
	})
	if err != nil {
		return err
	}
	err = w.Explain(use(ctx, w))
	done := c.publish(context.WithoutCancel(ctx), w)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	done()
	return err
}

// TellingRenewal has the opening of a warehouse of another version tell how far it is: what can be asked of each run is
// computed again.
func (c *Call) TellingRenewal(ctx context.Context) context.Context {
	return warehouse.WithProgress(ctx, func(done, of int) {
		if of > 1 {
			c.Tell("%s: computing what can be asked of its runs: %d of %d", c.Warehouse, done, of)
		}
	})
}

// Patiently tries again for that long while another process holds the warehouse,
// and says at once which process does.
func (c *Call) Patiently(ctx context.Context, wait time.Duration, try func() error) error {
	asked := c.Context.Done() // the first signal also ends a wait whose own context goes on
	var began time.Time       // the first try may have taken longer than the wait
	for isTold := false; ; isTold = true {
		err := try()
		if began.IsZero() {
			began = time.Now()
		}
		left := wait - time.Since(began)
		switch {
		case !errors.Is(err, warehouse.ErrHeld):
			return err
		case left <= 0 && wait <= 0:
			return err
		case left <= 0:
			return fmt.Errorf("%w, still after %s of waiting", err, wait)
		case !isTold:
			c.Tell("%v; %s", err, waitingFor(wait))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-HardStop(c.Context).Done():
			return err
		case <-asked:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			asked = nil
			c.Tell("still waiting for the warehouse, so that nothing is lost; Ctrl-C again leaves at once")
		case <-time.After(min(left, 100*time.Millisecond)):
		}
	}
}

// waitingFor describes the wait; an experiment's is so long that a figure means nothing.
func waitingFor(wait time.Duration) string {
	if wait >= UntilFree {
		return "waiting until it is free"
	}
	return fmt.Sprintf("waiting up to %s for it", wait)
}

// WarehouseWords are the flags with which a suggested command finds the same
// warehouse.
func (c *Call) WarehouseWords() string {
	if c.Warehouse != "tidemark.duckdb" && c.Warehouse != os.Getenv("TIDEMARK_WAREHOUSE") {
		return " --warehouse " + escape.Shell(c.Warehouse)
	}
	return ""
}

// Calculator opens what a calculator asks: the warehouse, which knows the GPUs, models and calibrations that the user
// took in, else the built-in catalogue. A warehouse that is held is waited for: the answer must not depend on a lock.
func (c *Call) Calculator(use func(context.Context, *warehouse.Warehouse) error) error {
	path := c.Warehouse
	_, err := os.Stat(path)
	if err == nil {
		// Closed at its end: a verb that sends takes its run in afterwards.
		return c.WithWarehouse(c.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
			if err := w.OneThread(ctx); err != nil {
				return err
			}
			return use(ctx, w)
		})
	}
	if file := (*os.PathError)(nil); c.IsGiven("warehouse") && errors.As(err, &file) {
		c.Tell("warehouse %s: %v, so the built-in GPUs, models and constants are used", path, file.Err)
	}
	w, err := warehouse.Catalogue(c.Context)
	return LeftOpen(w, err, func(w *warehouse.Warehouse) error { return use(c.Context, w) })
}

// LeftOpen gives a function a warehouse in memory that was just opened, and leaves it open at the end of the process, as Answering does.
func LeftOpen(w *warehouse.Warehouse, openErr error, use func(*warehouse.Warehouse) error) error {
	if openErr != nil {
		return openErr
	}
	if !EndsAfterVerb {
		defer w.Close()
	}
	return use(w)
}

// WithWarehouseIfAny gives a function the warehouse, or nil where there is none.
func (c *Call) WithWarehouseIfAny(use func(context.Context, *warehouse.Warehouse) error) error {
	if _, err := os.Stat(c.Warehouse); errors.Is(err, fs.ErrNotExist) {
		return use(c.Context, nil)
	}
	return c.WithWarehouse(c.Context, warehouse.ReadOnly, use)
}

// InCatalogue gives a function the seeds and the macros alone, much faster.
func InCatalogue(ctx context.Context, use func(*warehouse.Warehouse) error) error {
	w, err := warehouse.Catalogue(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	return use(w)
}

// UntilFree is how long a row waits for its plan, without which there is nothing to
// send: forever.
const UntilFree = 1000 * time.Hour
