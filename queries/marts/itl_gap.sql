-- One row per run and class of its requests, and one of all of a run together: the 99th percentile of the gaps between tokens compared with
-- what the model predicts for the steps that the run made. Failed requests, warm-up and classes that ask for another model are left out.
--
-- A step that only decodes takes its predicted time at the batch it had; one that also carries a chunk of a prompt takes longer, and every
-- request that decodes sees it. The prediction is the time that one in a hundred gaps exceeds: if more steps than that carry a
-- chunk, it is the step with a large chunk, else the step alone. Every class sees the same steps. Prompts that share a step are
-- counted one by one. A chunk of a stream may hold several tokens: with speculative decoding compare TPOT, not gaps.
-- Kept per run.
-- group: tpot
-- run_id                  the replay
-- is_all                  all of the run's requests together
-- class                   what the trace calls their kind; null where it has none, and for all
-- gaps                    between chunks that brought tokens, measured
-- p50_itl_s               measured median gap, seconds
-- p99_itl_s               measured 99th percentile; null below 100 gaps, seconds
-- decode_s                predicted: mean over tokens of a step without prompts, seconds; null without a known deployment, as are all that follow
-- predicted_p99_itl_s     predicted 99th percentile of the gaps, seconds
-- predicted_max_itl_s     predicted: the longest step, with the largest chunk that there was, seconds
-- largest_chunk_tokens    tokens of the chunk that makes it; 0 where no prompt came while others decoded
-- chunk_gaps_ratio        predicted: gaps with a chunk in them, of all
-- residual_s              p99_itl_s - predicted_p99_itl_s, seconds
-- ratio                   p99_itl_s / predicted_p99_itl_s
with known as (
    select
        run_id,
        d
    from staging.deployments
),

lengths as (
    select
        counts.run_id,
        grouping(counts.class) = 1 as is_all,
        counts.class,
        counts.gap_us,
        sum(counts.gaps) as gaps,
        sum(sum(counts.gaps)) over (partition by counts.run_id, grouping(counts.class), counts.class order by counts.gap_us) as not_above
    from staging.gap_counts as counts
    inner join staging.runs on runs.run_id = counts.run_id
        and coalesce(runs.class_models[counts.class] = runs.served_model, true)
    group by grouping sets ((counts.run_id, counts.gap_us), (counts.run_id, counts.class, counts.gap_us))
),

measured as (
    select
        run_id,
        is_all,
        class,
        sum(gaps)::bigint as gaps,
        list_transform(
            [0.5e0, 0.99e0],
            lambda q: 1e-6 * macros.counted_quantile(list(gap_us order by gap_us), list(not_above order by gap_us), sum(gaps), q)
        ) as itl
    from lengths
    group by
        run_id,
        is_all,
        class
),

-- Steps of one batch differ only by their contexts, so their mean is good enough.
batches as (
    select
        segments.run_id,
        segments.batch,
        sum(segments.token_per_s * (segments.end_s - segments.begin_s)) as tokens,
        sum((segments.begin_context_tokens + segments.end_context_tokens) / 2 * (segments.end_s - segments.begin_s))
            / sum(segments.end_s - segments.begin_s) as context_tokens,
        sum((segments.begin_windowed_tokens + segments.end_windowed_tokens) / 2 * (segments.end_s - segments.begin_s))
            / sum(segments.end_s - segments.begin_s) as windowed_tokens
    from marts.decode_segments as segments
    where segments.other_model = ''
        and segments.batch > 0
        and segments.end_s is not null
    group by
        segments.run_id,
        segments.batch
),

-- A prompt fills the room that decoding leaves in each step; the last step takes the rest.
prompts as (
    select
        works.run_id,
        works.batch,
        works.step_s,
        works.cached_tokens,
        works.uncached_tokens,
        least(works.uncached_tokens, greatest(1, known.d.max_num_batched_tokens - works.batch)) as chunk_tokens,
        floor(works.uncached_tokens / chunk_tokens) as whole_chunks,
        works.uncached_tokens - whole_chunks * chunk_tokens as rest_tokens,
        macros.gemm_s(known.d, works.batch, 0, 0) as gemm_s,
        macros.experts_s(known.d, works.batch) as experts_s,
        macros.allreduce_s(known.d, works.batch) as allreduce_s,
        known.d as deployment
    from marts.prompt_works as works
    inner join known on known.run_id = works.run_id
    where works.batch > 0
),

-- One row for the whole chunks of a prompt and one for its rest, so that what a chunk takes is written out, and planned, once.
pieces as (
    select
        run_id,
        batch,
        step_s,
        gemm_s,
        experts_s,
        allreduce_s,
        deployment,
        unnest([
            {
                'is_rest': false,
                'tokens': batch * whole_chunks,
                'chunk_tokens': chunk_tokens,
                'pairs': macros.prefill_pairs(whole_chunks * chunk_tokens, cached_tokens) / whole_chunks
            },
            {
                'is_rest': true,
                'tokens': batch,
                'chunk_tokens': rest_tokens,
                'pairs': macros.prefill_pairs(rest_tokens, cached_tokens + whole_chunks * chunk_tokens)
            }
        ]) as piece
    from prompts
),

chunked as (
    select
        run_id,
        piece.tokens,
        piece.chunk_tokens,
        step_s
        + macros.chunk_beside_s(deployment, batch, piece.chunk_tokens, batch + piece.chunk_tokens, gemm_s, experts_s, allreduce_s, 0e0)
        + macros.prefill_attention_s(deployment, piece.chunk_tokens, piece.pairs) as step_s
    from pieces
    where not piece.is_rest or piece.chunk_tokens > 0
),

steps as (
    select
        batches.run_id,
        batches.tokens,
        0 as chunk_tokens,
        macros.decode_s(known.d, batches.batch, batches.context_tokens, batches.windowed_tokens) as step_s
    from batches
    inner join known on known.run_id = batches.run_id
    union all
    select
        run_id,
        tokens,
        chunk_tokens,
        step_s
    from chunked
),

-- Longest step first; each token of a step is one gap of one stream.
ranked as (
    select
        run_id,
        tokens,
        chunk_tokens,
        step_s,
        sum(tokens) over (partition by run_id order by step_s desc rows unbounded preceding) as tokens_above,
        sum(tokens) filter (where chunk_tokens = 0) over (partition by run_id) as all_tokens
    from steps
),

predicted as (
    select
        run_id,
        sum(step_s * tokens) filter (where chunk_tokens = 0) / any_value(all_tokens) as decode_s,
        max(step_s) filter (where tokens_above >= 1e-2 * all_tokens) as p99_itl_s,
        max(step_s) as max_itl_s,
        arg_max(chunk_tokens, step_s)::bigint as largest_chunk_tokens,
        coalesce(sum(tokens) filter (where chunk_tokens > 0), 0) / any_value(all_tokens) as chunk_gaps_ratio
    from ranked
    group by run_id
)

select
    measured.run_id,
    measured.is_all,
    measured.class,
    measured.gaps,
    measured.itl[1] as p50_itl_s,
    macros.p99_of(measured.itl, measured.gaps) as p99_itl_s,
    predicted.decode_s,
    predicted.p99_itl_s as predicted_p99_itl_s,
    predicted.max_itl_s as predicted_max_itl_s,
    predicted.largest_chunk_tokens,
    predicted.chunk_gaps_ratio,
    macros.p99_of(measured.itl, measured.gaps) - predicted.p99_itl_s as residual_s,
    macros.p99_of(measured.itl, measured.gaps) / predicted.p99_itl_s as ratio
from measured
left join predicted on predicted.run_id = measured.run_id
