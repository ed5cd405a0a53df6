-- No request, second or run streams more bytes or does more FLOP than the GPU can: a ratio that cannot be known is null and never above 1.
-- Requests below the floor are left to checks.not_below_floor, because their data are wrong already.
-- group: trust
-- run_id   the replay
-- seq      the request's place in its plan; null for a second and for the run
-- second   since the run began; null for a request and for the run
-- figure   'mbu_ratio', 'mfu_ratio', 'decode_mfu_ratio' or 'prefill_mfu_ratio'
-- ratio    share of the peak; 2 % above 1 are allowed for what the client cannot see of a step
with shares as (
    select
        run_id,
        seq,
        null::bigint as second,
        is_below_floor,
        unnest([{'figure': 'mbu_ratio', 'ratio': mbu_ratio}, {'figure': 'mfu_ratio', 'ratio': mfu_ratio}]) as share
    from marts.utilization
    union all
    select
        run_id,
        null,
        second,
        is_below_floor,
        unnest([
            {'figure': 'mbu_ratio', 'ratio': mbu_ratio}, {'figure': 'decode_mfu_ratio', 'ratio': decode_mfu_ratio},
            {'figure': 'prefill_mfu_ratio', 'ratio': prefill_mfu_ratio}
        ])
    from marts.utilization_seconds
    union all
    select
        run_id,
        null,
        null,
        is_below_floor,
        unnest([{'figure': 'mbu_ratio', 'ratio': mbu_ratio}, {'figure': 'mfu_ratio', 'ratio': mfu_ratio}])
    from marts.utilization_runs
)

select
    run_id,
    seq,
    second,
    share.figure as figure,
    share.ratio as ratio
from shares
where share.ratio > 1.02e0
    and not coalesce(is_below_floor, false)
