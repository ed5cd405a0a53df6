-- One row per request whose first token came, of the run's own model: the work of its prompt, at the batch that decoded at the same time.
--
-- Predictions are null without a known deployment. Uncached tokens are the prompt's tokens less those that the server reports as cached; if it
-- does not report any, none are. Two prompts in one step are costed separately.
-- Kept per run.
-- group: tpot
-- run_id            the replay
-- seq               the request's place in its plan
-- endpoint          base url of the server; '' where the run had one only
-- class             what the trace calls its kind
-- sent_s            on a ready connection, just before the first byte was written, seconds since the run began
-- first_token_s     first chunk that brought a token, likewise
-- cached_tokens     of the prompt, found in a cache
-- uncached_tokens   of the prompt, computed: one at least
-- batch             other requests that decoded just before its first token came
-- context_tokens    sum of their contexts, tokens
-- chunks            predicted: steps that the prompt is spread over
-- step_s            predicted: one step of the others, without prompts, seconds
-- prompt_s          predicted: what the prompt adds to the steps that it rides in, seconds
-- prompt_flop       FLOP of the prompt on one GPU
with prompts as (
    select
        requests.run_id,
        requests.seq,
        coalesce(requests.endpoint, '') as endpoint,
        requests.class,
        requests.sent_s,
        requests.first_token_s,
        coalesce(requests.cached_tokens, 0) as cached_tokens,
        macros.computed_tokens(coalesce(requests.input_tokens_reported, requests.input_tokens), requests.cached_tokens)
            as uncached_tokens
    from staging.requests
    where requests.first_token_s is not null
        and not requests.is_unpredicted
),

-- The batch is that of the stretch that ends with this first token.
neighbours as (
    select
        prompts.*,
        coalesce(segments.batch, 0) as batch,
        coalesce(segments.end_context_tokens, 0) as context_tokens,
        coalesce(segments.end_windowed_tokens, 0) as windowed_tokens
    from prompts
    left join marts.decode_segments as segments
        on segments.run_id = prompts.run_id
        and segments.endpoint = prompts.endpoint
        and segments.end_s = prompts.first_token_s
        and segments.other_model = ''
)

select
    neighbours.run_id,
    neighbours.seq,
    neighbours.endpoint,
    neighbours.class,
    neighbours.sent_s,
    neighbours.first_token_s,
    neighbours.cached_tokens,
    neighbours.uncached_tokens,
    neighbours.batch,
    neighbours.context_tokens,
    case when d.max_num_batched_tokens is not null then macros.prefill_chunks(d, neighbours.batch, neighbours.uncached_tokens) end
        as chunks,
    macros.decode_s(d, neighbours.batch, neighbours.context_tokens, neighbours.windowed_tokens) as step_s,
    macros.prompt_s(
        d, neighbours.batch, neighbours.uncached_tokens, neighbours.cached_tokens,
        kv_s := macros.kv_s(d, neighbours.context_tokens, neighbours.windowed_tokens)
    ) as prompt_s,
    macros.prompt_flop(d, neighbours.uncached_tokens, neighbours.cached_tokens) as prompt_flop
from neighbours
left join staging.deployments as d on d.run_id = neighbours.run_id
