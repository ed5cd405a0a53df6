-- One row per collection of shapes without a trace, as the clients of a workload: what its files hold together.
-- group: traces
-- collection       what the user calls it
-- sources          files
-- clients          that send together; 0: the files name none
-- cells            of length histograms
-- input_up_to      longest prompt, tokens; null: not said
-- output_up_to     longest answer, tokens; null: not said
-- windows          of time, with a rate each
-- requests         in them, all together
-- span_s           from the start of the first window to the end of the last, seconds; null without windows
-- without_lengths  clients with rates and no lengths
-- without_rates    clients with lengths and no rates
with cells as (
    select
        source_id,
        client,
        count(*) as cells,
        max(input_up_to) as input_up_to,
        max(output_up_to) as output_up_to
    from raw.length_cells
    group by
        source_id,
        client
),

windows as (
    select
        source_id,
        client,
        count(*) as windows,
        sum(requests) as requests,
        min(window_from_s) as from_s,
        max(window_until_s) as until_s
    from raw.rate_windows
    group by
        source_id,
        client
),

clients as (
    select
        sources.collection,
        coalesce(cells.client, windows.client) as client,
        count(distinct sources.source_id) as sources,
        coalesce(sum(cells.cells), 0) as cells,
        max(cells.input_up_to) as input_up_to,
        max(cells.output_up_to) as output_up_to,
        coalesce(sum(windows.windows), 0) as windows,
        coalesce(sum(windows.requests), 0) as requests,
        min(windows.from_s) as from_s,
        max(windows.until_s) as until_s
    from raw.sources
    left join cells on cells.source_id = sources.source_id
    left join windows on windows.source_id = sources.source_id
        and (cells.source_id is null or windows.client is not distinct from cells.client)
    where sources.kind = 'lengths'
        and sources.collection is not null
    group by
        sources.collection,
        coalesce(cells.client, windows.client)
)

select
    clients.collection,
    any_value(files.sources) as sources,
    count(clients.client) as clients,
    sum(clients.cells)::bigint as cells,
    max(clients.input_up_to) as input_up_to,
    max(clients.output_up_to) as output_up_to,
    sum(clients.windows)::bigint as windows,
    sum(clients.requests) as requests,
    max(clients.until_s) - min(clients.from_s) as span_s,
    count(clients.client) filter (where clients.cells = 0 and clients.windows > 0) as without_lengths,
    count(clients.client) filter (where clients.windows = 0 and clients.cells > 0) as without_rates
from clients
inner join (
    select
        collection,
        count(*) as sources
    from raw.sources
    where kind = 'lengths'
    group by collection
) as files on files.collection = clients.collection
group by clients.collection
