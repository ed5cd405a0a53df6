-- Points of one file at one load are of one workload: their mean lengths agree within a tenth. A row here is a pair that must not be drawn as
-- one curve.
-- group: trust
-- source_name          file
-- tool                 that wrote it
-- point                a measurement
-- other_point          a later one of the same load, of other lengths
-- request_rate_per_s   asked of both
-- max_concurrency      asked of both
-- input_tokens         mean prompt of the first
-- other_input_tokens   mean prompt of the other
-- output_tokens        mean answer of the first
-- other_output_tokens  mean answer of the other
with workloads as (
    select
        source_id,
        source_name,
        tool,
        point,
        model,
        request_rate_per_s,
        max_concurrency,
        total_input_tokens / completed as input_tokens,
        total_output_tokens / completed as output_tokens
    from staging.points
    where completed > 0
)

select
    first_one.source_name,
    first_one.tool,
    first_one.point,
    other.point as other_point,
    first_one.request_rate_per_s,
    first_one.max_concurrency,
    first_one.input_tokens,
    other.input_tokens as other_input_tokens,
    first_one.output_tokens,
    other.output_tokens as other_output_tokens
from workloads as first_one
inner join workloads as other
    on other.source_id = first_one.source_id
    and other.point > first_one.point
    and other.model is not distinct from first_one.model
    and other.request_rate_per_s is not distinct from first_one.request_rate_per_s
    and other.max_concurrency is not distinct from first_one.max_concurrency
where abs(other.input_tokens - first_one.input_tokens) > 0.1e0 * first_one.input_tokens
    or abs(other.output_tokens - first_one.output_tokens) > 0.1e0 * first_one.output_tokens
