-- One row per pair of runs that differ by one class of requests, and class of those that both have: its p99 TTFT from due with the other class in the
-- traffic and without it. "what-if --without-class" says the same before anything is sent.
--
-- Both are of one source, on one deployment, with the same clock, mode and origin, valid and done; the run without has every class but the one, and of
-- each as many requests within 2 %. The p99 of either wants 100 requests. Warm-up is left out.
-- group: runs
-- run_id              the run with the class
-- without_run_id      the run without it
-- without_class       the class that the second lacks
-- class               the class that is compared
-- requests            of it, planned in run_id
-- p99_ttft_from_due_s          with the other class, seconds
-- alone_p99_ttft_from_due_s    without it, seconds
-- head_of_line_ratio  the first over the second
with sent as (
    select
        classes.run_id,
        classes.class,
        classes.requests,
        classes.p99_ttft_from_due_s,
        list(classes.class) over (partition by classes.run_id) as all_classes
    from marts.classes
    inner join marts.runs on runs.run_id = classes.run_id and runs.is_valid
    inner join staging.runs as settings on settings.run_id = classes.run_id and settings.is_complete
    where classes.class is not null
),

pairs as (
    select
        one.run_id,
        two.run_id as without_run_id
    from staging.runs as one
    inner join staging.runs as two
        on two.source_sha256 = one.source_sha256
        and two.deployment is not distinct from one.deployment
        and two.thin is not distinct from one.thin
        and two.thicken is not distinct from one.thicken
        and two.origin = one.origin
        and two.mode = one.mode
        and two.speed is not distinct from one.speed
        and two.max_concurrency is not distinct from one.max_concurrency
        and two.run_id <> one.run_id
    where one.mode <> 'closed'
)

select
    pairs.run_id,
    pairs.without_run_id,
    list_filter(one.all_classes, lambda c: not list_contains(two.all_classes, c))[1] as without_class,
    one.class,
    one.requests,
    one.p99_ttft_from_due_s,
    two.p99_ttft_from_due_s as alone_p99_ttft_from_due_s,
    one.p99_ttft_from_due_s / nullif(two.p99_ttft_from_due_s, 0) as head_of_line_ratio
from pairs
inner join sent as one on one.run_id = pairs.run_id
inner join sent as two on two.run_id = pairs.without_run_id and two.class = one.class
where len(one.all_classes) = len(two.all_classes) + 1
    and list_has_all(one.all_classes, two.all_classes)
    and one.p99_ttft_from_due_s is not null
    and two.p99_ttft_from_due_s is not null
    and two.requests between 0.98e0 * one.requests and 1.02e0 * one.requests
