package analysis

import (
	"context"
	"database/sql"
	"fmt"
)

// The measured deployment that is nearest to a predicted one. A prediction is as good as what it was held against: a reader should see how
// far from any measurement it is. Measured are the deployments that the built-in constants were fitted to, and the results and runs in the
// warehouse.

// Nearest is a measured deployment and what differs from it.
type Nearest struct {
	What    string // in words, such as "qwen3-32b in fp8 on 2 x H100, vllm 0.12.0, 8 to 128 clients"
	Differs string // such as "GPU, version"; empty: nothing does
}

// nearest finds it for a deployment at a number of clients; zero clients are a load that is not a closed loop.
func nearest(ctx context.Context, db *sql.DB, made deploymentRow, clients float64) (Nearest, error) {
	hasResults, err := hasPoints(ctx, db)
	if err != nil {
		return Nearest{}, fmt.Errorf("predict: %w", err)
	}
	results := ""
	if hasResults {
		results = nearestResults
	}
	var n Nearest
	err = askRow(ctx, db, fmt.Sprintf(nearestQuery, made.from(), results), made.row, clients).Scan(&n.What, &n.Differs)
	if err != nil {
		return Nearest{}, fmt.Errorf("predict: the nearest measured deployment: %w", err)
	}
	return n, nil
}

// hasPoints is false for a catalogue without a warehouse, which may have no such tables, and for a warehouse without measurements.
func hasPoints(ctx context.Context, db *sql.DB) (bool, error) {
	var isWarehouse, hasRows bool
	err := db.QueryRowContext(ctx, `
select count(*) > 0 from information_schema.tables where table_schema = 'staging' and table_name = 'points'`).Scan(&isWarehouse)
	if err != nil || !isWarehouse {
		return false, err
	}
	err = db.QueryRowContext(ctx, `select exists (from raw.runs) or exists (from raw.points)`).Scan(&hasRows)
	return hasRows, err
}

// nearestResults are the measurements of TPOT in the warehouse. It does not ask marts.points, which predicts each of them; their format is known
// where the name of the model says it.
const nearestResults = `
    union all
    select
        d.gpu, d.catalog_model, d.tensor_parallel_size, macros.format_of_name(d.catalog_model), nullif(d.engine, ''), nullif(d.engine_version, ''), clients, clients, true
    from (
        select deployment as d, case when mode = 'closed' then max_concurrency end as clients
        from staging.runs
        where not is_draft
            and origin = 'measured'
            and exists (from staging.requests where requests.run_id = runs.run_id and is_success and tpot_s is not null)
        union all
        select macros.measured_on(points), max_concurrency
        from staging.points
        where exists (from staging.result_requests as r where r.source_id = points.source_id and r.point = points.point and tpot_s is not null)
            or exists (
                from staging.figures as f
                where f.source_id = points.source_id and f.point = points.point and f.quantity = 'tpot_s' and f.statistic = 'mean' and isfinite(f.value)
            )
    ) as told
    where d.tensor_parallel_size > 0`

// nearestQuery ranks what was measured by macros.measured_distance. Names are spelled as the catalogue spells them.
const nearestQuery = `
with given as (
    select d%s
),

measured as (
    select
        gpu, model, tensor_parallel_size, weight_format, engine, engine_version, least_clients, most_clients, false as is_users
    from seeds.fitted_deployments%s
),

gpus as (
    select gpu, family, vendor, spellings from warehouse.gpus
),

models as (
    select model, architecture, spellings from warehouse.models
),

-- Each name is spelled once, and looked up once.
gpus_found as (
    select distinct names.gpu as name, known.* exclude (spelling)
    from (select distinct gpu from measured) as names
    inner join (select gpu, family, vendor, unnest(spellings) as spelling from gpus) as known on known.spelling = macros.gpu_spelling(names.gpu)
),

models_found as (
    select distinct names.model as name, known.* exclude (spelling)
    from (
        select model, unnest([macros.model_spelling(model), macros.bare_spelling(model)]) as spelling
        from (select distinct model from measured) as written
    ) as names
    inner join (select model, architecture, unnest(spellings) as spelling from models) as known on known.spelling = names.spelling
),

asked as (
    select {
        'gpu': d.gpu, 'family': gpus.family, 'vendor': gpus.vendor, 'model': d.model, 'architecture': models.architecture,
        'tensor_parallel_size': d.tensor_parallel_size, 'weight_format': d.weight_format, 'engine': d.engine,
        'engine_version': d.engine_version, 'least_clients': nullif($2::double, 0), 'most_clients': nullif($2::double, 0)
    } as a
    from given
    left join gpus on gpus.gpu = d.gpu
    left join models on models.model = d.model
),

named as (
    select
        {
            'gpu': coalesce(gpus.gpu, measured.gpu), 'family': gpus.family, 'vendor': gpus.vendor,
            'model': coalesce(models.model, measured.model), 'architecture': models.architecture,
            'tensor_parallel_size': measured.tensor_parallel_size, 'weight_format': measured.weight_format,
            'engine': lower(coalesce(measured.engine, 'vllm')), 'engine_version': measured.engine_version,
            'least_clients': measured.least_clients, 'most_clients': measured.most_clients
        } as m,
        measured.is_users
    from measured
    left join gpus_found as gpus on gpus.name = measured.gpu
    left join models_found as models on models.name = measured.model
    where not measured.is_users or gpus.gpu is not null and models.model is not null
)

select
    m.model || coalesce(' in ' || m.weight_format, '') || ' on ' || m.tensor_parallel_size || ' x ' || m.gpu || ', ' || m.engine
    || coalesce(' ' || m.engine_version, '')
    || case
        when m.most_clients is null then ''
        when m.most_clients = m.least_clients then format(', {:.0f} clients', m.most_clients)
        else format(', {:.0f} to {:.0f} clients', m.least_clients, m.most_clients)
    end
    || case when is_users then ' (in the warehouse)' else '' end as what,
    coalesce(list_aggregate(macros.measured_differences(a, m), 'string_agg', ', '), '') as differs
from named
cross join asked
order by macros.measured_distance(a, m), is_users desc, what
limit 1`
