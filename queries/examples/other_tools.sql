-- What did other tools measure as time per token, each by its own definition?
--
-- Compare only rows with the same definition_id: a tool that counts the first token in its time per output token shows a larger figure
-- for the same server. "from seeds.definitions" says what each means.
-- group: tools
select
    quantity,
    definition_id,
    tool,
    source_name,
    point,
    max_concurrency,
    request_rate_per_s,
    statistic,
    value
from marts.figures
where quantity = 'tpot_s'
order by
    definition_id,
    tool,
    source_name,
    point,
    statistic
