-- How far is each objective of an SLO from its bound, and how sure is that?
--
-- margin_ratio is the bound over what was observed, less 1: 0.2 leaves 20 %. The outcome is met only if the upper end of the interval
-- is within the bound. Bounds are seconds, or a share for failure_ratio.
-- group: money
select
    run_id,
    metric,
    percentile,
    class,
    at_most,
    observed,
    low,
    high,
    at_most / nullif(observed, 0) - 1 as margin_ratio,
    samples,
    outcome,
    reason
from marts.slo
order by
    margin_ratio nulls last,
    run_id,
    objective
