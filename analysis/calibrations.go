package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"tidemark/analysis/answers"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// Keeping, listing and forgetting calibrations. The tables that the warehouse keeps ready (staging.deployments and what follows from it)
// hold values that depend on the constants, so every change refreshes them, in the same transaction when one is kept.

// Keep writes a calibration into the warehouse, where every later prediction for its deployment finds it, and gives it a number. Constants that
// kept their value are not written. A later calibration of the same deployment comes before an earlier one, but both stay.
func (c *Calibration) Keep(ctx context.Context, db *sql.DB) error {
	return warehouse.Sparingly(ctx, db, func(ctx context.Context) error { return c.keep(ctx, db) })
}

func (c *Calibration) keep(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	defer tx.Rollback()
	// The next number is above all kept ones, so that a number in a report never means another calibration.
	err = tx.QueryRowContext(ctx, "select coalesce(max(calibration_id), 0) + 1 from raw.calibrations").Scan(&c.ID)
	if err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	d := c.Deployment
	for _, one := range c.Constants {
		if one.Held != "" {
			continue
		}
		_, err := tx.ExecContext(ctx, `
insert into raw.calibrations by name
select
    ?::bigint as calibration_id, ? as run_id, ? as run_ids, ?::timestamp as made_at, ? as gpu, ? as model,
    ?::bigint as tensor_parallel_size, ?::bigint as expert_parallel_size, ?::bigint as data_parallel_size, ? as weight_format, ? as kv_format, ? as engine, nullif(?, '') as engine_version,
    ? as name, ? as format, ?::double as value, ?::double as low, ?::double as high, ?::double as "before", ?::bigint as requests`,
			c.ID, c.Runs[0], strings.Join(c.Runs, " "), c.MadeAt, d.GPU, d.CatalogModel,
			d.TensorParallelSize, d.ExpertParallelSize, d.DataParallelSize, d.Quantization, d.KVCacheDtype, d.Engine, d.EngineVersion,
			one.Name, one.Format, one.Value, one.Low, one.High, one.Before, c.Requests)
		if err != nil {
			return fmt.Errorf("calibration: %w", err)
		}
	}
	if err := warehouse.RefreshWithin(ctx, tx); err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	return nil
}

// Remark says in a sentence where the constants come from, how far off they are, and which the run could not tell.
func (c Calibration) Remark() string {
	if c.IsWorse() {
		return fmt.Sprintf("the calibration by run %s is not used: with its constants the model is off by %.1f %% of it (median), and by %.1f %% without them",
			strings.Join(c.Runs, " "), 100*c.After.Median, 100*c.Before.Median)
	}
	var kept []string
	for _, one := range c.Constants {
		if one.Held == toldNothing && !slices.Contains(kept, one.Name) {
			kept = append(kept, one.Name)
		}
	}
	text := fmt.Sprintf("the model has the constants of calibration %d, of run %s: off by %.1f %% of it (median) before and by %.1f %% with them",
		c.ID, strings.Join(c.Runs, " "), 100*c.Before.Median, 100*c.After.Median)
	if len(kept) > 0 {
		text += "; as they were: " + strings.Join(kept, ", ")
	}
	return text
}

// Table is the calibration for programs, one row per constant. A constant that keeps its value has the reason in place of an interval. Before
// Keep the number of the calibration is null.
func (c Calibration) Table() Table {
	table := answers.TableOf("calibration_id", "term", "name", "format", "before", "value", "low", "high", "held_because")
	for _, one := range c.Constants {
		row := []any{nil, one.Term, one.Name, one.Format, one.Before, one.Value, nil, nil, nil}
		if c.ID > 0 {
			row[0] = c.ID
		}
		if one.Held == "" {
			row[6], row[7] = one.Low, one.High
		} else {
			row[8] = one.Held
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// Calibrations lists the kept calibrations, one row per constant.
func Calibrations(ctx context.Context, db *sql.DB) (Table, error) {
	return ask(ctx, db, `
select
    calibration_id,
    gpu,
    model,
    tensor_parallel_size,
    weight_format,
    kv_format,
    engine,
    engine_version,
    name,
    format,
    "before",
    value,
    low,
    high,
    requests,
    run_ids,
    made_at
from raw.calibrations
order by
    calibration_id,
    name,
    format`)
}

// ForgetCalibration removes a calibration and returns the number of its constants. Predictions for its deployment then use the calibration before
// it, else the built-in constants. An unknown number is an error that lists the kept ones.
func ForgetCalibration(ctx context.Context, db *sql.DB, id int64) (constants int64, err error) {
	done, err := db.ExecContext(ctx, "delete from raw.calibrations where calibration_id = ?", id)
	if err != nil {
		return 0, fmt.Errorf("calibration %d: %w", id, err)
	}
	if err := warehouse.Refresh(ctx, db); err != nil {
		return 0, fmt.Errorf("calibration %d: %w", id, err)
	}
	if constants, err = done.RowsAffected(); err != nil || constants > 0 {
		return constants, err
	}
	known, err := ask(ctx, db, "select distinct calibration_id from raw.calibrations order by all")
	if err != nil {
		return 0, err
	}
	todo := "there is none; \"tidemark calibrate RUN\" makes one"
	if len(known.Rows) > 0 {
		var ids []string
		for _, row := range known.Rows {
			ids = append(ids, fmt.Sprint(row[0]))
		}
		todo = "known are " + strings.Join(ids, ", ")
	}
	return 0, hint.Misuse("no calibration %d", id).Hint("%s", todo)
}
