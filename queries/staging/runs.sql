-- One row per replay: its settings and what it ran on, from run.json.
--
-- A run without an environment is a draft: it is measured and shown, not compared.
-- Kept per run.
-- group: runs
-- run_id                   the replay
-- name                     what the user called it
-- note                     what the user wrote about it
-- tidemark_version         the version of tidemark that sent it; null where run.json does not say
-- started_at               when it began
-- ended_at                 when it ended; null while it runs or after a kill
-- status                   'running', 'done', 'interrupted' or 'aborted'
-- base_url                 the server that was asked
-- endpoint                 the path on it
-- served_model             the name that the server serves the model under
-- source_name              the trace or profile that was sent
-- source_sha256            fingerprint of that file
-- plan_fingerprint         sha256 of the plan as sent
-- seed                     of everything that was drawn
-- speed                    the trace's clock ran so many times as fast
-- thin                     share of sessions kept
-- thicken                  copies made of each session
-- spread_tick_s            requests of one tick of the trace's clock were spread over it, seconds; null: sent as they came
-- lengths                  'own', or 'mean': a control whose requests all have the average lengths of its plan
-- session_rate_per_s       sessions without a start of their own were started at random, so many per second; null: none was
-- planned_requests         requests in the plan
-- duration_s               length of the run, seconds
-- max_lateness_s           p99 lateness above this makes the run invalid, seconds
-- mode                     'open', 'sessions' or 'closed'
-- max_concurrency          closed: requests in flight; else a cap over the due times; null for none
-- history                  of a session's later turns: 'planned', or 'answered' by the server
-- body                     fields that the user added to each request, as a JSON object; null for none
-- server_engine            the engine that the server was recognised as: 'vllm', 'sglang' or 'openai'; null where the run does not say
-- server_engine_known_by   by what it was recognised
-- cache_asked              what was asked for: '', 'reset' or 'cold'
-- cache_method             what was done: 'none', 'reset', 'salt_per_run' or 'salt_per_request'; null where the run does not say
-- warm_up_s                requests due before it are flagged, seconds
-- is_drained               the server said before the first request that it ran nothing; null where it did not say
-- drain_waited_s           how long that was waited for, seconds
-- running_before           requests that the server ran when it was asked first
-- endpoints                base urls that were sent to
-- speculative_tokens       guessed ahead in a step, as the server says; 0: none, or it does not say
-- routing                  how requests are shared over several addresses; null: in turns, those of a session to one
-- class_models             the model that a class asked for instead of served_model, by class; null: none
-- environments             what the models of class_models run on, by model, as JSON with the fields of macros.deployment_fields; null: nobody said
-- series_id                runs of one experiment share it; null: the run stands alone, as are the next nine
-- series_name              name of the experiment
-- hypothesis               what it is to show
-- expected_met_at          value of a step that is expected to meet the SLO; null: the experiment does not say
-- expected_not_met_at      value of a step that is expected not to
-- expected_binds           metric that is expected to be furthest beyond its bound at the first step that does not meet it
-- variable                 the one setting that differs between its rows
-- value                    of that setting in this run
-- series_row               0-based row
-- series_repeat            0-based repeat of the row
-- deployment               what it ran on, for macros.deployment: every field of macros.deployment_fields; the engine's version is
--                          the server's where the user named none. The next nine are the same, one by one
-- gpu                      GPU as the user named it
-- catalog_model            model as the user named it, for the bandwidth model
-- tensor_parallel_size     GPUs that share the model
-- quantization             format of the weights
-- kv_cache_dtype           format of the KV cache
-- engine                   'vllm', ...
-- engine_version           as the user or the server said
-- max_num_seqs             sequences that the engine runs at once
-- max_num_batched_tokens   tokens of one engine step
-- environment_source       who said what it ran on: 'flags', 'file' or 'server'
-- server_version           what the server said
-- is_simulated             a server said that it is a simulation, or there was none: the run was rehearsed
-- origin                   'measured'; 'simulated': a server said that it is a simulation; 'rehearsed': played in virtual time, nothing was sent
-- simulates                what it said it simulates
-- is_draft                 GPU or model is not known
-- unmodelled               techniques that its server said it runs with and no model here has, as 'KV offload, LoRA'; null: none
-- gpus                     of all addresses together; null for a draft, or where a class goes to an address whose model runs on what nobody said
-- is_complete              the run ended by itself
-- has_ended                it wrote its result: by itself, or stopped by the user; false while it runs and after a kill
-- reported_sent            requests sent, as counted while it ran; null after a kill
-- reported_completed       requests that succeeded, as counted while it ran; null after a kill
-- reported_valid           the engine's own verdict on its timing; null after a kill
-- reported_reason          and why
-- client_limit             what the client's machine ran out of: descriptors or ports; null: nothing
-- stop_reason              why it stopped before its plan did; null: it did not
-- stopped_by               who stopped it: 'server' (none was left), 'client' (a full disk), 'set-up' (another model was served) or 'user'
-- on_dead                  what was to be done when one of several servers went: 'go-on' or 'stop'; null: an older run, which stopped
-- max_failures_ratio       share of the requests that might fail or stay unsent; null where the run does not say
-- shortest_timeout_s       the shorter of the time-outs of an answer, seconds; null where the run does not say
select
    runs.run_id,
    runs.document ->> '$.name' as name,
    runs.document ->> '$.note' as note,
    nullif(runs.document ->> '$.tidemark_version', '') as tidemark_version,
    (runs.document ->> '$.started_at')::timestamptz as started_at,
    try_cast(nullif(runs.document ->> '$.ended_at', '') as timestamptz) as ended_at,
    runs.document ->> '$.status' as status,
    runs.document ->> '$.target.base_url' as base_url,
    runs.document ->> '$.target.endpoint' as endpoint,
    runs.document ->> '$.target.model' as served_model,
    runs.document ->> '$.plan.source' as source_name,
    runs.document ->> '$.plan.source_sha256' as source_sha256,
    runs.document ->> '$.plan.fingerprint' as plan_fingerprint,
    coalesce(runs.document ->> '$.plan.seed', runs.document ->> '$.settings.seed')::ubigint as seed,
    (runs.document ->> '$.plan.scaling.speed')::double as speed,
    (runs.document ->> '$.plan.scaling.thin')::double as thin,
    (runs.document ->> '$.plan.scaling.thicken')::double as thicken,
    nullif((runs.document ->> '$.plan.scaling.spread_tick_s')::double, 0) as spread_tick_s,
    coalesce(nullif(runs.document ->> '$.plan.scaling.lengths', ''), 'own') as lengths,
    nullif((runs.document ->> '$.plan.scaling.session_rate_per_s')::double, 0) as session_rate_per_s,
    (runs.document ->> '$.plan.requests')::bigint as planned_requests,
    (runs.document ->> '$.result.duration_s')::double as duration_s,
    (runs.document ->> '$.settings.max_lateness_s')::double as max_lateness_s,
    coalesce(nullif(runs.document ->> '$.settings.mode', ''), 'open') as mode,
    nullif((runs.document ->> '$.settings.max_concurrency')::bigint, 0) as max_concurrency,
    coalesce(nullif(runs.document ->> '$.settings.history', ''), 'planned') as history,
    nullif(runs.document ->> '$.settings.body', '') as body,
    nullif(runs.document ->> '$.server.engine', '') as server_engine,
    nullif(runs.document ->> '$.server.engine_known_by', '') as server_engine_known_by,
    coalesce(runs.document ->> '$.readiness.cache.asked', runs.document ->> '$.settings.cache', '') as cache_asked,
    runs.document ->> '$.readiness.cache.method' as cache_method,
    coalesce((runs.document ->> '$.settings.warm_up_s')::double, 0) as warm_up_s,
    (runs.document ->> '$.readiness.is_drained')::boolean as is_drained,
    (runs.document ->> '$.readiness.waited_s')::double as drain_waited_s,
    (runs.document ->> '$.readiness.running_before')::double as running_before,
    coalesce(
        nullif((runs.document -> '$.target.base_urls')::varchar[], []),
        case when runs.document ->> '$.target.base_url' is not null then [runs.document ->> '$.target.base_url'] end
    ) as endpoints,
    nullif(runs.document ->> '$.target.routing', '') as routing,
    (runs.document -> '$.target.models')::map(varchar, varchar) as class_models,
    (runs.document -> '$.environments')::map(varchar, json) as environments,
    coalesce((runs.document ->> '$.effective.num_speculative_tokens')::bigint, 0) as speculative_tokens,
    nullif(runs.document ->> '$.series.id', '') as series_id,
    runs.document ->> '$.series.name' as series_name,
    runs.document ->> '$.series.hypothesis' as hypothesis,
    runs.document ->> '$.series.expect.met_at' as expected_met_at,
    runs.document ->> '$.series.expect.not_met_at' as expected_not_met_at,
    runs.document ->> '$.series.expect.binds' as expected_binds,
    runs.document ->> '$.series.variable' as variable,
    runs.document ->> '$.series.value' as value,
    (runs.document ->> '$.series.row')::integer as series_row,
    (runs.document ->> '$.series.repeat')::integer as series_repeat,
    runs.deployment,
    nullif(runs.deployment.gpu, '') as gpu,
    nullif(runs.deployment.catalog_model, '') as catalog_model,
    runs.deployment.tensor_parallel_size::integer as tensor_parallel_size,
    nullif(runs.deployment.quantization, '') as quantization,
    nullif(runs.deployment.kv_cache_dtype, '') as kv_cache_dtype,
    nullif(runs.deployment.engine, '') as engine,
    nullif(runs.document ->> '$.environment.engine_version', '') as engine_version,
    nullif(runs.deployment.max_num_seqs, 0) as max_num_seqs,
    nullif(runs.deployment.max_num_batched_tokens, 0) as max_num_batched_tokens,
    runs.document ->> '$.environment_source' as environment_source,
    nullif(runs.document ->> '$.server.version', '') as server_version,
    coalesce((runs.document ->> '$.server.is_simulated')::boolean, false)
    or coalesce(list_contains(runs.document ->> '$.servers[*].is_simulated', 'true'), false) as is_simulated,
    case
        when runs.document ->> '$.origin' = 'rehearsed' then 'rehearsed'
        when is_simulated then 'simulated'
        else 'measured'
    end as origin,
    nullif(concat_ws(
        ' ',
        nullif(runs.document ->> '$.server.simulates.gpu', ''),
        'x' || nullif(
            (runs.document ->> '$.server.simulates.tensor_parallel_size')::bigint
            * coalesce((runs.document ->> '$.server.simulates.data_parallel_size')::bigint, 1), 0
        ),
        nullif(runs.document ->> '$.server.simulates.catalog_model', ''),
        nullif(runs.document ->> '$.server.simulates.quantization', ''),
        -- A simulated server without a GPU says what it is instead.
        case
            when coalesce(runs.document ->> '$.server.simulates.gpu', '') = ''
                then nullif(runs.document ->> '$.server.simulates.engine', '')
        end
    ), '') as simulates,
    nullif(runs.document ->> '$.environment.gpu', '') is null
        or nullif(runs.document ->> '$.environment.catalog_model', '') is null as is_draft,
    nullif(runs.document ->> '$.effective.unmodelled', '') as unmodelled,
    case
        when not is_draft
            then list_reduce(
                list_prepend(
                    macros.gpus_of_address(to_json(runs.deployment)) * greatest(1, coalesce(len(endpoints), 1)),
                    list_transform(
                        list_distinct(list_transform(
                            list_filter(
                                map_entries(coalesce((runs.document -> '$.target.routes')::map(varchar, varchar), map {})),
                                lambda route: not coalesce(list_contains(endpoints, route.value), false)
                            ),
                            lambda route: {'url': route.value, 'model': coalesce(class_models[route.key], served_model)}
                        )),
                        lambda address: macros.gpus_of_address(
                            case when address.model is not distinct from served_model then to_json(runs.deployment) else environments[address.model] end
                        )
                    )
                ),
                lambda a, b: a + b
            )
    end as gpus,
    coalesce(runs.document ->> '$.status', '') = 'done' as is_complete,
    coalesce(runs.document ->> '$.status', '') in ('done', 'interrupted', 'aborted')
        and (runs.document ->> '$.result.is_valid') is not null as has_ended,
    (runs.document ->> '$.result.sent')::bigint as reported_sent,
    (runs.document ->> '$.result.completed')::bigint as reported_completed,
    (runs.document ->> '$.result.is_valid')::boolean as reported_valid,
    nullif(runs.document ->> '$.result.invalid_reason', '') as reported_reason,
    nullif(runs.document ->> '$.result.client_limit', '') as client_limit,
    coalesce(
        replace(nullif(runs.document ->> '$.stop_reason', ''), 'replay: stopped: ', ''),
        case when runs.document ->> '$.status' = 'interrupted' then 'the user interrupted it' end
    ) as stop_reason,
    case
        when runs.document ->> '$.status' = 'interrupted' then 'user'
        when runs.document ->> '$.status' = 'aborted'
            -- Older runs say only why.
            then coalesce(
                nullif(runs.document ->> '$.stopped_by', ''),
                case when runs.document ->> '$.stop_reason' like '% has gone: %' then 'server' else 'client' end
            )
    end as stopped_by,
    nullif(runs.document ->> '$.settings.on_dead', '') as on_dead,
    (runs.document ->> '$.settings.max_failures_ratio')::double as max_failures_ratio,
    nullif(least(
        (runs.document ->> '$.settings.first_byte_timeout_s')::double, (runs.document ->> '$.settings.between_bytes_timeout_s')::double
    ), 0) as shortest_timeout_s
from (
    select
        *,
        macros.deployment_fields(json_merge_patch(
            document -> '$.environment',
            json_object('engine_version', coalesce(
                nullif(document ->> '$.environment.engine_version', ''), nullif(document ->> '$.server.version', ''), ''
            ))
        )) as deployment
    from raw.runs
) as runs
