//go:build duckdb_arrow

package warehouse

import (
	"context"
	"errors"
	"slices"
)

// oneThread is for questions that are planned for longer than they are answered: handing the parts of such an answer to a second thread costs a
// fifth more than doing them. Many questions are asked on several connections, each with its own thread.
const oneThread = "threads=1"

// plannedSoon is for the same questions. A prediction of one configuration takes a seventh less time for it, one of thousands a tenth more.
const plannedSoon = "disabled_optimizers=" + forMany + ",statistics_propagation"

// ForMany has questions of a catalogue planned as those of many rows are.
func (w *Warehouse) ForMany(ctx context.Context) error {
	_, err := w.db.ExecContext(ctx, allOptimizers)
	return err
}

// OneThread is oneThread for a warehouse that is open.
func (w *Warehouse) OneThread(ctx context.Context) error {
	_, err := w.db.ExecContext(ctx, "set "+oneThread)
	return err
}

// Catalogue opens a warehouse in memory with the seeds, the macros and empty
// raw tables, but without views. This is all that the bandwidth model needs,
// and views would take ten times as long to make.
func Catalogue(ctx context.Context) (*Warehouse, error) {
	if content := catalogueFile(); content != nil {
		if w, err := openPacked(ctx, content); err == nil {
			return w, nil
		}
	}
	return MakeCatalogue(ctx, Memory)
}

// Empty opens a warehouse in memory that has every view and no rows, for who asks what there is to ask.
func Empty(ctx context.Context) (*Warehouse, error) {
	if content := emptyFile(); content != nil {
		if w, err := openPacked(ctx, content); err == nil {
			return w, nil
		}
	}
	return Open(ctx, Memory, ReadWrite)
}

// MakeCatalogue makes at path what Catalogue opens.
func MakeCatalogue(ctx context.Context, path string) (*Warehouse, error) {
	db, err := connect(path, ReadWrite, oneThread, plannedSoon)
	if err != nil {
		return nil, openError(path, err)
	}
	w := &Warehouse{path: path, db: db}
	if err := w.prepareCatalogue(ctx); err != nil {
		return nil, errors.Join(within(path, err), db.Close())
	}
	return w, nil
}

func (w *Warehouse) prepareCatalogue(ctx context.Context) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit this does nothing
	if _, err := tx.ExecContext(ctx, bookkeeping); err != nil {
		return err
	}
	if _, err := migrate(ctx, tx); err != nil {
		return err
	}
	if err := build(ctx, tx, slices.Concat(seedParts(), macroParts(), knownParts()), nil); err != nil {
		return err
	}
	return tx.Commit()
}
