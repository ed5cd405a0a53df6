package ingest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"tidemark/ingest/read"
	"tidemark/ingest/runs"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

// loadRun takes in a run's folder. A run is known by the fingerprint of all its
// files; its rows are read by ingest/runs.
func loadRun(ctx context.Context, w *warehouse.Warehouse, file candidate, opts Options) (Result, error) {
	if opts.Format != "" && opts.Format != "run" {
		return Result{}, hint.Errorf("--format says %s, but it is a run: a folder with a %s", opts.Format, runs.RunFile).
			Hint("leave --format out, or say --format run")
	}
	r, err := runs.Open(cmp.Or(file.merged, file.path))
	if err != nil {
		return Result{}, err
	}
	sha256, size, err := r.Fingerprint()
	if err != nil {
		return Result{}, err
	}
	if known, err := knownSums(ctx, pool{w.DB()}, read.Sums{Content: sha256, Disk: sha256}); err != nil || known != nil {
		return known.result(), err
	}
	result := Result{Name: opts.Name, Format: "run", FormatWhy: "a folder with a " + runs.RunFile}
	result.Name = cmp.Or(result.Name, r.Document.RunID)
	err = warehouse.Sparingly(ctx, w.DB(), func(ctx context.Context) error {
		return writeRun(ctx, w, file, opts, &result, sourceRow{
			Result: &result, kind: "run", path: file.path, sha256: sha256, size: size,
			about: read.About{OriginAt: new(r.Document.StartedAt.UTC()), TimeUnit: "s"},
		})
	})
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return result, err
}

// writeRun takes in the run's rows and computes what is kept of it, in one transaction. It may be called again after it failed.
func writeRun(ctx context.Context, w *warehouse.Warehouse, file candidate, opts Options, result *Result, row sourceRow) error {
	r, err := runs.Open(cmp.Or(file.merged, file.path))
	if err != nil {
		return err
	}
	return w.Write(ctx, func(tx *warehouse.Tx) error {
		sum, err := r.Load(ctx, tx, file.source)
		if err != nil {
			return err
		}
		result.Notes = slices.Concat(file.notes, r.Notes)
		if err := read.TooManyRejects(sum, opts.MaxRejectedRatio); err != nil {
			return err
		}
		result.RowsRead, result.RowsKept, result.RowsRejected = sum.Read, sum.Kept, sum.Rejected
		if sum.Rejected > 0 {
			result.Notes = append(result.Notes, fmt.Sprintf("%s rejected: %s", show.Things(sum.Rejected, "line", "lines"), read.FirstRejects(sum.Rejects)))
		}
		if err := nameIsFree(ctx, tx, result.Name); err != nil {
			return err
		}
		row.rejects = sum.Rejects
		if err := insertSource(ctx, tx, file.source, row); err != nil {
			return err
		}
		if err := r.Insert(ctx, tx, file.source); err != nil {
			return err
		}
		if opts.RefreshLater {
			return nil
		}
		return tx.Refresh(ctx)
	})
}
