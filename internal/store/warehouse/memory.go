//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// DuckDB takes four fifths of the machine's memory before it writes intermediate results into files next to the warehouse. The kept rows
// of a run of a million requests would take 4 GB of it; with less they take a little longer.
//
// Not everything can be written into files, so a statement can fail for the limit. DuckDB then undoes the whole transaction: Sparingly
// starts it again without a limit.

// largeRefresh is the number of requests from which a pass is computed in limited memory. Smaller ones do not come near the limit.
var largeRefresh = 100_000

// refreshBytes is the limit. Each of DuckDB's threads, one for each core, has buffers of its own.
var refreshBytes = 640<<20 + runtime.NumCPU()*64<<20

type sparingKey struct{}

// sparing says how a refresh uses memory.
type sparing struct {
	db        *sql.DB
	isLimited bool
}

// Sparingly calls attempt with a context under which a refresh of small runs is planned soon, and one of large runs uses limited memory. If that
// memory is too little, it calls attempt again without a limit, so attempt must begin and end its own transaction.
func Sparingly(ctx context.Context, db *sql.DB, attempt func(context.Context) error) error {
	err := attempt(context.WithValue(ctx, sparingKey{}, sparing{db, true}))
	if isOutOfMemory(err) && ctx.Err() == nil {
		err = attempt(context.WithValue(ctx, sparingKey{}, sparing{db, false}))
	}
	return err
}

// ReportBytes is the limit of what adds up the requests of a week: a table of ten million that is read a dozen times. Quantiles are not
// counted in it.
var ReportBytes = 256<<20 + runtime.NumCPU()*64<<20

// InLimitedMemory calls work, whose statements then write into files what would not fit, and again without a limit where that is too
// little, or where no file can be written. Work must be able to begin again.
func InLimitedMemory(ctx context.Context, db *sql.DB, bytes int, work func() error) error {
	before := memoryLimit(ctx, db)
	defer func() { setMemoryLimit(context.WithoutCancel(ctx), db, before) }()
	setMemoryLimit(ctx, db, fmt.Sprintf("%dB", bytes))
	err := work()
	var failed *duckdb.Error
	isUnwritten := errors.As(err, &failed) && failed.Type == duckdb.ErrorTypeIO
	if (isOutOfMemory(err) || isUnwritten) && ctx.Err() == nil {
		unlimitMemory(ctx, db)
		err = work()
	}
	return err
}

// unlimitMemory sets DuckDB's default, also where an ingest of large files has set less. "reset" shows the default and does not enforce it.
func unlimitMemory(ctx context.Context, db *sql.DB) {
	_, _ = db.ExecContext(ctx, "reset memory_limit")
	setMemoryLimit(ctx, db, memoryLimit(ctx, db))
}

// limitMemory sets the limit that the context asks for, for the whole database, until restore is called. The setting goes through another
// connection than the transaction's, which may have failed when the old limit is restored.
func limitMemory(ctx context.Context, requests int) (restore func()) {
	s, isAsked := ctx.Value(sparingKey{}).(sparing)
	if !isAsked || s.isLimited && requests < largeRefresh {
		return func() {}
	}
	before := memoryLimit(ctx, s.db)
	// Where it cannot be set, the refresh takes more memory and is as right.
	if s.isLimited {
		setMemoryLimit(ctx, s.db, fmt.Sprintf("%dB", refreshBytes))
	} else {
		unlimitMemory(ctx, s.db)
	}
	return func() { setMemoryLimit(context.WithoutCancel(ctx), s.db, before) }
}

// memoryLimit is the limit in DuckDB's own words, cut after a digit: "18.8 GiB".
func memoryLimit(ctx context.Context, db *sql.DB) (limit string) {
	_ = db.QueryRowContext(ctx, "select current_setting('memory_limit')").Scan(&limit)
	// Another digit, so that setting and asking again and again does not lower it each time.
	return strings.Replace(limit, " ", "5 ", 1)
}

func setMemoryLimit(ctx context.Context, db *sql.DB, limit string) {
	_, _ = db.ExecContext(ctx, fmt.Sprintf("set memory_limit = '%s'", limit))
}

// isOutOfMemory says that DuckDB needed more than its limit.
func isOutOfMemory(err error) bool {
	var failed *duckdb.Error
	return errors.As(err, &failed) && failed.Type == duckdb.ErrorTypeOutOfMemory
}

// removeSpilled removes the intermediate results that a killed process left next to the warehouse. DuckDB reuses their names and removes
// them itself, but only in a process that writes some too.
func removeSpilled(path string) {
	left, _ := filepath.Glob(filepath.Join(path+".tmp", "duckdb_temp_*"))
	for _, file := range left {
		_ = os.Remove(file)
	}
	if len(left) > 0 {
		_ = os.Remove(path + ".tmp") // unless something else is in it
	}
}
