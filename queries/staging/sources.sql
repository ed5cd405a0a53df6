-- One row per file or stream that was ingested.
-- group: traces
-- source_id       number of the source
-- source_name     what the user calls it
-- kind            what it holds: 'arrivals', 'lengths', 'metrics', 'kernels', 'kernel rules', 'kernel times', 'model', 'gpus', 'prices', 'results', 'folder', 'capacity' or 'run'
-- format          the reader that took it in
-- sha256          fingerprint of the file's bytes, unpacked
-- rows_read       lines or records read
-- rows_kept       of these, kept
-- rows_rejected   of these, refused: raw.rejects says where and why
-- origin_at       instant of offset zero of the file's own clock; null for relative times
-- block_tokens    tokens of a prefix block; null where the trace has none
-- collection      what several sources are called together, as the sessions of a folder; null: it stands alone
-- path            where the file lay, as the user named it
-- size_bytes      of the file as it lay there
-- time_unit       how the file writes time: 'datetime', 's', 'ms', 'us', 'ns'; null without times
-- zone_assumption  what was assumed of its time zone; null for nothing
-- licence         of the data, as the user said it; null: not said
-- ingested_at     when it was ingested
select
    sources.source_id,
    sources.name as source_name,
    sources.kind,
    sources.format,
    sources.sha256,
    sources.rows_read,
    sources.rows_kept,
    sources.rows_rejected,
    case when sources.is_dated then sources.origin_at end as origin_at,
    sources.block_tokens,
    sources.collection,
    sources.path,
    sources.size_bytes,
    sources.time_unit,
    sources.zone_assumption,
    sources.licence,
    sources.ingested_at
from raw.sources
