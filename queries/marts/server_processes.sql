-- One row per run and address of a server's metrics: whether one process answered there throughout. A process that was started again counts from
-- zero. Where several servers share an address, each look is at another one: what their counters grew by belongs to none of them, so that no rate is made of it.
--
-- The start of the process (process_start_time_seconds) tells: it grows where a process was started again, and goes back where another server
-- answers. Where it is not exposed, counters tell: they fall once or twice where a process was started again, and fall and come back to their old
-- height, or fall again and again, where several answer.
-- Kept per run.
-- group: server
-- run_id          the replay
-- url             address of the exposition; '' where the run does not say
-- is_several      more than one server answers at the address
-- restarts        times that its process was started again; null where is_several
-- restarted_at_s  the first look at the new process, seconds since the run began; null where there is none
with starts as (
    select
        run_id,
        url,
        at_s,
        max(value) as start_s
    from staging.samples
    where origin = 'server'
        and name = 'process_start_time_seconds'
    group by
        run_id,
        url,
        at_s
),

processes as (
    select
        run_id,
        url,
        count(*) filter (where start_s > earlier_s) as rises,
        count(*) filter (where start_s < earlier_s) as falls,
        min(at_s) filter (where start_s > earlier_s) as risen_at_s
    from (
        select
            *,
            lag(start_s) over (partition by run_id, url order by at_s) as earlier_s
        from starts
    ) as each
    group by
        run_id,
        url
),

totals as (
    select
        run_id,
        url,
        quantity,
        at_s,
        sum(value) as total
    from staging.server_samples
    where quantity in ('prompt_tokens', 'generation_tokens', 'finished_requests')
        and part = 'value'
    group by
        run_id,
        url,
        quantity,
        at_s
),

counted as (
    select
        *,
        lag(total) over of_counter as earlier,
        max(total) over (of_counter rows between unbounded preceding and 1 preceding) as height
    from totals
    window of_counter as (partition by run_id, url, quantity order by at_s)
),

counters as (
    select
        run_id,
        url,
        max(falls) as falls,
        max(returns) as returns,
        min(fallen_at_s) as fallen_at_s
    from (
        select
            run_id,
            url,
            quantity,
            count(*) filter (where total < earlier) as falls,
            -- In one step of more than half of the height: work that is done again takes longer.
            count(*) filter (where earlier < height and total >= height and total - earlier > 0.5e0 * height) as returns,
            min(at_s) filter (where total < earlier) as fallen_at_s
        from counted
        group by
            run_id,
            url,
            quantity
    ) as each
    group by
        run_id,
        url
)

select
    run_id,
    url,
    coalesce(processes.falls > 0, counters.falls > 2 or counters.falls > 1 and counters.returns > 0, false) as is_several,
    case when not is_several then coalesce(processes.rises, counters.falls, 0) end as restarts,
    case when not is_several then case when processes.run_id is not null then processes.risen_at_s else counters.fallen_at_s end end as restarted_at_s
from processes
full join counters using (run_id, url)
