//go:build duckdb_arrow

package warehouse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/proof/must"
)

// A refresh for which the limit is too low is computed without it, and the limit of before is in force again.
func TestTooLittleMemoryLosesNoRun(t *testing.T) {
	ctx := context.Background()
	w := must.Get(Open(ctx, filepath.Join(t.TempDir(), "w.duckdb"), ReadWrite))(t)
	defer w.Close()
	for _, statement := range []string{
		"insert into raw.sources by name select 1 as source_id, 'r' as name, 'run' as kind, 'run' as format, 'r' as path, 'x' as sha256, 1 as size_bytes, now() as ingested_at, 0 as rows_read, 0 as rows_kept, 0 as rows_rejected, false as is_dated, 's' as time_unit, 1 as reader_version",
		`insert into raw.runs values ('r', 1, '{"run_id": "r", "status": "done", "started_at": "2026-11-01T00:00:00Z"}')`,
		`insert into raw.requests by name
		select 'r' as run_id, k as seq, false as is_warm_up, 100 as input_tokens, 20 as output_tokens, k * 1e-2 as due_s, k * 1e-2 as sent_s,
			k * 1e-2 + 1e-1 as first_token_s, k * 1e-2 + 2e-1 as last_token_s, k * 1e-2 + 2e-1 as done_s, 20 as output_tokens_reported,
			[100000 + 5000 * i for i in range(20)] as chunk_offsets_us
		from range(20000) as requests (k)`,
	} {
		must.Get(w.DB().Exec(statement))(t)
	}
	before := must.Get(w.MemoryLimit(ctx))(t)
	defer func(requests, bytes int) { largeRefresh, refreshBytes = requests, bytes }(largeRefresh, refreshBytes)
	largeRefresh, refreshBytes = 1000, 24<<20

	attempts := 0
	must.Do(t, Sparingly(ctx, w.DB(), func(ctx context.Context) error {
		attempts++
		tx, err := w.DB().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := RefreshWithin(ctx, tx, "from marts.tpot_gap"); err != nil {
			return err
		}
		return tx.Commit()
	}))
	if attempts != 2 {
		t.Errorf("%d attempts, want 2: the first one within %d bytes must fail", attempts, refreshBytes)
	}
	var rows int
	if err := w.DB().QueryRow("select count(*) from marts.tpot_gap").Scan(&rows); err != nil || rows != 20000 {
		t.Errorf("%d rows of marts.tpot_gap, want 20000 (%v)", rows, err)
	}
	if after, err := w.MemoryLimit(ctx); err != nil || after != before {
		t.Errorf("memory limit afterwards %s, before %s (%v)", after, before, err)
	}
}

// The setting is the whole database's, and a transaction that has failed takes no statement: optimisers stayed off until the process ended.
func TestARefreshThatFailsLeavesTheOptimizersOn(t *testing.T) {
	ctx := context.Background()
	w := must.Get(Open(ctx, filepath.Join(t.TempDir(), "w.duckdb"), ReadWrite))(t)
	defer w.Close()
	off := func() (names string) {
		t.Helper()
		must.Do(t, w.DB().QueryRow("select current_setting('disabled_optimizers')").Scan(&names))
		return names
	}
	refresh := func(ctx context.Context) error {
		tx := must.Get(w.DB().BeginTx(ctx, nil))(t)
		defer tx.Rollback()
		for _, statement := range []string{
			`insert into raw.runs values ('r', 1, '{"run_id": "r", "status": "done", "started_at": "2026-11-01T00:00:00Z"}')`,
			// Fails where they are off, after all else.
			"create or replace table warehouse.kept (run_id varchar check (current_setting('disabled_optimizers') = ''), catalogue varchar, computed_at timestamptz)",
		} {
			must.Get(tx.Exec(statement))(t)
		}
		return RefreshWithin(ctx, tx)
	}
	must.Do(t, refresh(ctx))
	must.Fail(t, Sparingly(ctx, w.DB(), refresh), "CHECK constraint failed on table kept")
	if off() != "" {
		t.Errorf("off afterwards: %q", off())
	}
}

// What a killed process has left next to the warehouse is gone after the next opening for writing, and nothing else.
func TestIntermediateResultsOfAKilledProcessAreRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.duckdb")
	left, other := filepath.Join(path+".tmp", "duckdb_temp_storage_DEFAULT-0.tmp"), filepath.Join(path+".tmp", "notes.txt")
	must.Do(t, os.Mkdir(path+".tmp", 0o777))
	for _, file := range []string{left, other} {
		must.Do(t, os.WriteFile(file, []byte("x"), 0o666))
	}
	w := must.Get(Open(context.Background(), path, ReadWrite))(t)
	defer w.Close()
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", left, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

// Work is limited at first, and not any more when that was too little or nothing could be written; another error is told at once.
func TestWorkInLimitedMemory(t *testing.T) {
	ctx := context.Background()
	w := must.Get(Open(ctx, filepath.Join(t.TempDir(), "w.duckdb"), ReadWrite))(t)
	defer w.Close()
	before := memoryLimit(ctx, w.DB())
	for _, c := range []struct {
		kind     duckdb.ErrorType
		attempts int
	}{{duckdb.ErrorTypeOutOfMemory, 2}, {duckdb.ErrorTypeIO, 2}, {duckdb.ErrorTypeConstraint, 1}} {
		var limits []string
		err := InLimitedMemory(ctx, w.DB(), ReportBytes, func() error {
			limits = append(limits, memoryLimit(ctx, w.DB()))
			return fmt.Errorf("week: %w", &duckdb.Error{Type: c.kind})
		})
		if err == nil || len(limits) != c.attempts || limits[0] == before || c.attempts == 2 && limits[1] != before {
			t.Errorf("error %v: limits %v, want %d and the last %s (%v)", c.kind, limits, c.attempts, before, err)
		}
	}
	if after := memoryLimit(ctx, w.DB()); after != before {
		t.Errorf("memory limit afterwards %s, before %s", after, before)
	}
}

// Only being out of memory is tried again.
func TestOtherErrorsAreNotTriedAgain(t *testing.T) {
	attempts := 0
	err := Sparingly(context.Background(), nil, func(context.Context) error {
		attempts++
		return fmt.Errorf("marts.slo: %w", &duckdb.Error{Type: duckdb.ErrorTypeConstraint})
	})
	if attempts != 1 || !errors.As(err, new(*duckdb.Error)) {
		t.Errorf("%d attempts, want 1 (%v)", attempts, err)
	}
}
