-- One row per run of a search for capacity that ended: at which multiple, how many requests missed, and what that made of it.
-- The run itself, where it was taken in, is in marts.runs.
-- Published per source.
-- group: money
-- search_id        the search
-- source_id        number of its state file among the sources
-- number           of the run in its search, from 1
-- run_id           the run
-- why              what it was for
-- scale            multiple of the window's traffic that it sent; in a closed loop the concurrency
-- rate_per_s       requests per second as sent; null before the answer, as are the next two
-- missed_ratio     share of requests that missed the objective that was missed most, against what it allows
-- objective        that objective, as in marts.slo
-- is_of_binding    missed_ratio is of the objective that ends the search, or no objective was missed by any request; null before the answer
-- verdict          'within' or 'beyond' (its share of misses, of what is allowed; whether the run met the SLO is in marts.verdicts),
--                  'hopeless' (stopped early: enough misses were certain), 'late', 'died' or 'restarted' (the server)
-- is_valid         false: the client was late or the server died or changed, and the run did not count
-- seconds          in which load was sent, seconds
-- start_s          its place in the window at this multiple, seconds
-- length_s         as much of the window was to be sent, seconds
-- cut_s            it was stopped at this second; null: it was not
-- p99_lateness_s   sent after due, seconds: the client's fault
with each as (
    select
        search_id,
        source_id,
        outcome,
        binding_objective,
        unnest(runs) as run
    from staging.capacities
)

select
    search_id,
    source_id,
    run.number as number,
    run.run_id as run_id,
    run.why as why,
    run.scale as scale,
    run.rate_per_s as rate_per_s,
    run.missed_ratio as missed_ratio,
    run.objective as objective,
    -- A share of 0 is of the worst objective, so it is of all, unless that one is a mean, whose excess is no share.
    case
        when outcome is not null and run.objective is not null
            then coalesce(run.objective = binding_objective, false) or (run.missed_ratio = 0 and run.objective not like 'mean %')
    end as is_of_binding,
    case run.verdict when 'met' then 'within' when 'not met' then 'beyond' else run.verdict end as verdict, -- in the words of older files
    coalesce(run.verdict not in ('late', 'died', 'restarted'), true) as is_valid,
    run.seconds as seconds,
    run.start_s as start_s,
    run.length_s as length_s,
    run.cut_s as cut_s,
    run.p99_lateness_s as p99_lateness_s
from each
