-- Migration 1: what files say, as they say it. Only a numbered migration changes a raw table.

-- One row per file or stream that was taken in; the same bytes are one source.
create table raw.sources (
    source_id bigint primary key,
    name varchar not null unique,
    kind varchar not null,              -- 'arrivals' or 'run'
    format varchar not null,            -- 'azure', 'mooncake', 'run'
    path varchar not null,              -- as the user named it
    sha256 varchar not null unique,     -- of the bytes as they lay on disk
    size_bytes bigint not null,
    rows_read bigint not null,
    rows_kept bigint not null,
    rows_rejected bigint not null,
    origin_at timestamptz,              -- instant of arrival_ns = 0; null for a trace with relative times
    is_dated boolean not null,          -- false: times are offsets from the trace's start
    time_unit varchar,                  -- how the file writes time: 'datetime', 's', 'ms', 'ns'
    zone_assumption varchar,            -- e.g. 'no zone given, read as UTC'
    block_tokens integer,               -- tokens per prefix block; null where the trace has none
    reader_version integer not null,
    ingested_at timestamptz not null
);
comment on table raw.sources is 'One row per file or stream that was taken in; the same bytes are one source.';

-- One row per line that was not taken in. Never the line itself.
create table raw.rejects (
    source_id bigint not null,
    line bigint not null,               -- 1-based line of the decompressed file
    column_name varchar,
    reason varchar not null
);
comment on table raw.rejects is 'One row per line that was not taken in: where and why, never its text.';

-- One row per request of a trace, in the order of the file.
create table raw.arrivals (
    source_id bigint not null,
    line bigint not null,               -- 1-based line of the decompressed file
    arrival_ns bigint not null,         -- since raw.sources.origin_at, nanoseconds
    input_tokens bigint not null,
    output_tokens bigint not null,
    session_id varchar,
    turn integer,
    class varchar,
    blocks ubigint[]                    -- prefix block ids; the last block may be partial
);
comment on table raw.arrivals is 'One row per request of a trace, in the order of the file.';

-- One row per replay; what run.json says.
create table raw.runs (
    run_id varchar primary key,
    source_id bigint not null,          -- the run's own entry in raw.sources
    document json not null              -- run.json whole
);
comment on table raw.runs is 'One row per replay: its run.json, whole.';

-- One row per planned request of a run. A request that was planned and never sent has sent_s null.
create table raw.requests (
    run_id varchar not null,
    seq bigint not null,                -- the request's place in its plan
    session_id varchar,
    turn integer,
    class varchar,
    is_warm_up boolean not null,
    input_tokens bigint not null,       -- as planned
    output_tokens bigint not null,      -- as planned
    shared_tokens bigint,               -- planned prompt tokens whose blocks an earlier request of the plan had; null without blocks
    due_s double not null,              -- seconds since the run began, one monotonic clock; so all *_s below
    sent_s double,
    written_s double,
    headers_s double,
    first_token_s double,
    last_token_s double,
    done_s double,
    held_s double,
    connect_s double,                   -- duration of making the connection, seconds; null when one was reused
    input_tokens_reported bigint,       -- the server's usage
    output_tokens_reported bigint,
    output_tokens_counted bigint,       -- token ids seen in the stream; null when the server sends none
    cached_tokens_reported bigint,      -- null when the server does not say
    http_status integer,
    finish_reason varchar,
    failure varchar,                    -- kind; null when the request succeeded
    failure_detail varchar,             -- short, without payload
    chunk_offsets_us integer[],         -- token-bearing chunks: microseconds since sent_s
    chunk_tokens integer[],             -- tokens of each such chunk; null where the server does not say
    reads integer                       -- socket reads that brought those chunks; fewer than chunks = coalesced
);
comment on table raw.requests is 'One row per planned request of a run, as the client timed it.';

-- One row per sampled series and instant of a run.
create table raw.samples (
    run_id varchar not null,
    at_s double not null,               -- seconds since the run began
    origin varchar not null,            -- 'server' (its /metrics) or 'client'
    name varchar not null,              -- as exposed, without _total/_bucket changes
    labels varchar not null,            -- 'k="v",...' sorted by key; '' for none
    value double not null
);
comment on table raw.samples is 'One row per sampled series and instant: the server''s /metrics and the client''s own state.';
