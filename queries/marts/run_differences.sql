-- One row per ordered pair of runs and setting in which they differ. Runs of another model, of another load or of another origin must not be
-- compared: is_refused. Nor may a draft, whose GPU or model is not known: it may have run on anything. Every other setting may be the reason
-- for the comparison. Name both runs: the view has all pairs.
--
-- Runs of one plan in one mode have one load. Other runs have one load if their source, its scaling, mode and cap agree, and if what was planned
-- agrees within a tenth (or within three standard errors of so few requests): requests per second of an open loop, and mean lengths.
--
-- got_tokens_ratio is no setting but a result: of one plan, the tokens that successful requests got, prompts and answers as the servers report them, over those
-- that were asked for. Where the two differ by more than one in a thousand, they did not do the same work.
--
-- cached_prompt_ratio is a result of earlier requests: the share of prompt tokens that the server says it had in its prefix
-- cache. A server that is warm from the first run makes the second one faster, so it stands here where the two differ by more than 0.03.
-- group: runs
-- run_id         the run from before
-- other_run_id   the run from after
-- kind           'model' (or the deployment of a draft), 'load' or 'origin'; else 'server' (as the server says, else as it was asked for) or 'client'
-- setting        its name
-- value          of run_id; null: it does not say
-- other_value    of other_run_id
-- is_refused     the two must not be compared for it
with runs as (
    select
        run_id,
        plan_fingerprint,
        mode,
        coalesce(catalog_model, served_model) as model,
        case when not is_draft then concat_ws(' ', gpu, catalog_model) end as deployment,
        origin,
        [
            {'kind': 'load', 'setting': 'mode', 'value': mode},
            {'kind': 'load', 'setting': 'max_concurrency', 'value': max_concurrency::varchar},
            {'kind': 'load', 'setting': 'source', 'value': coalesce(source_name, '') || coalesce(' (' || source_sha256[:8] || ')', '')},
            {'kind': 'load', 'setting': 'speed', 'value': round(speed, 4)::varchar},
            {'kind': 'load', 'setting': 'thin', 'value': round(thin, 4)::varchar},
            {'kind': 'load', 'setting': 'thicken', 'value': round(thicken, 4)::varchar},
            {'kind': 'load', 'setting': 'lengths', 'value': lengths},
            {'kind': 'load', 'setting': 'session_rate_per_s', 'value': round(session_rate_per_s, 4)::varchar},
            {'kind': 'load', 'setting': 'history', 'value': history},
            {'kind': 'server', 'setting': 'gpu', 'value': gpu},
            {'kind': 'server', 'setting': 'simulates', 'value': simulates},
            {'kind': 'server', 'setting': 'engine', 'value': coalesce(engine, server_engine)},
            {'kind': 'server', 'setting': 'class_models', 'value': class_models::varchar},
            {'kind': 'server', 'setting': 'routing', 'value': routing},
            {'kind': 'server', 'setting': 'servers', 'value': len(endpoints)::varchar},
            {'kind': 'client', 'setting': 'plan', 'value': plan_fingerprint[:8]},
            {'kind': 'client', 'setting': 'seed', 'value': seed::varchar},
            {'kind': 'client', 'setting': 'body', 'value': body},
            {'kind': 'client', 'setting': 'endpoint', 'value': endpoint},
            {'kind': 'client', 'setting': 'cache', 'value': nullif(cache_asked, '')},
            {'kind': 'client', 'setting': 'warm_up_s', 'value': warm_up_s::varchar},
            {'kind': 'client', 'setting': 'tidemark_version', 'value': tidemark_version}
        ] as settings
    from staging.runs
),

pairs as (
    select
        one.run_id,
        two.run_id as other_run_id,
        one.model,
        two.model as other_model,
        one.deployment,
        two.deployment as other_deployment,
        one.origin,
        two.origin as other_origin,
        coalesce(one.plan_fingerprint = two.plan_fingerprint and one.mode = two.mode, false) as is_one_plan
    from runs as one
    inner join runs as two on two.run_id <> one.run_id
),

settings as (
    select
        run_id,
        unnest(settings, recursive := true)
    from runs
    union all
    select
        run_id,
        'server',
        setting,
        coalesce(effective, asked)
    from staging.server_settings
    where setting not in ('model', 'gpu', 'catalog_model', 'engine')
        and coalesce(effective, asked, '') <> ''
),

-- What was planned, as numbers that chance moves a little.
planned as (
    select
        requests.run_id,
        count(*) as requests,
        unnest([
            {
                'setting': 'planned_requests_per_s',
                'value': case when any_value(runs.mode) = 'open' then (count(*) - 1) / nullif(max(requests.due_s) - min(requests.due_s), 0) end
            },
            {'setting': 'planned_input_tokens', 'value': avg(requests.input_tokens)},
            {'setting': 'planned_output_tokens', 'value': avg(requests.output_tokens)}
        ], recursive := true)
    from staging.requests
    inner join staging.runs on runs.run_id = requests.run_id
    group by requests.run_id
),

cached as (
    select
        run_id,
        sum(cached_tokens) / sum(coalesce(input_tokens_reported, input_tokens)) as cached_prompt_ratio
    from staging.requests
    where is_success
        and not is_warm_up
        and cached_tokens is not null
    group by run_id
),

differences as (
    select
        run_id,
        other_run_id,
        'model' as kind,
        'model' as setting,
        model as value,
        other_model as other_value
    from pairs
    where coalesce(macros.bare_spelling(model), macros.model_spelling(model))
        is distinct from coalesce(macros.bare_spelling(other_model), macros.model_spelling(other_model))
    union all
    select
        run_id,
        other_run_id,
        'model',
        'deployment',
        deployment,
        other_deployment
    from pairs
    where deployment is null
        or other_deployment is null
    union all
    select
        run_id,
        other_run_id,
        'origin',
        'origin',
        origin,
        other_origin
    from pairs
    where origin <> other_origin
    union all
    select
        pairs.run_id,
        pairs.other_run_id,
        coalesce(one.kind, two.kind),
        coalesce(one.setting, two.setting),
        one.value,
        two.value
    from pairs
    inner join (select distinct kind, setting from settings) as names on not (names.kind = 'load' and pairs.is_one_plan and names.setting <> 'max_concurrency')
    left join settings as one
        on one.run_id = pairs.run_id
        and one.kind = names.kind
        and one.setting = names.setting
    left join settings as two
        on two.run_id = pairs.other_run_id
        and two.kind = names.kind
        and two.setting = names.setting
    where one.value is distinct from two.value
        and not coalesce(try_cast(one.value as double) = try_cast(two.value as double), false)
    union all
    select
        pairs.run_id,
        pairs.other_run_id,
        'load',
        one.setting,
        macros.figures(one.value),
        macros.figures(two.value)
    from pairs
    inner join planned as one on one.run_id = pairs.run_id
    inner join planned as two
        on two.run_id = pairs.other_run_id
        and two.setting = one.setting
    where not pairs.is_one_plan
        and abs(ln(nullif(two.value, 0) / nullif(one.value, 0))) > greatest(0.1e0, 3 * sqrt(1 / one.requests + 1 / two.requests))
    union all
    select
        pairs.run_id,
        pairs.other_run_id,
        'load',
        'got_tokens_ratio',
        round(one.got_tokens / one.asked_tokens, 5)::varchar,
        round(two.got_tokens / two.asked_tokens, 5)::varchar
    from pairs
    inner join marts.routing as one on one.run_id = pairs.run_id
    inner join marts.routing as two on two.run_id = pairs.other_run_id
    where pairs.is_one_plan
        and abs(one.got_tokens / one.asked_tokens - two.got_tokens / two.asked_tokens) > 1e-3
    union all
    select
        one.run_id,
        two.run_id,
        'server',
        'cached_prompt_ratio',
        round(one.cached_prompt_ratio, 3)::varchar,
        round(two.cached_prompt_ratio, 3)::varchar
    from cached as one
    inner join cached as two
        on two.run_id <> one.run_id
        and abs(two.cached_prompt_ratio - one.cached_prompt_ratio) > 0.03e0
)

select
    run_id,
    other_run_id,
    kind,
    setting,
    value,
    other_value,
    kind in ('model', 'load', 'origin') as is_refused
from differences
