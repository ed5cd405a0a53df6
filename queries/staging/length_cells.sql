-- One row per cell of a length histogram: cells that a file holds, and cells that follow from a server's counters between two looks. A server
-- counts prompts and answers separately, so such a cell is about one of the two lengths.
-- Engines and servers are added up over the bounds that all of them have.
-- Published per source.
-- group: traces
-- source_id        the file; of two dumps of one server, the later
-- source_name      what the user calls it
-- window_from_s    seconds since the first look, or the file's own zero; null: all of the source
-- window_until_s   its end
-- class            as the file says; else the model, where the file has several
-- client           one of several that send together
-- input_above      prompt tokens: above this; null: open
-- input_up_to      up to this; null together with input_above: the cell is not about prompts
-- output_above     answer tokens: above this
-- output_up_to     up to this
-- requests         how many, or their share where the file gives rates for itself
with grown as (
    select
        source_id,
        source_name,
        from_s,
        until_s,
        quantity,
        priority,
        model,
        le,
        increase
    from staging.metric_intervals
    where quantity in ('input_tokens', 'output_tokens') and part = 'bucket' and not is_first
),

counted as (
    select
        source_id,
        source_name,
        window_from_s,
        window_until_s,
        quantity,
        class,
        le,
        sum(increase) as up_to_le,
        count(*) as counters
    from macros.counted_windows('grown')
    group by all
),

-- A bound that one of the counters lacks would make a step that does not exist.
common as (
    select *
    from counted
    qualify counters = max(counters) over (partition by source_id, window_from_s, window_until_s, quantity, class)
),

cells as (
    select
        source_id,
        source_name,
        window_from_s,
        window_until_s,
        class,
        quantity,
        lag(le) over bounds as above,
        case when isfinite(le) then le end as up_to,
        up_to_le - coalesce(lag(up_to_le) over bounds, 0) as requests
    from common
    window bounds as (partition by source_id, window_from_s, window_until_s, quantity, class order by le)
)

select
    length_cells.source_id,
    sources.name as source_name,
    length_cells.window_from_s,
    length_cells.window_until_s,
    length_cells.class,
    length_cells.client,
    length_cells.input_above,
    length_cells.input_up_to,
    length_cells.output_above,
    length_cells.output_up_to,
    length_cells.requests
from raw.length_cells
inner join raw.sources on sources.source_id = length_cells.source_id
union all
select
    source_id,
    source_name,
    window_from_s,
    window_until_s,
    class,
    null as client,
    case when quantity = 'input_tokens' then above::bigint end as input_above,
    case when quantity = 'input_tokens' then up_to::bigint end as input_up_to,
    case when quantity = 'output_tokens' then above::bigint end as output_above,
    case when quantity = 'output_tokens' then up_to::bigint end as output_up_to,
    requests
from cells
where requests > 0
