-- One row per measurement at one load: our own runs, and the results of other tools. Beside TPOT stand the floor and the prediction of
-- this deployment at this load, by the macros that predict uses.
--
-- Numbers of two definitions are not the same thing: compare rows of one ttft_definition, or of one tpot_definition. Where a tool prints a
-- quantity by several definitions, the row has ours if it is among them, else the first by name. Each statistic that a file does not print is
-- worked out from its requests by our definition, unless the others of the row are by another one; a p99 wants a hundred requests.
--
-- The deployment is known if GPU, model and tensor_parallel_size are: by the file itself, or by "tidemark ingest FILE --environment".
-- A prediction also wants a load: a concurrency, or a rate that is not "all at once", and mean lengths. Tokens that the prefix cache had are
-- not computed again. Most files of other tools do not say how many: then the prediction is for an empty cache, and slower where there was one.
-- group: tools
-- source_name       file of the result; null of a run
-- point             0-based place in that file; null of a run
-- run_id            the replay; null of a result
-- tool              'tidemark', 'vllm-bench-serve', 'aiperf', ...
-- tool_version      as the run or the file says
-- origin            'measured', 'simulated' or 'rehearsed'; null of a result: its file does not say
-- label             as the user called it
-- started_at        when it began
-- model             as the user or the file names it
-- gpu               likewise
-- tensor_parallel_size, engine, engine_version   likewise
-- is_known          the deployment is in the catalogue
-- load              'open', 'closed', 'sessions', 'at once' or 'offline'; null: the file does not say
-- request_rate_per_s    asked for, of a run planned; null: unlimited or not said
-- max_concurrency   asked for
-- input_tokens      mean prompt: of successful requests, else as asked for
-- output_tokens     mean answer, likewise
-- cached_tokens     mean of a prompt that the server says it had in its prefix cache; null: it does not say, and the prediction takes none
-- workload          lengths in words, to two figures: points of one workload may be drawn as one curve over their load
-- requests          sent
-- completed         of these, successful
-- has_requests      single requests are in the warehouse, so that "tidemark runs --slo" can judge it
-- ttft_definition   how TTFT was measured, as in seeds.definitions
-- mean_ttft_s, p50_ttft_s, p90_ttft_s, p95_ttft_s, p99_ttft_s   seconds
-- tpot_definition   how TPOT was measured
-- mean_tpot_s, p50_tpot_s, p90_tpot_s, p95_tpot_s, p99_tpot_s   seconds
-- request_per_s     completed requests per second
-- output_token_per_s   output tokens per second
-- floor_tpot_s      at this load: what HBM alone needs, seconds
-- predicted_tpot_s  mean time per token after the first, seconds
-- low_predicted_tpot_s, high_predicted_tpot_s   90 % band of it
-- predicted_ttft_s  mean, seconds
-- predicted_output_token_per_s   of all replicas
-- tpot_error_ratio  predicted / measured mean TPOT - 1; where a file prints no mean, its median
with asked_figures as (
    select
        figures.source_id,
        figures.point,
        figures.quantity,
        figures.definition_id,
        figures.statistic,
        any_value(figures.value) as value
    from staging.figures
    where figures.quantity in ('ttft_s', 'tpot_s', 'requests_per_s', 'output_tokens_per_s')
        and figures.statistic in ('mean', 'p50', 'p90', 'p95', 'p99', 'value')
        and isfinite(figures.value)
    group by
        figures.source_id,
        figures.point,
        figures.quantity,
        figures.definition_id,
        figures.statistic
    qualify figures.definition_id = first_value(figures.definition_id) over (
        partition by figures.source_id, figures.point, figures.quantity
        order by
            figures.definition_id in ('sent_to_first_token', 'after_first_token', 'succeeded_over_run') desc,
            figures.definition_id
    )
),

printed as (
    select
        source_id,
        point,
        max(definition_id) filter (where quantity = 'ttft_s') as ttft_definition,
        max(definition_id) filter (where quantity = 'tpot_s') as tpot_definition,
        map_from_entries(list({'key': quantity || ' ' || statistic, 'value': value})) as figures
    from asked_figures
    group by
        source_id,
        point
),

from_requests as (
    select
        source_id,
        point,
        count(*) filter (where is_success) as completed,
        avg(input_tokens) filter (where is_success) as input_tokens,
        avg(output_tokens) filter (where is_success) as output_tokens,
        avg(cached_tokens) filter (where is_success) as cached_tokens,
        count(ttft_s) as with_ttft,
        avg(ttft_s) as mean_ttft_s,
        quantile_cont(ttft_s, macros.compared_quantiles()) as ttft,
        count(tpot_s) as with_tpot,
        avg(tpot_s) as mean_tpot_s,
        quantile_cont(tpot_s, macros.compared_quantiles()) as tpot
    from staging.result_requests
    where not is_warm_up
    group by
        source_id,
        point
),

results as (
    select
        points.source_name,
        points.point,
        null::varchar as run_id,
        points.tool,
        points.tool_version,
        null::varchar as origin,
        points.label,
        points.started_at,
        said.deployment,
        said.deployment.gpu is not null and said.deployment.catalog_model is not null and said.deployment.tensor_parallel_size > 0 as is_said,
        points.load,
        nullif(points.request_rate_per_s, 'inf'::double) as request_rate_per_s,
        points.max_concurrency,
        coalesce(points.total_input_tokens / nullif(points.completed, 0), requests.input_tokens, points.input_tokens_asked) as input_tokens,
        coalesce(points.total_output_tokens / nullif(points.completed, 0), requests.output_tokens, points.output_tokens_asked) as output_tokens,
        requests.cached_tokens,
        points.requests,
        coalesce(points.completed, requests.completed) as completed,
        requests.source_id is not null as has_requests,
        coalesce(printed.ttft_definition, case when with_ttft > 0 then 'sent_to_first_token' end) as ttft_definition,
        coalesce(printed.ttft_definition, 'sent_to_first_token') = 'sent_to_first_token' as has_our_ttft,
        coalesce(figures['ttft_s mean'], case when has_our_ttft then mean_ttft_s end) as mean_ttft_s,
        coalesce(figures['ttft_s p50'], case when has_our_ttft then ttft[1] end) as p50_ttft_s,
        coalesce(figures['ttft_s p90'], case when has_our_ttft then ttft[2] end) as p90_ttft_s,
        coalesce(figures['ttft_s p95'], case when has_our_ttft then ttft[3] end) as p95_ttft_s,
        coalesce(figures['ttft_s p99'], case when has_our_ttft and with_ttft >= 100 then ttft[4] end) as p99_ttft_s,
        coalesce(printed.tpot_definition, case when with_tpot > 0 then 'after_first_token' end) as tpot_definition,
        coalesce(printed.tpot_definition, 'after_first_token') = 'after_first_token' as has_our_tpot,
        coalesce(figures['tpot_s mean'], case when has_our_tpot then mean_tpot_s end) as mean_tpot_s,
        coalesce(figures['tpot_s p50'], case when has_our_tpot then tpot[1] end) as p50_tpot_s,
        coalesce(figures['tpot_s p90'], case when has_our_tpot then tpot[2] end) as p90_tpot_s,
        coalesce(figures['tpot_s p95'], case when has_our_tpot then tpot[3] end) as p95_tpot_s,
        coalesce(figures['tpot_s p99'], case when has_our_tpot and with_tpot >= 100 then tpot[4] end) as p99_tpot_s,
        coalesce(figures['requests_per_s value'], figures['requests_per_s mean']) as request_per_s,
        coalesce(figures['output_tokens_per_s value'], figures['output_tokens_per_s mean']) as output_token_per_s
    from staging.points
    left join printed
        on printed.source_id = points.source_id
        and printed.point = points.point
    left join from_requests as requests
        on requests.source_id = points.source_id
        and requests.point = points.point
    cross join lateral (select macros.measured_on(points) as deployment) as said
),

measured as (
    select
        run_id,
        count(*) filter (where is_sent) as requests,
        count(*) filter (where is_success) as completed,
        (count(*) - 1) / nullif(max(due_s) - min(due_s), 0) as planned_per_s,
        nullif(max(coalesce(done_s, last_token_s, sent_s)) - min(due_s), 0) as window_s,
        avg(coalesce(input_tokens_reported, input_tokens)) filter (where is_success) as input_tokens,
        avg(coalesce(received_tokens, output_tokens)) filter (where is_success) as output_tokens,
        avg(cached_tokens) filter (where is_success) as cached_tokens,
        case when count(*) filter (where is_success and received_tokens is null) = 0
            then sum(received_tokens) filter (where is_success) end as received_tokens,
        avg(ttft_s) filter (where is_success) as mean_ttft_s,
        quantile_cont(ttft_s, macros.compared_quantiles()) filter (where is_success) as ttft,
        count(tpot_s) filter (where is_success) as with_tpot,
        avg(tpot_s) filter (where is_success) as mean_tpot_s,
        quantile_cont(tpot_s, macros.compared_quantiles()) filter (where is_success) as tpot
    from staging.requests
    where not is_warm_up
    group by run_id
),

own as (
    select
        null::varchar as source_name,
        null::bigint as point,
        runs.run_id,
        'tidemark' as tool,
        runs.tidemark_version as tool_version,
        runs.origin,
        runs.name as label,
        runs.started_at,
        runs.deployment,
        not runs.is_draft as is_said,
        runs.mode as load,
        case when runs.mode = 'open' then measured.planned_per_s end as request_rate_per_s,
        case when runs.mode = 'closed' then runs.max_concurrency end as max_concurrency,
        measured.input_tokens,
        measured.output_tokens,
        measured.cached_tokens,
        measured.requests,
        measured.completed,
        true as has_requests,
        'sent_to_first_token' as ttft_definition,
        measured.mean_ttft_s,
        measured.ttft[1] as p50_ttft_s,
        measured.ttft[2] as p90_ttft_s,
        measured.ttft[3] as p95_ttft_s,
        macros.p99_of(measured.ttft, measured.completed) as p99_ttft_s,
        'after_first_token' as tpot_definition,
        measured.mean_tpot_s,
        measured.tpot[1] as p50_tpot_s,
        measured.tpot[2] as p90_tpot_s,
        measured.tpot[3] as p95_tpot_s,
        macros.p99_of(measured.tpot, measured.with_tpot) as p99_tpot_s,
        measured.completed / measured.window_s as request_per_s,
        measured.received_tokens / measured.window_s as output_token_per_s
    from staging.runs
    inner join measured on measured.run_id = runs.run_id
),

points as (
    select * exclude (has_our_ttft, has_our_tpot)
    from results
    union all
    select * from own
),

deployed as (
    select
        asked.deployment,
        deployment.d
    from (select distinct deployment from points where is_said) as asked
    cross join lateral macros.deployment(asked.deployment) as deployment
    where macros.sharing_problem(deployment.d) is null
        and macros.kv_capacity_tokens(deployment.d) > 0
),

-- What is asked of one replica. A closed loop asks by its clients, an open one by its rate.
loads as (
    select distinct
        greatest(coalesce(points.deployment.data_parallel_size, 1), 1)::double as replicas,
        points.deployment,
        points.max_concurrency,
        points.request_rate_per_s,
        points.load,
        points.input_tokens,
        points.output_tokens,
        points.cached_tokens,
        deployed.d,
        macros.load(
            points.input_tokens,
            points.output_tokens,
            clients := case when points.load is distinct from 'open' then points.max_concurrency / replicas end,
            requests_per_s := case when points.load = 'open' then points.request_rate_per_s / replicas end,
            cached := points.cached_tokens
        ) as l
    from points
    inner join deployed on deployed.deployment = points.deployment
    where points.input_tokens >= 1
        and points.output_tokens >= 1
        and (
            points.load in ('open', 'sessions') and points.request_rate_per_s > 0
            or coalesce(points.load = 'closed', points.load is null) and points.max_concurrency > 0
        )
),

predictions as (
    select
        loads.*,
        p.floor_tpot_s,
        p.predicted_tpot_s,
        p.low_s,
        p.high_s,
        p.ttft_s,
        p.output_tokens_per_s * loads.replicas as output_tokens_per_s
    from loads
    cross join lateral macros.prediction(loads.d, loads.l) as p
    where loads.l.input + loads.l.output <= coalesce(loads.d.max_context_tokens, 'inf'::double)
        and p.is_stable
)

select
    points.source_name,
    points.point,
    points.run_id,
    points.tool,
    points.tool_version,
    points.origin,
    points.label,
    points.started_at,
    points.deployment.catalog_model as model,
    points.deployment.gpu,
    nullif(points.deployment.tensor_parallel_size, 0) as tensor_parallel_size,
    nullif(points.deployment.engine, '') as engine,
    nullif(points.deployment.engine_version, '') as engine_version,
    coalesce(points.is_said and deployed.d is not null, false) as is_known,
    points.load,
    points.request_rate_per_s,
    points.max_concurrency,
    points.input_tokens,
    points.output_tokens,
    points.cached_tokens,
    macros.two_figures(points.input_tokens) || ' in, ' || macros.two_figures(points.output_tokens) || ' out' as workload,
    points.requests,
    points.completed,
    points.has_requests,
    points.ttft_definition,
    points.mean_ttft_s,
    points.p50_ttft_s,
    points.p90_ttft_s,
    points.p95_ttft_s,
    points.p99_ttft_s,
    points.tpot_definition,
    points.mean_tpot_s,
    points.p50_tpot_s,
    points.p90_tpot_s,
    points.p95_tpot_s,
    points.p99_tpot_s,
    points.request_per_s,
    points.output_token_per_s,
    predictions.floor_tpot_s,
    predictions.predicted_tpot_s,
    predictions.low_s as low_predicted_tpot_s,
    predictions.high_s as high_predicted_tpot_s,
    predictions.ttft_s as predicted_ttft_s,
    predictions.output_tokens_per_s as predicted_output_token_per_s,
    predictions.predicted_tpot_s / nullif(coalesce(points.mean_tpot_s, points.p50_tpot_s), 0) - 1 as tpot_error_ratio
from points
left join deployed on deployed.deployment = points.deployment
left join predictions
    on points.is_said
    and predictions.deployment = points.deployment
    and predictions.load is not distinct from points.load
    and predictions.max_concurrency is not distinct from points.max_concurrency
    and predictions.request_rate_per_s is not distinct from points.request_rate_per_s
    and predictions.input_tokens = points.input_tokens
    and predictions.output_tokens = points.output_tokens
    and predictions.cached_tokens is not distinct from points.cached_tokens
