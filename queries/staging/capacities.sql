-- One row per search for capacity, from its state file, and per capacity that another verb rehearsed and kept: what was asked, on what, and
-- what was found.
-- group: money
-- search_id                the search
-- verb                     that asked: 'capacity', 'what-if'
-- answer_key               of a rehearsed one: names all that it follows from; null: another origin, or an earlier version
-- answer                   the whole answer, as 'capacity --json' prints it
-- source_id                number of its state file among the sources; null of another verb than capacity
-- source_name              the trace whose window was scaled
-- source_sha256            fingerprint of that trace
-- from_s                   start of the window, seconds since the trace's first request
-- until_s                  its end, seconds
-- window_requests          requests in it as recorded
-- window_sessions          sessions in it
-- window_rate_per_s        its mean rate as recorded, requests per second
-- mode                     'open', 'sessions' or 'closed'
-- scaled_by                how the load was changed: 'sessions' (whole ones left out or cloned) or 'speed'
-- lengths                  'own', or 'mean': a control whose requests all have the average lengths of the window
-- origin                   'measured'; 'simulated': the server said that it is a simulation; 'rehearsed': in virtual time, nothing was sent
-- deployment               what it is about, for macros.deployment: every field of macros.deployment_fields
-- gpu                      GPU as the user named it; null: not said, as in the next eight
-- catalog_model            model as the user named it
-- tensor_parallel_size     GPUs that share the model
-- quantization             format of the weights
-- kv_cache_dtype           format of the KV cache
-- engine                   'vllm', ...
-- engine_version           as the user or the server said
-- max_num_seqs             sequences that the engine runs at once
-- max_num_batched_tokens   tokens of one engine step
-- replicas                 servers that shared the load
-- routing                  how it was divided among them
-- base_urls                the servers that were asked; null: none was
-- served_model             the name that they serve the model under
-- slo_name                 what the user called the SLO
-- objectives               its objectives in words, in their order: 'p99 ttft_from_due at most 1.00 s; p99 tpot at most 60.0 ms'
-- budget_s                 load might be sent for so long, all runs together, seconds
-- precision_ratio          asked half width of the interval, in ln of the multiple
-- min_scale                smallest multiple that was allowed
-- max_scale                largest one
-- seed                     of the sessions drawn
-- tidemark_version         the version that searched; null: not said
-- started_at               when it began
-- last_event_at            when its state was last written
-- outcome                  'found', 'above_max', 'below_min', 'not_possible', 'undecided' or 'invalid'; null: it has not ended
-- scale                    largest multiple of the window's traffic within the SLO; in a closed loop the concurrency; null: none was found
-- scale_low                lower end of its 90 % interval; of above_max the largest multiple that was allowed
-- scale_high               upper end
-- rate_per_s               scale times the window's rate, all servers together, requests per second; null of a closed loop
-- rate_low_per_s           lower end of its 90 % interval
-- rate_high_per_s          upper end
-- binding_objective        the objective that ends it, as in marts.slo: 'p99 ttft_from_due'
-- allowed_ratio            share of requests that may miss that objective; null of a mean
-- predicted_scale          multiple that was predicted before the first run
-- is_confirmed             a last run at scale_low held (true) or did not (false); null: it could not tell, or there was none
-- users                    sessions under way at a time at scale, on average
-- concurrency              of a closed loop: requests in flight at scale
-- load_s                   seconds in which load was sent
-- is_weak                  found without a usable model of the server: the interval is wide, and less sure than it says
-- why                      of an outcome other than found: what stands in the way
-- minutes_enough           undecided: minutes of load, all runs together, that would probably do
-- notes                    what else a reader must know
-- runs                     what the file says of each run: number, run_id, why, scale, start_s and length_s (place in the window, seconds),
--                          seconds of load, cut_s (when it was stopped; null: it was not), p99_lateness_s, verdict; and, once there is an answer,
--                          rate_per_s, missed_ratio and the objective that was missed
-- curve                    share of requests that miss the binding objective at multiples of the window: scale, missed_ratio and its ends
with kept as (
    select
        search_id,
        source_id,
        header,
        runs,
        answer,
        last_event_at
    from raw.capacities
    union all
    select
        capacity_key,
        null,
        document -> '$.header',
        '[]'::json,
        document -> '$.answer',
        (document ->> '$.header.started_at')::timestamptz
    from raw.shape_capacities
    where starts_with(capacity_key, 'answer ')
),

searches as (
    select
        *,
        macros.deployment_fields(coalesce(header -> '$.deployment', '{}'::json)) as deployment,
        (header -> '$.slo.objectives')::json[] as objectives,
        coalesce(header ->> '$.slo.schema', 'tidemark.slo/2') = 'tidemark.slo/1' as is_first_schema,
        nullif(answer ->> '$.binding_objective', '') as binding_objective,
        from_json(coalesce(answer -> '$.table', '[]'::json), '[{
            "run_id": "VARCHAR", "rate_per_s": "DOUBLE", "missed_ratio": "DOUBLE", "objective": "VARCHAR", "verdict": "VARCHAR"
        }]') as judged,
        from_json(runs, '[{
            "number": "BIGINT", "id": "VARCHAR", "why": "VARCHAR", "scale": "DOUBLE", "start_s": "DOUBLE", "length_s": "DOUBLE",
            "load_s": "DOUBLE", "cut_ns": "DOUBLE", "lateness_p99_s": "DOUBLE", "verdict": "VARCHAR"
        }]') as ended
    from kept
)

select
    search_id,
    coalesce(nullif(header ->> '$.verb', ''), 'capacity') as verb,
    nullif(header ->> '$.answer_key', '') as answer_key,
    answer,
    source_id,
    header ->> '$.source' as source_name,
    header ->> '$.source_sha256' as source_sha256,
    (header ->> '$.window.from_s')::double as from_s,
    (header ->> '$.window.until_s')::double as until_s,
    (header ->> '$.window.requests')::bigint as window_requests,
    (header ->> '$.window.sessions')::bigint as window_sessions,
    (header ->> '$.window.rate_per_s')::double as window_rate_per_s,
    coalesce(nullif(header ->> '$.mode', ''), 'open') as mode,
    coalesce(nullif(header ->> '$.by', ''), 'sessions') as scaled_by,
    coalesce(nullif(header ->> '$.lengths', ''), 'own') as lengths,
    coalesce(nullif(header ->> '$.origin', ''), 'measured') as origin,
    deployment,
    nullif(deployment.gpu, '') as gpu,
    nullif(deployment.catalog_model, '') as catalog_model,
    deployment.tensor_parallel_size::integer as tensor_parallel_size,
    nullif(deployment.quantization, '') as quantization,
    nullif(deployment.kv_cache_dtype, '') as kv_cache_dtype,
    nullif(deployment.engine, '') as engine,
    nullif(deployment.engine_version, '') as engine_version,
    nullif(deployment.max_num_seqs, 0) as max_num_seqs,
    nullif(deployment.max_num_batched_tokens, 0) as max_num_batched_tokens,
    greatest(coalesce((header ->> '$.replicas')::bigint, 1), 1) as replicas,
    nullif(header ->> '$.routing', '') as routing,
    nullif((header -> '$.base_urls')::varchar[], []) as base_urls,
    nullif(header ->> '$.model', '') as served_model,
    header ->> '$.slo.name' as slo_name,
    array_to_string([
        case
            when (said ->> '$.metric') = 'failure_ratio' then 'failure_ratio at most ' || macros.percent_text((said ->> '$.at_most')::double)
            else coalesce('p' || format('{:g}', (said ->> '$.percentile')::double), 'mean') || ' ' || (said ->> '$.metric')
                || case when is_first_schema and (said ->> '$.metric') in ('ttft', 'e2e') then '_from_due' else '' end
                || coalesce(' of class ' || nullif(said ->> '$.class', ''), '')
                || ' at most ' || macros.duration_text((said ->> '$.at_most')::double)
        end for said in objectives
    ], '; ') as objectives,
    (header ->> '$.budget_s')::double as budget_s,
    (header ->> '$.precision')::double as precision_ratio,
    (header ->> '$.min_scale')::double as min_scale,
    (header ->> '$.max_scale')::double as max_scale,
    (header ->> '$.seed')::ubigint as seed,
    nullif(header ->> '$.tidemark_version', '') as tidemark_version,
    (header ->> '$.started_at')::timestamptz as started_at,
    last_event_at,
    answer ->> '$.outcome' as outcome,
    (answer ->> '$.scale')::double as scale,
    (answer ->> '$.scale_low')::double as scale_low,
    (answer ->> '$.scale_high')::double as scale_high,
    (answer ->> '$.rate_per_s')::double as rate_per_s,
    (answer ->> '$.rate_low_per_s')::double as rate_low_per_s,
    (answer ->> '$.rate_high_per_s')::double as rate_high_per_s,
    binding_objective,
    case
        when binding_objective like 'failure_ratio%' then list_filter(
            [(said ->> '$.at_most')::double for said in objectives if (said ->> '$.metric') = 'failure_ratio'], lambda x: x is not null
        )[1]
        else (100 - nullif(regexp_extract(binding_objective, '^p([0-9.]+) ', 1), '')::double) / 100
    end as allowed_ratio,
    (answer ->> '$.predicted_scale')::double as predicted_scale,
    (answer ->> '$.confirmed')::boolean as is_confirmed,
    (answer ->> '$.users')::double as users,
    (answer ->> '$.concurrency')::bigint as concurrency,
    coalesce((answer ->> '$.load_s')::double, list_sum([run.load_s for run in ended]), 0) as load_s,
    (answer ->> '$.is_weak')::boolean as is_weak,
    nullif(answer ->> '$.why', '') as why,
    (answer ->> '$.minutes_enough')::double as minutes_enough,
    nullif((answer -> '$.notes')::varchar[], []) as notes,
    [
        {
            'number': run.number,
            'run_id': run.id,
            'why': run.why,
            'scale': run.scale,
            'start_s': run.start_s,
            'length_s': run.length_s,
            'seconds': run.load_s,
            'cut_s': nullif(run.cut_ns, 0) / 1e9,
            'p99_lateness_s': run.lateness_p99_s,
            'verdict': coalesce(list_filter(judged, lambda row: row.run_id = run.id)[1].verdict, run.verdict),
            'rate_per_s': list_filter(judged, lambda row: row.run_id = run.id)[1].rate_per_s,
            'missed_ratio': list_filter(judged, lambda row: row.run_id = run.id)[1].missed_ratio,
            'objective': list_filter(judged, lambda row: row.run_id = run.id)[1].objective
        } for run in ended
    ] as runs,
    from_json(coalesce(answer -> '$.curve', '[]'::json), '[{
        "scale": "DOUBLE", "missed_ratio": "DOUBLE", "missed_low_ratio": "DOUBLE", "missed_high_ratio": "DOUBLE"
    }]') as curve
from searches
