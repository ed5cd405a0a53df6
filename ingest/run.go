package ingest

import (
	"context"
	"errors"

	"tidemark/internal/warehouse"
)

const runFile = "run.json"

func loadRun(ctx context.Context, w *warehouse.Warehouse, folder string, opts Options) (Result, error) {
	return Result{}, errors.New("not yet")
}
