-- One row per measurement of another tool: a benchmark at one load, a trial.
-- Published per source.
-- group: tools
-- source_id             file that it came from
-- source_name           what the user calls that
-- point                 0-based place in the file
-- tool                  'vllm-bench-serve', 'aiperf', ...
-- tool_version          as it says; null: it does not
-- label                 as the user of that tool called it
-- started_at            when it began; of clients that write local time, that time read as UTC
-- model                 as asked for, without the folders of a path
-- hardware              as the file says it
-- engine                what served; null: the file does not say
-- engine_version        of that
-- load                  'open', 'closed', 'at once', 'offline' or 'sessions'; null: the file does not say
-- request_rate_per_s    asked for; null: unlimited or not said
-- max_concurrency       asked for
-- input_tokens_asked    of a prompt, nominal
-- output_tokens_asked   of an answer, nominal
-- tensor_parallel_size  GPUs that share one replica
-- requests              sent; null: not said
-- completed             of these, successful by the tool's own count
-- failed                of these, not; where the tool does not say, the rest
-- duration_s            of the measurement, seconds
-- total_input_tokens    prompts of all successful requests; null: not said
-- total_output_tokens   answers of all successful requests; null: not said
-- settings              JSON of what else the file says of how it was measured
with totals as (
    select
        figures.source_id,
        figures.point,
        max(figures.value) filter (where definitions.quantity = 'total_input_tokens') as input_tokens,
        max(figures.value) filter (where definitions.quantity = 'total_output_tokens') as output_tokens
    from raw.figures
    inner join raw.points
        on points.source_id = figures.source_id
        and points.point = figures.point
    inner join seeds.definitions
        on definitions.tool = points.tool
        and definitions.name = figures.name
        and definitions.quantity in ('total_input_tokens', 'total_output_tokens')
    where figures.statistic in ('value', 'sum')
    group by
        figures.source_id,
        figures.point
)

select
    points.source_id,
    sources.name as source_name,
    points.point,
    points.tool,
    points.tool_version,
    points.label,
    points.started_at,
    points.model,
    points.hardware,
    points.engine,
    points.engine_version,
    points.load,
    points.request_rate_per_s,
    points.max_concurrency,
    points.input_tokens_asked,
    points.output_tokens_asked,
    points.tensor_parallel_size,
    points.requests,
    points.completed,
    coalesce(points.failed, points.requests - points.completed) as failed,
    points.duration_s,
    totals.input_tokens as total_input_tokens,
    totals.output_tokens as total_output_tokens,
    points.settings
from raw.points
inner join raw.sources on sources.source_id = points.source_id
left join totals
    on totals.source_id = points.source_id
    and totals.point = points.point
