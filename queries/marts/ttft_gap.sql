-- One row per successful request of the run's own model (warm-up left out): its time to first token compared with what the model predicts at the
-- batch that decoded at the same time and with the prompts that were before it.
--
-- The server takes prompts in the order in which they were sent, if one of max_num_seqs places is free. A place becomes free when enough of
-- the earlier requests have ended, at the instants that were measured. From then on the prompts are a queue with one server: each takes
-- its own work and its share of the steps that it is computed in. Waits for room in the KV cache and the network are not included. The terms
-- are those of macros.ttft_terms, as for a prediction.
-- Kept per run.
-- group: tpot
-- run_id               the replay
-- seq                  the request's place in its plan
-- is_simulated         measured on a simulated server
-- class                what the trace calls its kind
-- sent_s               when it was sent, seconds since the run began
-- ttft_s               measured from sent to the first token, seconds
-- predicted_ttft_s     predicted: the sum of the five that follow, seconds; null without a known deployment, as are these
-- request_s            HTTP, reading the prompt into tokens, first scheduling, seconds
-- place_wait_s         until fewer than max_num_seqs of those before it were in the server, seconds
-- prompt_wait_s        for the prompts before it; at least until the step that it can join where others decode, seconds
-- prompt_s             its own prompt's work, seconds
-- steps_s              these steps without it, seconds
-- residual_s           ttft_s - predicted_ttft_s, seconds
-- slowdown_ratio       ttft_s / predicted_ttft_s
-- batch                others that decoded just before its first token came
-- chunks               steps that its prompt is spread over
-- uncached_tokens      of its prompt, computed
-- cached_tokens        of its prompt, found in a cache
with slots as (
    select
        run_id,
        max(try_cast(effective as bigint)) as max_num_seqs
    from staging.server_settings
    where setting = 'max_num_seqs'
    group by run_id
),

arrived as (
    select
        run_id,
        coalesce(endpoint, '') as endpoint,
        seq,
        sent_s,
        row_number() over (partition by run_id, coalesce(endpoint, '') order by sent_s, seq) as place
    from staging.requests
    where is_sent
        and not is_unpredicted
),

gone as (
    select
        run_id,
        coalesce(endpoint, '') as endpoint,
        coalesce(done_s, last_token_s, sent_s) as gone_s,
        row_number() over (
            partition by run_id, coalesce(endpoint, '') order by coalesce(done_s, last_token_s, sent_s)
        ) as place
    from staging.requests
    where is_sent
        and not is_unpredicted
),

costs as (
    select
        works.* exclude (prompt_s),
        d.max_num_batched_tokens,
        d.max_num_seqs,
        d.prompt_ratio * works.prompt_s as work_s,
        macros.admits_s(d, works.uncached_tokens + works.cached_tokens) as taken_in_s,
        case when works.batch > 0 then macros.missed_s(d, works.step_s) else 0 end as missed_s,
        macros.ttft_terms(
            d, works.uncached_tokens + works.cached_tokens, null,
            macros.launched_s(d, works.prompt_s, works.chunks * works.step_s, works.chunks, works.batch + works.uncached_tokens / works.chunks), works.chunks * works.step_s
        ) as term
    from marts.prompt_works as works
    inner join staging.runs on runs.run_id = works.run_id
    left join staging.deployments as d on d.run_id = works.run_id
),

placed as (
    select
        works.*,
        arrived.place,
        greatest(0, coalesce(gone.gone_s - works.sent_s, 0)) as place_wait_s,
        -- Prompts that queue fill a step together. The API server and the engine take them one behind the other: the slower one makes the queue.
        greatest(
            works.work_s + works.step_s * works.uncached_tokens / greatest(1, works.max_num_batched_tokens - works.batch),
            works.taken_in_s
        ) as queued_s
    from costs as works
    inner join arrived
        on arrived.run_id = works.run_id
        and arrived.endpoint = works.endpoint
        and arrived.seq = works.seq
    left join slots on slots.run_id = works.run_id
    left join gone
        on gone.run_id = works.run_id
        and gone.endpoint = works.endpoint
        and gone.place = arrived.place - coalesce(slots.max_num_seqs, works.max_num_seqs)
),

ahead as (
    select
        *,
        coalesce(
            sum(queued_s) over (
                partition by run_id, endpoint order by place rows between unbounded preceding and 1 preceding
            ), 0
        ) as ahead_s
    from placed
),

-- The wait in a queue with one server is the work that arrived since its last idle instant, less the time since then (Lindley's recursion,
-- unrolled: the maximum over all starts).
queued as (
    select
        *,
        ahead_s - sent_s - place_wait_s
        + max(sent_s + place_wait_s - ahead_s) over (
            partition by run_id, endpoint order by place rows unbounded preceding
        ) as wait_s
    from ahead
),

waited as (
    select
        *,
        greatest(wait_s, case when batch > 0 then step_s / 2 else 0 end) + missed_s as prompt_wait_s
    from queued
),

predicted as (
    select
        *,
        macros.ttft_sum(struct_update(term, wait := place_wait_s + prompt_wait_s)) as predicted_ttft_s
    from waited
)

select
    requests.run_id,
    requests.seq,
    runs.is_simulated,
    requests.class,
    requests.sent_s,
    requests.ttft_s,
    predicted.predicted_ttft_s,
    predicted.term.request as request_s,
    case when predicted.predicted_ttft_s is not null then predicted.place_wait_s end as place_wait_s,
    case when predicted.predicted_ttft_s is not null then predicted.prompt_wait_s end as prompt_wait_s,
    predicted.term.prompt as prompt_s,
    predicted.term.steps as steps_s,
    requests.ttft_s - predicted.predicted_ttft_s as residual_s,
    requests.ttft_s / predicted.predicted_ttft_s as slowdown_ratio,
    predicted.batch,
    predicted.chunks,
    predicted.uncached_tokens,
    predicted.cached_tokens
from predicted
inner join staging.requests
    on requests.run_id = predicted.run_id
    and requests.seq = predicted.seq
    and requests.is_success
    and not requests.is_warm_up
inner join staging.runs on runs.run_id = predicted.run_id
