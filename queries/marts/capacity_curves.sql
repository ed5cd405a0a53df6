-- One row per search for capacity and multiple: the share of requests that misses the objective that ends the search, over the whole window, by the
-- model of the server that was calibrated with the runs. The limit is where the share is the allowed one.
-- Published per source.
-- group: money
-- search_id           the search
-- source_id           number of its state file among the sources
-- scale               multiple of the window's traffic; in a closed loop the concurrency
-- missed_ratio        share of requests that miss it
-- low_missed_ratio    the same of a server at the fast end of the 90 % interval of its speed
-- high_missed_ratio   the same at the slow end
-- objective           the objective, as in marts.slo
-- allowed_ratio       share of requests that may miss it; null of a mean
with each as (
    select
        search_id,
        source_id,
        binding_objective,
        allowed_ratio,
        unnest(curve) as point
    from staging.capacities
    where verb = 'capacity'
)

select
    search_id,
    source_id,
    point.scale as scale,
    point.missed_ratio as missed_ratio,
    point.missed_low_ratio as low_missed_ratio,
    point.missed_high_ratio as high_missed_ratio,
    binding_objective as objective,
    allowed_ratio
from each
