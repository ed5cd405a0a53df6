-- One row per search for capacity and another one that it can be compared with: of the same trace, window, objectives, mode, way to change the load and
-- origin.
--
-- 'before': the other one is the newest earlier search with a limit, so that the row says what a change of the server did. 'lengths': the search is a
-- control with average lengths, and the other one has the trace's own lengths on the same deployment, so that the row says what averages promise.
-- The interval of the ratio takes the two limits for independent and their logarithms for spread as their intervals are wide.
-- group: money
-- search_id             the search
-- other_search_id       the other one
-- kind                  'before' or 'lengths'
-- source_name           the trace whose window was scaled
-- origin                of both: 'measured', 'simulated' or 'rehearsed'
-- started_at            when the search began
-- other_started_at      when the other one did
-- scale                 its limit, a multiple of the window's traffic
-- other_scale           that of the other one
-- rate_per_s            its limit, requests per second
-- other_rate_per_s      that of the other one
-- scale_ratio           scale / other_scale
-- low_scale_ratio       lower end of the ratio's 90 % interval; null: a limit has none
-- high_scale_ratio      upper end
-- is_different          the interval of the ratio does not hold 1; null without an interval
-- changed               what differs between the deployments, in words: 'max_num_seqs 128 to 256'; null: nothing that was said
with searches as (
    select
        *,
        hash(coalesce(source_sha256, source_name), from_s, until_s, mode, scaled_by, objectives, origin) as question,
        to_json(deployment) as said
    from staging.capacities
    where verb = 'capacity'
),

befores as (
    select
        search_id,
        -- Only a search with a limit can be compared with.
        lag(case when scale is not null then search_id end ignore nulls) over (
            partition by question, lengths order by started_at, search_id
        ) as other_search_id,
        'before' as kind
    from searches
),

controls as (
    select
        mean.search_id,
        arg_min(own.search_id, (abs(epoch(own.started_at) - epoch(mean.started_at)), own.search_id)) as other_search_id,
        'lengths' as kind
    from searches as mean
    inner join searches as own
        on own.question = mean.question
        and own.said = mean.said
        and own.replicas = mean.replicas
        and own.scale is not null
    where mean.lengths = 'mean'
        and own.lengths = 'own'
    group by mean.search_id
),

pairs as (
    select * from befores where other_search_id is not null
    union all
    select * from controls
),

compared as (
    select
        pairs.search_id,
        pairs.other_search_id,
        pairs.kind,
        new,
        old,
        new.scale / old.scale as scale_ratio,
        sqrt(pow(ln(new.scale / new.scale_low), 2) + pow(ln(old.scale_high / old.scale), 2)) as below,
        sqrt(pow(ln(new.scale_high / new.scale), 2) + pow(ln(old.scale / old.scale_low), 2)) as above
    from pairs
    inner join searches as new on new.search_id = pairs.search_id
    inner join searches as old on old.search_id = pairs.other_search_id
)

select
    search_id,
    other_search_id,
    kind,
    new.source_name as source_name,
    new.origin as origin,
    new.started_at as started_at,
    old.started_at as other_started_at,
    new.scale as scale,
    old.scale as other_scale,
    new.rate_per_s as rate_per_s,
    old.rate_per_s as other_rate_per_s,
    scale_ratio,
    scale_ratio * exp(-below) as low_scale_ratio,
    scale_ratio * exp(above) as high_scale_ratio,
    scale_ratio * exp(-below) > 1 or scale_ratio * exp(above) < 1 as is_different,
    nullif(array_to_string(
        [
            key || ' ' || coalesce(nullif(json_extract_string(old.said, '$.' || key), ''), 'not said')
            || ' to ' || coalesce(nullif(json_extract_string(new.said, '$.' || key), ''), 'not said')
            for key in json_keys(new.said)
            if coalesce(nullif(json_extract_string(old.said, '$.' || key), ''), '') <> coalesce(nullif(json_extract_string(new.said, '$.' || key), ''), '')
        ]
        || case when new.replicas <> old.replicas then ['replicas ' || old.replicas || ' to ' || new.replicas] else [] end,
        ', '
    ), '') as changed
from compared
