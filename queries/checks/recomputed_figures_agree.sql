-- A figure that another tool printed follows from its own requests and totals, or it is known why it does not. A row here is a figure that
-- should not be believed.
-- group: trust
-- source_name       file of the figure
-- point             measurement in it
-- tool              that printed it
-- name              the tool's own word
-- statistic         'mean', 'p50', 'p99', 'std', ..., 'value'
-- computed_from     'requests', 'totals' or 'batch'
-- tool_value        in seconds, tokens or these per second
-- recomputed_value  the same, worked out again
-- difference        recomputed_value - tool_value
select
    source_name,
    point,
    tool,
    name,
    statistic,
    computed_from,
    tool_value,
    recomputed_value,
    difference
from marts.recomputed_figures
where not is_equal
    and reason is null
