package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"tidemark/analysis/regression"
	"tidemark/internal/hint"
	"tidemark/internal/warehouse"
)

// calibrated is the data that a calibration of some runs is made from.
type calibrated struct {
	deployments []deployed
	rows        []regression.Row
	requests    int64
	constants   map[string]map[string]float64 // by name and format, without any calibration
}

// deployed is a run's deployment, as far as constants depend on it.
type deployed struct {
	Run, GPU, CatalogModel, Quantization, KVCacheDtype, Engine string
	TensorParallelSize, ExpertParallelSize, DataParallelSize   int64
	EngineVersion                                              sql.NullString
	Minor                                                      sql.NullFloat64 // of the version, as macros.version_number has it
	IsMLA                                                      bool
	IsKVByArithmetic                                           bool // a latent cache that heads multiply for longer than it is read
}

// readUncalibrated reads as if nothing had been calibrated before, because a calibration is kept near the measured kernels and not near
// an earlier calibration. It deletes calibrations inside a transaction and rolls that back.
func readUncalibrated(ctx context.Context, db *sql.DB, runs []string) (c calibrated, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return c, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "delete from raw.calibrations"); err != nil {
		return c, err
	}
	if err := warehouse.Refresh(ctx, tx); err != nil {
		return c, err
	}
	if c.deployments, err = readDeployed(ctx, tx, runs); err != nil {
		return c, err
	}
	if c.rows, c.requests, err = readTermRows(ctx, tx, runs); err != nil {
		return c, err
	}
	c.constants, err = readConstants(ctx, tx, c.deployments[0])
	return c, err
}

// theseRuns is a list of placeholders for runs, with their values.
func theseRuns(runs []string) (string, []any) {
	args := make([]any, len(runs))
	for i, run := range runs {
		args[i] = run
	}
	return "(" + strings.TrimSuffix(strings.Repeat("?, ", len(runs)), ", ") + ")", args
}

// queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// readDeployed leaves out runs whose deployment is not in the catalogue; sameDeployment reports them.
func readDeployed(ctx context.Context, from queryer, runs []string) ([]deployed, error) {
	list, args := theseRuns(runs)
	rows, err := from.QueryContext(ctx, `
select
    d.run_id,
    d.gpu,
    d.model,
    d.weight_format,
    d.kv_format,
    d.engine,
    d.tensor_parallel_size,
    d.expert_parallel_size,
    d.data_parallel_size,
    d.engine_version,
    floor(macros.version_number(d.engine_version))::double,
    models.is_mla,
    d.kv_bytes_per_s < 0.999e0 * d.hbm_bytes_per_s * (
        select constants.constant.value
        from macros.constants_for(d.gpu, d.engine, d.engine_version, [d.kv_format], '') as constants
        where constants.name = 'kv_bandwidth_ratio'
    )
from staging.deployments as d
inner join staging.runs on runs.run_id = d.run_id
cross join lateral macros.models_named(runs.catalog_model) as models
where d.run_id in `+list+`
order by d.run_id`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []deployed
	for rows.Next() {
		var d deployed
		if err := rows.Scan(&d.Run, &d.GPU, &d.CatalogModel, &d.Quantization, &d.KVCacheDtype, &d.Engine, &d.TensorParallelSize, &d.ExpertParallelSize, &d.DataParallelSize,
			&d.EngineVersion, &d.Minor, &d.IsMLA, &d.IsKVByArithmetic); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, rows.Err()
}

// sameDeployment is an error unless all runs are on one deployment: constants belong to a GPU, model, format and engine version.
func sameDeployment(ctx context.Context, db *sql.DB, runs []string, all []deployed) error {
	known := map[string]deployed{}
	for _, d := range all {
		known[d.Run] = d
	}
	for _, run := range runs {
		if _, ok := known[run]; !ok {
			unknown, err := unknownOfRun(ctx, db, run)
			if err != nil {
				return err
			}
			if unknown == "" {
				unknown = "its GPU, model or format is not in the catalogue"
			}
			return hint.Errorf("run %s: the bandwidth model does not know what it ran on: %s", run, unknown).
				Hint("the catalogue is in macros.gpus(), macros.models() and seeds.formats: tidemark schema macros.gpus")
		}
	}
	first := known[runs[0]]
	for _, run := range runs[1:] {
		for _, field := range []struct {
			name string
			a, b any
		}{
			{"GPU", first.GPU, known[run].GPU}, {"model", first.CatalogModel, known[run].CatalogModel},
			{"tensor parallel size", first.TensorParallelSize, known[run].TensorParallelSize},
			{"expert parallel size", first.ExpertParallelSize, known[run].ExpertParallelSize},
			{"data parallel size", first.DataParallelSize, known[run].DataParallelSize},
			{"weight format", first.Quantization, known[run].Quantization}, {"KV format", first.KVCacheDtype, known[run].KVCacheDtype},
			{"engine", first.Engine, known[run].Engine}, {"engine version", first.Minor, known[run].Minor},
		} {
			if field.a == field.b {
				continue
			}
			if field.name == "engine version" {
				field.a, field.b = first.EngineVersion.String, known[run].EngineVersion.String
			}
			return hint.Errorf("runs %s and %s differ: %s %v and %v", runs[0], run, field.name, field.a, field.b).
				Hint("constants belong to one deployment; calibrate each on its own")
		}
	}
	return nil
}

// readTermRows groups a run's requests by time, batch, context and share of prefill, and takes the mean over tokens of each group.
// Requests that were in the server together saw the same steps, so they are not independent measurements: each block of time as long as
// five of the longest requests counts as one.
func readTermRows(ctx context.Context, tx *sql.Tx, runs []string) (all []regression.Row, requests int64, err error) {
	list, args := theseRuns(runs)
	rows, err := tx.QueryContext(ctx, strings.ReplaceAll(termRowsQuery, "RUNS", list), append(args, args...)...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var row regression.Row
		var n int64
		s := make([]float64, 9)
		if err := rows.Scan(&row.Run, &n, &row.Weight, &row.TPOT,
			&s[0], &s[1], &s[2], &s[3], &s[4], &s[5], &s[6], &s[7], &s[8]); err != nil {
			return nil, 0, err
		}
		row.Terms = map[string]float64{}
		for i, term := range []string{"weights", "experts", "kv", "arithmetic", "layers", "allreduce", "step", "sequences", "prefill"} {
			row.Terms[term] = max(0, s[i])
		}
		all = append(all, row)
		requests += n
	}
	return all, requests, rows.Err()
}

const termRowsQuery = `
with requests as (
    select
        gap.*,
        macros.experts_s(d, gap.mean_batch) as batch_experts_s,
        d.step_s
    from marts.tpot_gap as gap
    inner join staging.deployments as d on d.run_id = gap.run_id
    where gap.run_id in RUNS
        and gap.predicted_tpot_s is not null
),

cycles as (
    select
        run_id,
        quantile_cont(last_token_s - sent_s, 0.99) as cycle_s
    from staging.requests
    where run_id in RUNS
        and is_success
    group by run_id
),

spans as (
    select
        requests.run_id,
        min(requests.first_token_s) as begin_s,
        max(requests.first_token_s) - begin_s as span_s,
        greatest(1, floor(span_s / (5 * any_value(cycles.cycle_s)))) as blocks
    from requests
    inner join cycles on cycles.run_id = requests.run_id
    group by requests.run_id
),

placed as (
    select
        requests.*,
        least(spans.blocks - 1, floor((requests.first_token_s - spans.begin_s) / nullif(spans.span_s, 0) * spans.blocks)) as block
    from requests
    inner join spans on spans.run_id = requests.run_id
)

select
    run_id,
    count(*),
    sum(decode_tokens) / sum(sum(decode_tokens)) over (partition by run_id, block),
    macros.token_mean(tpot_s, decode_tokens),
    macros.token_mean(weights_s, decode_tokens),
    macros.token_mean(batch_experts_s, decode_tokens),
    macros.token_mean(
        predicted_tpot_s - weights_s - batch_experts_s - arithmetic_s - layers_s - allreduce_s - host_s - prefill_s,
        decode_tokens
    ),
    macros.token_mean(arithmetic_s, decode_tokens),
    macros.token_mean(layers_s, decode_tokens),
    macros.token_mean(allreduce_s, decode_tokens),
    macros.token_mean(step_s, decode_tokens),
    macros.token_mean(host_s - step_s, decode_tokens),
    macros.token_mean(prefill_s, decode_tokens)
from placed
group by
    run_id,
    block,
    floor(2 * log2(mean_batch)),
    floor(log2(mean_context_tokens)),
    floor(10 * prefill_s / predicted_tpot_s)
order by all`

// readConstants reads the constants of a deployment by name and format.
func readConstants(ctx context.Context, tx *sql.Tx, d deployed) (map[string]map[string]float64, error) {
	rows, err := tx.QueryContext(ctx, `
select
    name,
    format,
    constant.value
from macros.constants_for(?::varchar, ?::varchar, ?::varchar, list_distinct(['bf16', ?, ?]), '')`,
		d.GPU, d.Engine, d.EngineVersion, d.Quantization, d.KVCacheDtype)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]map[string]float64{}
	for rows.Next() {
		var name, format string
		var value float64
		if err := rows.Scan(&name, &format, &value); err != nil {
			return nil, err
		}
		if all[name] == nil {
			all[name] = map[string]float64{}
		}
		all[name][format] = value
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("constants: none for %s", d.GPU)
	}
	return all, rows.Err()
}
