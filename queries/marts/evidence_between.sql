-- One row per run and figure: the figures of marts.evidence_decode, and figures that compare the run with another run of the warehouse: the
-- least loaded of its experiment, the same deployment on fewer GPUs or in 16 bits, the cold run of the same plan. A run that never ended is
-- compared with none. Both are in one view, because the comparison needs the decoding figures and they are expensive.
-- staging.evidence_figures says what each figure is.
-- group: diagnosis
-- run_id   the replay
-- figure   name of the figure
-- value    in its unit
with own as materialized (
    select
        run_id,
        figure,
        value
    from marts.evidence_decode
),

candidates as (
    select
        runs.run_id,
        runs.series_id,
        try_cast(runs.value as double) as load,
        runs.plan_fingerprint,
        runs.cache_asked,
        d.gpu,
        d.model,
        d.engine,
        d.weight_format,
        d.tensor_parallel_size
    from staging.runs
    left join staging.deployments as d on d.run_id = runs.run_id
    where runs.has_ended
),

-- Pairs come first, so that nothing is computed for runs without a partner.
pairs as (
    select
        runs.run_id,
        others.run_id as other_id,
        'least loaded' as what,
        others.load as place
    from candidates as runs
    inner join candidates as others on others.series_id = runs.series_id and others.load < runs.load
    union all
    select
        runs.run_id,
        others.run_id,
        'fewer GPUs',
        others.tensor_parallel_size
    from candidates as runs
    inner join candidates as others
        on others.gpu = runs.gpu
        and others.model = runs.model
        and others.engine = runs.engine
        and others.weight_format = runs.weight_format
        and others.tensor_parallel_size < runs.tensor_parallel_size
    union all
    select
        runs.run_id,
        others.run_id,
        '16 bits',
        0
    from candidates as runs
    inner join candidates as others
        on others.gpu = runs.gpu
        and others.model = runs.model
        and others.engine = runs.engine
        and others.tensor_parallel_size = runs.tensor_parallel_size
        and others.weight_format = 'bf16'
        and runs.weight_format <> 'bf16'
    union all
    select
        runs.run_id,
        others.run_id,
        'cold',
        0
    from candidates as runs
    inner join candidates as others
        on others.plan_fingerprint = runs.plan_fingerprint
        and others.cache_asked = 'cold'
        and runs.cache_asked = ''
),

nearest as (
    select
        run_id,
        what,
        arg_min(other_id, (place, other_id)) as other_id
    from pairs
    group by
        run_id,
        what
),

wanted as (
    select run_id from nearest
    union
    select other_id from nearest
),

decoding as (
    select
        run_id,
        max(value) filter (where figure = 'tpot_s') as tpot_s,
        max(value) filter (where figure = 'predicted_tpot_s') as predicted_s
    from own
    group by run_id
),

answers as (
    select
        requests.run_id,
        median(requests.ttft_s) as p50_ttft_s,
        sum(requests.received_tokens) / nullif(max(requests.done_s) - min(requests.due_s), 0) as output_token_per_s,
        sum(requests.cached_tokens)
        / nullif(sum(coalesce(requests.input_tokens_reported, requests.input_tokens)) filter (where requests.cached_tokens is not null), 0) as cached_ratio
    from staging.requests
    inner join wanted on wanted.run_id = requests.run_id
    where requests.is_success
        and not requests.is_warm_up
    group by requests.run_id
),

summaries as (
    select
        answers.*,
        decoding.tpot_s,
        decoding.predicted_s,
        decoding.tpot_s / decoding.predicted_s as slowdown_ratio
    from answers
    left join decoding on decoding.run_id = answers.run_id
)

select
    run_id,
    figure,
    value
from own
union all
select
    nearest.run_id,
    unnest(macros.known_figures(case nearest.what
        when 'least loaded' then [
            {'figure': 'tpot_vs_least_ratio', 'value': this.tpot_s / other.tpot_s},
            {'figure': 'predicted_vs_least_ratio', 'value': this.predicted_s / other.predicted_s},
            {'figure': 'output_vs_least_ratio', 'value': this.output_token_per_s / nullif(other.output_token_per_s, 0)},
            {'figure': 'least_slowdown_ratio', 'value': other.slowdown_ratio},
            {'figure': 'least_cached_ratio', 'value': other.cached_ratio},
            {'figure': 'cached_vs_least_ratio', 'value': this.cached_ratio / nullif(other.cached_ratio, 0)}
        ]
        when 'fewer GPUs' then [
            {'figure': 'slowdown_vs_fewer_gpus_ratio', 'value': this.slowdown_ratio / other.slowdown_ratio}
        ]
        when '16 bits' then [
            {'figure': 'plain_slowdown_ratio', 'value': other.slowdown_ratio}
        ]
        else [
            {'figure': 'warm_ttft_ratio', 'value': this.p50_ttft_s / nullif(other.p50_ttft_s, 0)}
        ]
    end), recursive := true)
from nearest
inner join summaries as this on this.run_id = nearest.run_id
inner join summaries as other on other.run_id = nearest.other_id
