-- One row per window of time: how many requests came in it. Windows are those that a file holds, and those between two looks at a server's
-- counters. A server counts a request when it ends, so there a window holds the requests that ended in it.
-- Published per source.
-- group: traces
-- source_id        the file; of two dumps of one server, the later
-- source_name      what the user calls it
-- window_from_s    seconds since the first look, or the file's own zero
-- window_until_s   its end
-- class            as the file says; else the model, where the file has several
-- client           one of several that send together
-- requests         in the window
-- gap_cv           coefficient of variation of the gaps between them; null: not said
-- gap_family       'exponential', 'gamma' or 'weibull'; null: not said
-- gap_shape        its shape
-- gap_scale_s      its scale, seconds
with grown as (
    select
        source_id,
        source_name,
        from_s,
        until_s,
        'requests' as quantity,
        case when quantity = 'finished_requests' then 100 else priority end as priority,
        model,
        increase
    from staging.metric_intervals
    where (quantity = 'input_tokens' and part = 'count' or quantity = 'finished_requests' and part = 'value')
        and not is_first
        and from_s is not null
)

select
    rate_windows.source_id,
    sources.name as source_name,
    rate_windows.window_from_s,
    rate_windows.window_until_s,
    rate_windows.class,
    rate_windows.client,
    rate_windows.requests,
    rate_windows.gap_cv,
    rate_windows.gap_family,
    rate_windows.gap_shape,
    rate_windows.gap_scale_s
from raw.rate_windows
inner join raw.sources on sources.source_id = rate_windows.source_id
union all
select
    source_id,
    source_name,
    window_from_s,
    window_until_s,
    class,
    null as client,
    sum(increase) as requests,
    null as gap_cv,
    null as gap_family,
    null as gap_shape,
    null as gap_scale_s
from macros.counted_windows('grown')
group by all
