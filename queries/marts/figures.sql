-- One row per number that another tool printed, together with what it was measured on. Ask for one definition_id of a quantity: numbers
-- of different definitions must not be compared.
-- group: tools
-- source_name         file that it came from
-- point               measurement, 0-based place in the file
-- tool                that printed it
-- tool_version        of the tool; null: the file does not say
-- model               as asked for
-- hardware            as the file says it
-- engine              what served
-- load                'open', 'closed', 'at once', 'offline' or 'sessions'
-- request_rate_per_s  asked for; null: unlimited or not said
-- max_concurrency     asked for
-- quantity            what it measures: 'ttft_s', 'tpot_s', 'output_tokens_per_s', ...; null: a word that seeds.definitions does not know
-- definition_id       how exactly, as in seeds.definitions
-- statistic           'mean', 'p50', 'p99', ..., 'value' for a number alone
-- value               in seconds, tokens, requests or these per second, as the quantity says
-- name                the tool's own word
-- printed             as the tool printed it
-- unit                that it printed it in
select
    points.source_name,
    points.point,
    points.tool,
    points.tool_version,
    points.model,
    points.hardware,
    points.engine,
    points.load,
    points.request_rate_per_s,
    points.max_concurrency,
    figures.quantity,
    figures.definition_id,
    figures.statistic,
    figures.value,
    figures.name,
    figures.printed,
    figures.unit
from staging.figures
inner join staging.points
    on points.source_id = figures.source_id
    and points.point = figures.point
