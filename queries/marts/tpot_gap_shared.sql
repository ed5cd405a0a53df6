-- One row per request of marts.tpot_gap that ran on a shared server and whose whole decoding the server's /metrics cover: what the model
-- predicts at the batch, the contexts and the prompts that the server itself says it had.
--
-- As in marts.tpot_gap its predicted decode time is its time over the steps that the engine would have made in it, terms are
-- weighted by the same steps, and prompts are added as seconds per token.
-- Kept per run with others.
-- group: tpot
-- run_id                  the replay
-- seq                     the request's place in its plan
-- predicted_tpot_s        predicted: the sum of the terms, seconds
-- mean_batch              requests that ran in the engine at the same time, mean over the time that it decoded
-- mean_context_tokens     mean context of one of these, tokens
-- prefill_tokens_shared   prompt tokens computed while it decoded, tokens
-- weights_s               term: streaming weights, seconds
-- experts_s               term: experts and their routing, seconds
-- kv_s                    term: reading the KV cache and states of constant size, seconds
-- arithmetic_s            term: what multiplying adds to streaming, seconds
-- layers_s                term: fixed time of the layers, seconds
-- allreduce_s             term: all-reduces between GPUs, seconds
-- host_s                  term: scheduling and sampling, seconds
-- prefill_s               term: prompts that were computed in between, seconds
with measured as (
    select
        requests.run_id,
        requests.seq,
        coalesce(requests.endpoint, '') as endpoint,
        unnest([requests.first_token_s, requests.last_token_s]) as at_s,
        unnest([-1, 1]) as sign,
        requests.last_token_s - requests.first_token_s as decode_s,
        requests.received_tokens - 1 as decode_tokens
    from staging.requests
    inner join marts.shared_servers on shared_servers.run_id = requests.run_id and shared_servers.is_shared
    where requests.is_success
        and not requests.is_warm_up
        and requests.tpot_s > 0
),

-- What a second between two looks adds to each sum.
rates as (
    select
        run_id,
        endpoint,
        begin_s,
        end_s,
        case when step_s is not null and prompt_ratio is not null then 0 else 1 end as unknown,
        batch,
        context_tokens,
        prefill_tokens / (end_s - begin_s) as prefill_tokens,
        prompt_ratio as prefill_s,
        1 / step_s as steps,
        weights_s / step_s as weights_s,
        experts_s / step_s as experts_s,
        kv_s / step_s as kv_s,
        arithmetic_s / step_s as arithmetic_s,
        layers_s / step_s as layers_s,
        allreduce_s / step_s as allreduce_s,
        host_s / step_s as host_s
    from marts.server_steps
),

-- The same with the sums up to the start of each.
sums as (
    select
        rates,
        {
            'unknown': sum(unknown * (end_s - begin_s)) over earlier,
            'batch': sum(batch * (end_s - begin_s)) over earlier,
            'context_tokens': sum(context_tokens * (end_s - begin_s)) over earlier,
            'prefill_tokens': sum(prefill_tokens * (end_s - begin_s)) over earlier,
            'prefill_s': sum(prefill_s * (end_s - begin_s)) over earlier,
            'steps': sum(steps * (end_s - begin_s)) over earlier,
            'weights_s': sum(weights_s * (end_s - begin_s)) over earlier,
            'experts_s': sum(experts_s * (end_s - begin_s)) over earlier,
            'kv_s': sum(kv_s * (end_s - begin_s)) over earlier,
            'arithmetic_s': sum(arithmetic_s * (end_s - begin_s)) over earlier,
            'layers_s': sum(layers_s * (end_s - begin_s)) over earlier,
            'allreduce_s': sum(allreduce_s * (end_s - begin_s)) over earlier,
            'host_s': sum(host_s * (end_s - begin_s)) over earlier
        } as before,
        run_id,
        endpoint,
        begin_s
    from rates
    window earlier as (
        partition by run_id, endpoint order by begin_s rows between unbounded preceding and 1 preceding
    )
),

-- The sums up to an instant: those before its stretch, and the stretch's rate times the time into it.
upto as (
    select
        measured.run_id,
        measured.seq,
        measured.decode_s,
        measured.decode_tokens,
        measured.sign,
        measured.at_s - sums.begin_s as into_s,
        sums.rates,
        sums.before,
        -- A look is valid for 2.5 s: a first or last token later than that is not covered.
        measured.at_s > sums.rates.end_s + 2.5e0 as is_beyond
    from measured
    asof inner join sums
        on sums.run_id = measured.run_id
        and sums.endpoint = measured.endpoint
        and sums.begin_s <= measured.at_s
),

totals as (
    select
        run_id,
        seq,
        any_value(decode_s) as decode_s,
        any_value(decode_tokens) as decode_tokens,
        sum(sign * (coalesce(before.batch, 0) + rates.batch * into_s)) as batch_seconds,
        sum(sign * (coalesce(before.context_tokens, 0) + rates.context_tokens * into_s)) as context_seconds,
        sum(sign * (coalesce(before.prefill_tokens, 0) + rates.prefill_tokens * into_s)) as prefill_tokens,
        sum(sign * (coalesce(before.prefill_s, 0) + rates.prefill_s * into_s)) as prefill_s,
        sum(sign * (coalesce(before.steps, 0) + rates.steps * into_s)) as steps,
        sum(sign * (coalesce(before.weights_s, 0) + rates.weights_s * into_s)) as weights_s,
        sum(sign * (coalesce(before.experts_s, 0) + rates.experts_s * into_s)) as experts_s,
        sum(sign * (coalesce(before.kv_s, 0) + rates.kv_s * into_s)) as kv_s,
        sum(sign * (coalesce(before.arithmetic_s, 0) + rates.arithmetic_s * into_s)) as arithmetic_s,
        sum(sign * (coalesce(before.layers_s, 0) + rates.layers_s * into_s)) as layers_s,
        sum(sign * (coalesce(before.allreduce_s, 0) + rates.allreduce_s * into_s)) as allreduce_s,
        sum(sign * (coalesce(before.host_s, 0) + rates.host_s * into_s)) as host_s
    from upto
    group by
        run_id,
        seq
    having count(*) = 2
        and not bool_or(is_beyond)
        and sum(sign * (coalesce(before.unknown, 0) + rates.unknown * into_s)) = 0
)

select
    run_id,
    seq,
    decode_s / steps + prefill_s / decode_tokens as predicted_tpot_s,
    batch_seconds / decode_s as mean_batch,
    context_seconds / batch_seconds as mean_context_tokens,
    prefill_tokens as prefill_tokens_shared,
    weights_s / steps as weights_s,
    experts_s / steps as experts_s,
    kv_s / steps as kv_s,
    arithmetic_s / steps as arithmetic_s,
    layers_s / steps as layers_s,
    allreduce_s / steps as allreduce_s,
    host_s / steps as host_s,
    prefill_s / decode_tokens as prefill_s
from totals
where steps > 0
