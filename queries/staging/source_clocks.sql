-- One row per trace: how its file writes time.
-- group: traces
-- source_id      number of the source
-- source_name    what the user calls it
-- first_s        first time in the file's own clock, seconds since its zero; 0 for a dated trace that begins with its first row
-- is_dated       the file gives instants; else times since some zero of its own
-- resolution_s   the longest of 60 s, 10 s, 1 s, 100 ms, 10 ms and 1 ms of which all times are whole multiples; null: of none
-- backwards      rows that are earlier than the row before them in the file
with steps as (
    select
        source_id,
        arrival_ns,
        arrival_ns < lag(arrival_ns) over (partition by source_id order by line) as is_backwards
    from raw.arrivals
)

select
    steps.source_id,
    any_value(sources.source_name) as source_name,
    min(steps.arrival_ns) / 1e9 as first_s,
    bool_or(sources.origin_at is not null) as is_dated,
    case
        when bool_and(steps.arrival_ns % 60_000_000_000 = 0) then 60e0
        when bool_and(steps.arrival_ns % 10_000_000_000 = 0) then 10e0
        when bool_and(steps.arrival_ns % 1_000_000_000 = 0) then 1e0
        when bool_and(steps.arrival_ns % 100_000_000 = 0) then 1e-1
        when bool_and(steps.arrival_ns % 10_000_000 = 0) then 1e-2
        when bool_and(steps.arrival_ns % 1_000_000 = 0) then 1e-3
    end as resolution_s,
    count(*) filter (where steps.is_backwards) as backwards
from steps
inner join staging.sources on sources.source_id = steps.source_id
group by steps.source_id
