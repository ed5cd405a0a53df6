-- Migration 3: shapes without a trace, metrics, kernels, and what other tools measured.

alter table raw.sources add column collection varchar;              -- what several files are called together, as the sessions of a folder; null: it stands alone
alter table raw.sources add column licence varchar;                 -- as the user said it; null: not said

-- What a trace says of a request beyond its time and its lengths. One row per request that has some of it.
create table raw.arrival_details (
    source_id bigint not null,
    line bigint not null,               -- of raw.arrivals
    think_s double,                     -- from the end of the session's turn before to this request, seconds
    parent_session_id varchar,          -- session that began this one, as a main agent its sub-agent
    parent_turn integer,                -- turn of it after which this one began
    model varchar,                      -- as asked for
    is_failed boolean,                  -- the trace says whether it failed; null: it does not say
    ttft_s double,                      -- first token, as the trace's own server or gateway took it, seconds
    e2e_s double,                       -- whole latency, likewise, seconds
    cached_tokens bigint,               -- prompt tokens found in a cache, likewise
    tenant varchar                      -- pseudonym of whose request it was; never a name
);
comment on table raw.arrival_details is 'What a trace says of a request beyond its time and its lengths.';

-- One row per cell of a length histogram. A bound that is null is open; a cell with both bounds of a length null
-- says nothing of that length.
create table raw.length_cells (
    source_id bigint not null,
    window_from_s double,               -- seconds since raw.sources.origin_at or the file's own zero; null: all of the source
    window_until_s double,
    class varchar,
    client varchar,                     -- one of several that send together; never a name
    input_above bigint,                 -- tokens: above this,
    input_up_to bigint,                 -- up to this
    output_above bigint,
    output_up_to bigint,
    requests double not null            -- how many, or their share where raw.rate_windows has the rate
);
comment on table raw.length_cells is 'One row per cell of a length histogram.';

-- One row per window of time: how many requests came in it, and how unevenly.
create table raw.rate_windows (
    source_id bigint not null,
    window_from_s double not null,      -- seconds since raw.sources.origin_at or the file's own zero
    window_until_s double not null,
    class varchar,
    client varchar,
    requests double not null,
    gap_cv double,                      -- coefficient of variation of the gaps between arrivals; null: not said
    gap_family varchar,                 -- 'exponential', 'gamma' or 'weibull'; null: not said
    gap_shape double,
    gap_scale_s double
);
comment on table raw.rate_windows is 'One row per window of time: how many requests came in it, and how unevenly.';

-- One row per sampled series and instant of a metrics file.
create table raw.metrics (
    source_id bigint not null,
    scrape integer not null,            -- 0-based place of the exposition, or of the row, in the file
    at_ns bigint,                       -- since raw.sources.origin_at, nanoseconds; null where the file has no times
    name varchar not null,              -- as exposed
    labels varchar not null,            -- 'k="v",...' sorted by key; '' for none
    value double not null
);
comment on table raw.metrics is 'One row per sampled series and instant of a metrics file.';

-- One row per kernel of a profile.
create table raw.kernels (
    source_id bigint not null,
    seq integer not null,               -- 0-based place in the file
    name varchar not null,
    instances bigint,
    total_s double not null,
    mean_s double,
    median_s double,
    min_s double,
    max_s double,
    stddev_s double
);
comment on table raw.kernels is 'One row per kernel of a profile.';

-- One row per rule of a user's own that puts kernels into categories; the first that fits counts.
create table raw.kernel_rules (
    source_id bigint not null,
    seq integer not null,
    pattern varchar not null,           -- regular expression, found anywhere in the name
    category varchar not null
);
comment on table raw.kernel_rules is 'One row per rule of a user''s own that puts kernels into categories.';

-- One row per measurement of another tool: a benchmark at one load, a trial.
create table raw.points (
    source_id bigint not null,
    point integer not null,             -- 0-based place in the file
    tool varchar not null,              -- 'vllm-bench-serve', 'aiperf', 'guidellm', ...
    tool_version varchar,
    label varchar,
    started_at timestamptz,
    model varchar,
    hardware varchar,
    engine varchar,
    engine_version varchar,
    load varchar,                       -- 'open', 'closed', 'at once', 'offline', 'sessions'; null: not said
    request_rate_per_s double,          -- asked for; null: unlimited or not said
    max_concurrency bigint,             -- asked for
    input_tokens_asked double,          -- of a prompt, nominal
    output_tokens_asked double,         -- of an answer, nominal
    tensor_parallel_size integer,
    requests bigint,
    completed bigint,
    failed bigint,
    duration_s double,
    settings json                       -- what else the file says of how it was measured: numbers and short words alone
);
comment on table raw.points is 'One row per measurement of another tool: a benchmark at one load, a trial.';

-- One row per number that another tool printed, as it printed it.
create table raw.figures (
    source_id bigint not null,
    point integer not null,
    name varchar not null,              -- the tool's own word, without statistic and unit: 'ttft', 'time_per_output_token_ms'
    statistic varchar not null,         -- 'mean', 'p50', 'p99', 'p99.9', 'min', 'max', 'std', 'count', 'sum'; 'value' for a number alone
    unit varchar,                       -- as the file or its documented rule says: 'ms', 's', 'tokens/s', ...; null: none
    value double not null               -- in that unit
);
comment on table raw.figures is 'One row per number that another tool printed, as it printed it.';

-- One row per request that another tool timed.
create table raw.result_requests (
    source_id bigint not null,
    point integer not null,
    seq integer not null,               -- 0-based place in the file
    due_s double,                       -- one clock per point, its zero anywhere; seconds, so all *_s
    started_s double,
    input_tokens bigint,
    output_tokens bigint,               -- as the tool counted them
    ttft_s double,
    e2e_s double,
    tpot_s double,                      -- the tool's own, where it writes one
    chunk_gaps_us integer[],            -- between successive chunks of the answer, microseconds
    cached_tokens bigint,
    session_id varchar,
    turn integer,
    is_warm_up boolean,
    failure varchar,                    -- kind; null: succeeded
    finish_reason varchar
);
comment on table raw.result_requests is 'One row per request that another tool timed.';

-- The files of a results folder, to the byte, so that it can be written again.
create table raw.documents (
    source_id bigint not null,
    path varchar not null,              -- inside the folder
    content blob not null
);
comment on table raw.documents is 'The files of a results folder, to the byte.';

-- How far back a prompt block was last used: what a cache of any size would have found.
create table raw.block_distances (
    source_id bigint not null,
    up_to_blocks bigint,                -- different blocks used since, up to this power of two; null: never used before
    uses bigint not null                -- of prompt blocks
);
comment on table raw.block_distances is 'How far back prompt blocks were last used, in different blocks since.';

-- What an export says of how it was made: the manifest beside the file, where its fingerprint is the file's.
create table raw.manifests (
    source_id bigint not null,
    document json not null              -- the manifest whole
);
comment on table raw.manifests is 'What an export says of how it was made: the manifest beside the file.';
