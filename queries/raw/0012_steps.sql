-- Migration 12: the steps of an engine, as its log or its forward pass metrics have them.

-- One row per step of an engine's rank. Dummy steps, with which ranks without work keep up with the others, are rows too.
create table raw.steps (
    source_id bigint not null,
    engine varchar not null,            -- worker, as the source calls it; '' where the source is of one server
    rank integer not null,              -- data-parallel rank, from 0
    seq bigint not null,                -- number that the engine gives its step; begins again with the engine
    at_ns bigint not null,              -- end of the step, since raw.sources.origin_at or the source's first stamp, nanoseconds
    elapsed_s double,                   -- how long it took, as the engine says, seconds; null: it does not say
    prefill_requests bigint not null,   -- requests of which prompt tokens were computed
    prefill_tokens bigint not null,     -- these tokens
    prefill_kv_tokens bigint,           -- tokens of the same prompts that were in the KV cache before; null: not said
    decode_requests bigint not null,    -- requests that decoded
    decode_tokens bigint not null,      -- tokens that were computed for them: with drafts more than one each
    decode_kv_tokens bigint,            -- sum of their contexts, tokens; null: not said
    queued_requests bigint,             -- requests that waited; null: not said
    kv_usage_ratio double,              -- share of the KV cache in use; null: not said
    is_dummy boolean not null
);
comment on table raw.steps is 'One row per step of an engine''s rank.';

-- One row per source that has steps: how it took them down.
create table raw.step_sources (
    source_id bigint not null,
    zero_of_year_s bigint,              -- what the source's clock said at at_ns 0, seconds since the beginning of a leap year; null: the source is dated
    is_by_api_server boolean not null,  -- an API server wrote the lines, after it had sent the tokens, so that they are as late as these
    is_async boolean not null,          -- the log says that scheduling is asynchronous: elapsed_s is then the wait for a step, and not its time
    is_sampled boolean not null,        -- one step in many
    lost_steps bigint not null          -- numbers that are missing between those that are there
);
comment on table raw.step_sources is 'One row per source that has steps: how it took them down.';

-- One row per run and source whose steps are its own.
create table raw.step_joins (
    run_id varchar not null,
    source_id bigint not null,
    offset_s double not null,           -- since at_ns 0 of the source: when the run began, seconds
    begin_s double not null,            -- steps from here on are the run's, since the run began, seconds
    end_s double not null,              -- up to here, likewise
    missing_ratio double not null,      -- prompt tokens of the run that the steps of that time lack, of all
    foreign_ratio double not null       -- prompt tokens of these steps that are not the run's, of all
);
comment on table raw.step_joins is 'One row per run and source whose steps are its own.';
