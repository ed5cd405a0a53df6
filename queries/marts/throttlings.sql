-- One row per GPU of a run or of a file of metrics and what held its clock down: when that began, how much of the time since then it did, and how
-- fast the GPU was with and without it. What never held a clock down has no row.
-- group: server
-- subject              run_id or source_name
-- subject_kind         'run' or 'source'
-- gpu                  its UUID, else its host and number
-- cause                'heat', 'power', 'hardware' or 'other', as macros.throttle_causes has them
-- begin_s              first look that reports it, seconds since the run began; of a file, since its first look
-- is_from_start        no look before that: whether it began with the run is not known
-- end_s                last look that reports it
-- looks                from begin_s on; of a file, seconds with one
-- held_ratio           share of these that report it
-- held_sm_clock_hz     median clock of its multiprocessors in these, Hz
-- free_sm_clock_hz     fastest before begin_s, Hz: an idle GPU may be slow
with looks as (
    select
        run_id as subject,
        'run' as subject_kind,
        coalesce(
            nullif(regexp_extract(labels, '(?:^|,)(?:UUID|uuid)="([^"]*)"', 1), ''),
            concat_ws(' ', nullif(regexp_extract(labels, '(?:^|,)Hostname="([^"]*)"', 1), ''), regexp_extract(labels, '(?:^|,)(?:gpu|gpu_index|index)="([^"]*)"', 1))
        ) as gpu,
        at_s,
        macros.throttle_causes(bit_or(value::ubigint) filter (where quantity = 'gpu_throttle_reasons')) as causes,
        max(value) filter (where quantity = 'gpu_sm_clock_hz') as sm_clock_hz
    from staging.server_samples
    where quantity in ('gpu_throttle_reasons', 'gpu_sm_clock_hz')
        and part = 'value'
    group by all
    union all
    select
        source_name,
        'source',
        gpu,
        at_s,
        throttle_causes,
        sm_clock_hz
    from marts.gpu_timeline
    where at_s is not null
),

held as (
    select
        subject,
        subject_kind,
        gpu,
        unnest(list_distinct(flatten(list(causes)))) as cause
    from looks
    group by
        subject,
        subject_kind,
        gpu
),

begun as (
    select
        held.*,
        min(looks.at_s) as first_s,
        min(looks.at_s) filter (where list_contains(looks.causes, held.cause)) as begin_s
    from held
    inner join looks on looks.subject = held.subject
        and looks.subject_kind = held.subject_kind
        and looks.gpu = held.gpu
        and looks.causes is not null
    group by all
)

select
    begun.subject,
    begun.subject_kind,
    begun.gpu,
    begun.cause,
    begun.begin_s,
    begun.begin_s = begun.first_s as is_from_start,
    max(looks.at_s) filter (where list_contains(looks.causes, begun.cause)) as end_s,
    count(*) filter (where looks.at_s >= begun.begin_s) as looks,
    count(*) filter (where list_contains(looks.causes, begun.cause)) / count(*) filter (where looks.at_s >= begun.begin_s) as held_ratio,
    median(looks.sm_clock_hz) filter (where list_contains(looks.causes, begun.cause)) as held_sm_clock_hz,
    max(looks.sm_clock_hz) filter (where looks.at_s < begun.begin_s) as free_sm_clock_hz
from begun
inner join looks on looks.subject = begun.subject
    and looks.subject_kind = begun.subject_kind
    and looks.gpu = begun.gpu
    and looks.causes is not null
group by
    begun.subject,
    begun.subject_kind,
    begun.gpu,
    begun.cause,
    begun.begin_s,
    begun.first_s
