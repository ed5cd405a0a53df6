-- One row per service, week and cell of the heat map of lengths: two cells to a doubling on either axis.
-- service, week  the service; ISO week in its zone
-- input_cell     twice the binary logarithm of the prompt, rounded down
-- output_cell    of the answer
-- input_from     tokens at which the cell begins; the next one begins a factor of the root of two above
-- output_from    of answers
-- requests       in the cell: those that did not fail and have an answer
-- tokens         of their prompts and answers
with cells as (
    select
        service,
        week,
        cast(floor(2 * log2(greatest(input_tokens, 1)) + 1e-9) as int) as input_cell, -- the logarithm of a power of two may come out a trifle below
        cast(floor(2 * log2(output_tokens) + 1e-9) as int) as output_cell,
        input_tokens + output_tokens as tokens
    from portable.requests
    where is_measured
        and not is_copy
)

select
    service,
    week,
    input_cell,
    output_cell,
    power(2e0, input_cell / 2e0) as input_from,
    power(2e0, output_cell / 2e0) as output_from,
    count(*) as requests,
    cast(sum(tokens) as bigint) as tokens
from cells
group by service, week, input_cell, output_cell
