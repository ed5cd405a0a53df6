-- One row per instant of a run and model at which one of its decode segments starts: sums from the run's start up to that instant. The
-- difference of two rows is the sum in between, so a request needs only the rows of its first and its last token, and no join over time.
--
-- Between two changes of the batch the predicted time y of a step is known, so the engine would have made dt / y steps there; as y
-- changes along a line, the mean of 1/y is used (macros.mean_inverse). Terms that differ between batches are weighted by these steps; host
-- time follows from their tokens. Each prompt's work is placed just before its first token, at a rate of one second of work per
-- second, however long the measured steps took: its sum up to t is the sum of rate * (t - start). Uncached tokens are the prompt's
-- tokens less those that the server reports as cached; without a report none were.
-- Held while runs are computed.
-- group: tpot
-- run_id             the replay
-- other_model        the model that classes asked for instead of the run's own; '': the run's own, which alone most readers want
-- endpoint           base url of the server; '' where the run had one only
-- begin_s            the instant, seconds since the run began
-- end_s              the next such instant; null for the last
-- batch              requests that decode in between, of one engine (marts.decode_segments)
-- batch_seconds      requests that decoded, times time
-- context_seconds    context tokens of all of them together, times time
-- tokens             tokens that they brought after their first
-- floor_steps        steps, had each taken what memory allows; null until something decoded on a known deployment, as are those below
-- steps              steps, had each taken the predicted time
-- step_tokens        tokens that these steps bring: one for each that decodes
-- experts_s          of the steps' time, experts and their routing, seconds
-- arithmetic_s       of these, what multiplying adds, seconds
-- allreduce_s        of these, all-reduces, seconds
-- prefill_s          predicted work on prompts, seconds
-- prefill_tokens     uncached tokens of the prompts whose first token has come, of this instant too
with segments as (
    select
        run_id,
        other_model,
        endpoint,
        begin_s,
        end_s,
        batch,
        end_s - begin_s as length_s,
        token_per_s,
        (begin_context_tokens + end_context_tokens) / 2 as context_tokens,
        (end_s - begin_s) * macros.mean_inverse(begin_floor_s, end_floor_s) as floor_steps,
        (end_s - begin_s) * macros.mean_inverse(begin_decode_s, end_decode_s) as steps,
        experts_s,
        arithmetic_s,
        allreduce_s
    from marts.decode_segments
),

prompts as (
    select
        run_id,
        coalesce(other_model, '') as other_model,
        coalesce(endpoint, '') as endpoint,
        first_token_s,
        coalesce(cached_tokens, 0) as cached_tokens,
        -- The last token of a prompt is always computed.
        greatest(coalesce(input_tokens_reported, input_tokens) - coalesce(cached_tokens, 0), 1) as uncached_tokens
    from staging.requests
    where first_token_s is not null
),

works as (
    select
        prompts.run_id,
        prompts.other_model,
        prompts.endpoint,
        prompts.first_token_s,
        prompts.uncached_tokens,
        d.prefill_share
            * macros.prompt_s(
                d, greatest(segments.batch, 1), prompts.uncached_tokens, prompts.cached_tokens,
                kv_s := macros.kv_s(d, segments.context_tokens, segments.context_tokens)
            )
            -- One of the engines behind an address works on the prompt. The others wait for it where they share experts.
            / case when d.expert_parallel_size > 1 then 1 else d.data_parallel_size end as work_s
    from prompts
    inner join segments
        on segments.run_id = prompts.run_id
        and segments.other_model = prompts.other_model
        and segments.endpoint = prompts.endpoint
        and segments.begin_s = prompts.first_token_s
    left join staging.model_deployments as deployments
        on deployments.run_id = prompts.run_id
        and deployments.other_model = prompts.other_model
),

-- Work that starts at a and ends at b is b - a seconds of work by any later time t: the sum of rate * (t - instant). Sums are taken at the
-- starts of segments alone, so work counts from the first of these that is not before it.
edges as (
    select
        works.run_id,
        works.other_model,
        works.endpoint,
        segments.begin_s,
        1 as rate,
        works.first_token_s - works.work_s as instant_s,
        0 as prefill_tokens
    from works
    asof join segments
        on segments.run_id = works.run_id
        and segments.other_model = works.other_model
        and segments.endpoint = works.endpoint
        and segments.begin_s >= works.first_token_s - works.work_s
    where works.work_s is not null
    union all
    select
        run_id,
        other_model,
        endpoint,
        first_token_s,
        case when work_s is not null then -1 else 0 end,
        first_token_s,
        uncached_tokens
    from works
),

prefills as (
    select
        run_id,
        other_model,
        endpoint,
        begin_s,
        sum(rate) as rate,
        sum(rate * instant_s) as rate_instants,
        sum(prefill_tokens) as prefill_tokens
    from edges
    group by
        run_id,
        other_model,
        endpoint,
        begin_s
)

-- A segment's own share lies after its start; everything before that is in the sum.
select
    segments.run_id,
    segments.other_model,
    segments.endpoint,
    segments.begin_s,
    segments.end_s,
    segments.batch,
    sum(batch * length_s) over up_to - coalesce(batch * length_s, 0) as batch_seconds,
    sum(context_tokens * length_s) over up_to - coalesce(context_tokens * length_s, 0) as context_seconds,
    sum(token_per_s * length_s) over up_to - coalesce(token_per_s * length_s, 0) as tokens,
    sum(floor_steps) over up_to - coalesce(floor_steps, 0) as floor_steps,
    sum(steps) over up_to - coalesce(steps, 0) as steps,
    sum(steps * batch) over up_to - coalesce(steps * batch, 0) as step_tokens,
    sum(steps * experts_s) over up_to - coalesce(steps * experts_s, 0) as experts_s,
    sum(steps * arithmetic_s) over up_to - coalesce(steps * arithmetic_s, 0) as arithmetic_s,
    sum(steps * allreduce_s) over up_to - coalesce(steps * allreduce_s, 0) as allreduce_s,
    segments.begin_s * sum(coalesce(rate, 0)) over up_to - sum(coalesce(rate_instants, 0)) over up_to as prefill_s,
    (sum(coalesce(prefill_tokens, 0)) over up_to)::bigint as prefill_tokens
from segments
left join prefills
    on prefills.run_id = segments.run_id
    and prefills.other_model = segments.other_model
    and prefills.endpoint = segments.endpoint
    and prefills.begin_s = segments.begin_s
window up_to as (partition by segments.run_id, segments.other_model, segments.endpoint order by segments.begin_s rows unbounded preceding)
