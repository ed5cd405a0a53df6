package analysis

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"tidemark/analysis/regression"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// The measurements that a calibration is fitted to. A measurement is the time per token of a group of requests with the terms that the model
// predicts for it (marts.tpot_gap). The fit needs groups that differ in batch, context and prefill, because only then can the terms be
// told apart; and it needs to know how many of them are independent, because requests in one queue all see the same steps.
//
// Everything is read as if no calibration had been made before (readUncalibrated). Otherwise each calibration would start from the last one
// and its priors would drift away from the measured kernels.

// calibrated is what a calibration is made from: the runs' deployments (all alike, so the first stands for all), their measurements, and the
// constants before.
type calibrated struct {
	deployments []deployed
	rows        []regression.Row
	requests    int64
	constants   map[string]map[string]float64 // by name and format, without any calibration
}

// deployed is a run's deployment, as far as constants depend on it.
type deployed struct {
	deployment.Deployment
	Run              string
	Compute          string          // format in which weights are multiplied
	Minor            sql.NullFloat64 // of the engine's version, as macros.version_number gives it
	IsMLA            bool
	IsKVByArithmetic bool // a latent cache that the heads take longer to multiply than to read
}

// readUncalibrated reads as if nothing had been calibrated before. It deletes all calibrations in a transaction, refreshes what depends on
// them, reads, and always rolls back, so that other connections never see the deletion.
func readUncalibrated(ctx context.Context, db *sql.DB, runs []string) (c calibrated, err error) {
	err = warehouse.Sparingly(ctx, db, func(ctx context.Context) error {
		c, err = readUncalibratedOnce(ctx, db, runs)
		return err
	})
	return c, err
}

func readUncalibratedOnce(ctx context.Context, db *sql.DB, runs []string) (c calibrated, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return c, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "delete from raw.calibrations"); err != nil {
		return c, err
	}
	if err := warehouse.RefreshWithin(ctx, tx, "from staging.deployments", "from marts.tpot_gap"); err != nil {
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

// theseRuns is a list of placeholders for an "in", as (?, ?), with the runs as its values.
func theseRuns(runs []string) (string, []any) {
	args := make([]any, len(runs))
	for i, run := range runs {
		args[i] = run
	}
	return "(" + strings.TrimSuffix(strings.Repeat("?, ", len(runs)), ", ") + ")", args
}

// isKVByArithmetic of a deployment d: a latent cache counts as bound by arithmetic if reading it is slower than the bandwidth constant alone
// would make it.
const isKVByArithmetic = `d.kv_bytes_per_s < 0.999e0 * d.hbm_bytes_per_s * (
        select constants.constant.value
        from macros.constants_for(d.gpu, d.engine, d.engine_version, [d.kv_format], '', of_architecture := d.architecture) as constants
        where constants.name = 'kv_bandwidth_ratio'
    )`

// readDeployed reads the deployments of runs. It leaves out runs whose deployment is not in the catalogue; sameDeployment reports them.
func readDeployed(ctx context.Context, from warehouse.Asker, runs []string) ([]deployed, error) {
	list, args := theseRuns(runs)
	return warehouse.All(ctx, from, `
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
    coalesce(d.engine_version, ''),
    d.compute_format,
    floor(macros.version_number(d.engine_version))::double,
    models.is_mla,
    `+isKVByArithmetic+`
from staging.deployments as d
inner join staging.runs on runs.run_id = d.run_id
cross join lateral macros.models_named(runs.catalog_model) as models
where d.run_id in `+list+`
order by d.run_id`, args, func(d *deployed) []any {
		return []any{&d.Run, &d.GPU, &d.CatalogModel, &d.Quantization, &d.KVCacheDtype, &d.Engine, &d.TensorParallelSize,
			&d.ExpertParallelSize, &d.DataParallelSize, &d.EngineVersion, &d.Compute, &d.Minor, &d.IsMLA, &d.IsKVByArithmetic}
	})
}

// sameDeployment is an error unless all runs are on one deployment, because constants belong to a GPU, model, format and engine version.
// Patch versions may differ: 0.12.1 and 0.12.3 count as one.
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
			unknown = cmp.Or(unknown, "its GPU, model or format is not in the catalogue")
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
				field.a, field.b = first.EngineVersion, known[run].EngineVersion
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
	table, err := ask(ctx, tx, strings.ReplaceAll(termRowsQuery, "RUNS", list), append(args, args...)...)
	for _, found := range table.Records() {
		row := regression.Row{
			Run: found["run_id"].(string), Weight: number(found["weight"]), TPOT: number(found["tpot"]), Terms: map[string]float64{},
		}
		for _, term := range []string{"weights", "experts", "kv", "arithmetic", "layers", "allreduce", "step", "sequences", "prefill"} {
			row.Terms[term] = max(0, number(found[term])) // what is left over for a term may be below 0 by rounding
		}
		all = append(all, row)
		requests += found["requests"].(int64)
	}
	return all, requests, err
}

// termRowsQuery groups requests to a factor of 1.4 in batch (half a power of two), of 2 in context, and by tenths of the share of prefill.
// A group's weight is its share of the tokens of its block of time, so that the weights of a block add up to 1: one measurement. KV is
// what the other terms leave of the prediction.
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
    count(*) as requests,
    sum(decode_tokens) / sum(sum(decode_tokens)) over (partition by run_id, block) as weight,
    macros.token_mean(tpot_s, decode_tokens) as tpot,
    macros.token_mean(weights_s, decode_tokens) as weights,
    macros.token_mean(batch_experts_s, decode_tokens) as experts,
    macros.token_mean(
        predicted_tpot_s - weights_s - batch_experts_s - arithmetic_s - layers_s - allreduce_s - host_s - prefill_s,
        decode_tokens
    ) as kv,
    macros.token_mean(arithmetic_s, decode_tokens) as arithmetic,
    macros.token_mean(layers_s, decode_tokens) as layers,
    macros.token_mean(allreduce_s, decode_tokens) as allreduce,
    macros.token_mean(step_s, decode_tokens) as step,
    macros.token_mean(host_s - step_s, decode_tokens) as sequences,
    macros.token_mean(prefill_s, decode_tokens) as prefill
from placed
group by
    run_id,
    block,
    floor(2 * log2(mean_batch)),
    floor(log2(mean_context_tokens)),
    floor(10 * prefill_s / predicted_tpot_s)
order by all`

// readConstants reads the constants of a deployment by name and format: of 16-bit weights and of its own formats.
func readConstants(ctx context.Context, tx *sql.Tx, d deployed) (map[string]map[string]float64, error) {
	all := map[string]map[string]float64{}
	var version sql.NullString
	if err := tx.QueryRowContext(ctx, "select coalesce(nullif(?, ''), macros.newest_fitted(?))", d.EngineVersion, d.Engine).Scan(&version); err != nil {
		return nil, err
	}
	err := each(ctx, tx, `
select
    name,
    format,
    constant.value
from macros.constants_for(?::varchar, ?::varchar, ?::varchar, list_distinct(['bf16', ?, ?, ?]), '')`,
		[]any{d.GPU, d.Engine, version, d.Quantization, d.KVCacheDtype, cmp.Or(d.Compute, "bf16")}, func(scan func(...any) error) error {
			var name, format string
			var value float64
			err := scan(&name, &format, &value)
			if all[name] == nil {
				all[name] = map[string]float64{}
			}
			all[name][format] = value
			return err
		})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("constants: none for %s", d.GPU)
	}
	return all, err
}
