-- What a load does to a deployment: the mean-field server. `d` is a row of macros.deployment
-- as one struct, `l` a macros.load(...). Batches and clients are of one replica.
--   closed loop   so many clients, each of which sends again when it is served
--   open loop     so many requests a second, however many are in flight
--   static batch  so many requests at once, and no more: an offline run
--
--   select p.*
--   from (
--       select d, macros.load(2000, 500, clients := 64) as l
--       from macros.deployment({'gpu': 'H200', 'catalog_model': 'llama-3.1-70b', 'quantization': 'fp8'}) as d
--   ) as asked
--   cross join lateral macros.prediction(asked.d, asked.l) as p
-- group: model

-- input and output: mean tokens of a prompt and of an answer; cached: of the prompt, found in a cache;
-- drafts: tokens guessed for each one by a speculating engine, tokens_per_step: those that it then keeps.
--   select macros.load(2000, 500, clients := 64)
create macro macros.load(
    input, output, clients := null, requests_per_s := null, cached := 0, drafts := 0, tokens_per_step := 1, is_static := false
) as {
    'clients': clients::double, 'requests_per_s': requests_per_s::double,
    'input': input::double, 'output': output::double, 'cached': coalesce(cached, 0)::double,
    'drafts': coalesce(drafts, 0)::double, 'tokens_per_step': coalesce(tokens_per_step, 1)::double, 'is_static': coalesce(is_static, false)
};

-- Tokens of a prompt that are computed: the last always is.
--   select macros.new_tokens(macros.load(2000, 500, cached := 1500))
create macro macros.new_tokens(l) as
    greatest(1e0, l.input - l.cached);

-- Mean context of a request while it decodes, tokens.
--   select macros.mean_context(macros.load(2000, 500))
create macro macros.mean_context(l) as
    l.input + l.output / 2;

-- Requests that can decode at once: by the engine's limits, of which one is that a step has a budget of tokens, prompts included (each
-- answer brings a prompt), and by the memory for their KV cache. A static batch has its prompts behind it.
--   select macros.most_running(d, l) from (select d, macros.load(2000, 500, clients := 64) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'}))
create macro macros.most_running(d, l) as
    greatest(1, least(
        d.max_num_seqs,
        d.max_num_batched_tokens
        / (1 + l.drafts + case when l.is_static then 0e0 else macros.new_tokens(l) / macros.answer_s(l, 1) end),
        macros.kv_free_bytes(d) / (macros.kv_request_bytes(d, macros.mean_context(l)) + d.state_bytes)
    ));

-- Rounds in which a static batch is served: 1 where all its requests fit at once. They grow together, so each must fit at its full length.
--   select macros.waves(d, l) from (select d, macros.load(2000, 500, clients := 5000, is_static := true) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'}))
create macro macros.waves(d, l) as
    ceil(l.clients / greatest(1, least(
        macros.most_running(d, l), macros.kv_free_bytes(d) / (macros.kv_request_bytes(d, l.input + l.output) + d.state_bytes)
    )) - 1e-9);

-- Time per token of a static batch as offline benchmarks report it, seconds: all of its time over the tokens of one answer. In each wave
-- every prompt is worked on and every token decoded; steps that only carry prompts take their fixed times and weights, too.
--   select macros.waves_tpot_s(d, l, 1, 32, 50e-3, 10e-3) from (select d, macros.load(2000, 500, clients := 32, is_static := true) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'}))
create macro macros.waves_tpot_s(d, l, waves, batch, prompt_s, step_s) as
    waves
    * (
        batch * prompt_s
        + (ceil(batch * macros.new_tokens(l) / d.max_num_batched_tokens) + macros.answer_s(l, 1) / l.tokens_per_step) * step_s
    )
    / l.output;

-- Mean context of a request while it decodes, cut at the window of the layers that have one, tokens.
--   select macros.windowed_context(d, l) from (select d, macros.load(2000, 500, clients := 64) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'}))
create macro macros.windowed_context(d, l) as
    least(macros.mean_context(l), coalesce(d.window_tokens, macros.mean_context(l)));

-- What drafts make of a step of so many seconds: they are guessed before it, and none of them is scheduled.
--   select macros.drafted_s(d, l, 32, 10e-3) from (select d, macros.load(2000, 500, clients := 64) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'}))
create macro macros.drafted_s(d, l, batch, step_s) as
    step_s
    - batch * l.drafts * d.sequence_s
    + l.drafts * macros.draft_s(d);

-- Seconds of one draft of EAGLE's kind: a layer of the model and a head of its own.
--   select macros.draft_s(d) from (select d, macros.load(2000, 500, clients := 64) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'}))
create macro macros.draft_s(d) as
    d.layer_s
    + ((d.packed_bytes + d.expert_bytes * d.experts_per_token) / d.layers) / d.packed_bytes_per_s
    + 2 * d.head_params / d.plain_bytes_per_s;

-- The most requests a second that one thread of the API server takes in and sends out, with as many tokens a step as suit it best; infinite
-- where its times are not known. An engine that does not wait for it makes no more in an open loop.
--   select macros.thread_per_s(d, l) from (select d, macros.load(128, 256, requests_per_s := 40) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'engine_version': '0.26.0'}))
create macro macros.thread_per_s(d, l) as
    case when d.send_token_s > 0 then
        1 / (macros.answer_s(l, 2 * sqrt(d.send_s * d.send_crowd_s) + d.send_token_s - d.send_crowd_s) / d.api_servers + macros.admits_s(d, l.input))
    else 'infinity'::double end;

-- Tokens that a step yields, where each of k drafts is accepted with chance a, and only after those before it
-- (Leviathan et al., arXiv 2211.17192).
--   select macros.accepted_per_step(0.7e0, 3)
create macro macros.accepted_per_step(a, k) as
    case when a = 1 then k + 1e0 else (1 - pow(a, k + 1)) / (1 - a) end;

-- Seconds that a prompt's work takes from the steps of the others.
--   select macros.loaded_prompt_s(d, l, 32) from (select d, macros.load(2000, 500, clients := 64) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'}))
create macro macros.loaded_prompt_s(d, l, batch) as
    macros.prompt_s(
        d, batch, macros.new_tokens(l), l.cached,
        kv_s := macros.kv_s(d, batch * macros.mean_context(l), batch * macros.windowed_context(d, l))
    );

-- Seconds that an answer takes after its first token.
--   select macros.answer_s(macros.load(2000, 500), 10e-3)
create macro macros.answer_s(l, tpot_s) as
    greatest(1, l.output - 1) * tpot_s;

-- Seconds from the start of a prompt's work to its first token: the steps that carry its chunks, in which the others decode too.
--   select macros.first_token_s(d, l, 32, 50e-3, 10e-3) from (select d, macros.load(2000, 500, clients := 64) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'}))
create macro macros.first_token_s(d, l, batch, prompt_s, step_s) as
    prompt_s + macros.prefill_chunks(d, batch, macros.new_tokens(l)) * step_s;

-- Mean time per token of the engine, seconds, if so many prompts of others start during one answer.
--   select macros.loaded_tpot_s(d, l, 10e-3, 50e-3, 31) from (select d, macros.load(2000, 500, clients := 64) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'}))
create macro macros.loaded_tpot_s(d, l, step_s, prompt_s, prompts) as
    step_s / l.tokens_per_step + d.prefill_share * prompts * prompt_s / greatest(1, l.output - 1);

-- The same as the clients of a batch see it: the API server may take longer to send its tokens than the engine to make them.
--   select macros.seen_tpot_s(d, l, 256, 10e-3) from (select d, macros.load(128, 256, clients := 256) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'engine_version': '0.26.0'}))
create macro macros.seen_tpot_s(d, l, batch, engine_tpot_s) as
    greatest(engine_tpot_s, macros.round_s(d, batch, l.input, l.output) / l.tokens_per_step);

-- Mean wait of a prompt for those before it, with a service of work_s each (Pollaczek 1930, Khinchine 1932, for M/D/1). Stable below
-- one second of work per second.
--   select macros.prompt_wait_s(3, 0.1)
create macro macros.prompt_wait_s(requests_per_s, work_s) as
    requests_per_s * work_s * work_s / (2 * greatest(1e-3, 1 - requests_per_s * work_s));

-- The most prompt tokens that one step takes while `batch` others decode: those of as many prompts as begin with a step, of 100 steps the
-- second most (by chance, Poisson), up to the step's budget.
--   select macros.largest_chunk(d, l, 32) from (select d, macros.load(2000, 500, clients := 64) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'}))
create macro macros.largest_chunk(d, l, batch) as
    least(
        macros.new_tokens(l) * greatest(1e0, ceil(batch / macros.answer_s(l, 1) + 2.33e0 * sqrt(batch / macros.answer_s(l, 1)))),
        greatest(1, d.max_num_batched_tokens - batch)
    );

-- What each batch means, from one that stands still most of the time to the largest that fits.
--   batch             requests that decode at once
--   step_s            of a step without prompts, seconds
--   prompt_s          that a prompt adds to the steps it rides in, seconds
--   first_token_s     from the start of a prompt's work to its first token, seconds
--   closed_tpot_s     time per token in a closed loop: in the time of one answer each of the batch brings
--                     one prompt, but no stream waits for its own
--   closed_clients    clients that keep this batch running: the others wait for their first token
--   open_tpot_s       time per token in an open loop
--   open_per_s        requests a second that make this batch, by Little's law: prompts take a share of all
--                     time and the steps share the rest, so batch = rate * answer * step / (1 - share * rate * prompt)
--   select c.batch, c.closed_tpot_s, c.closed_clients from (select d, macros.load(2000, 500, clients := 64) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})) as asked
--   cross join lateral macros.load_curve(asked.d, asked.l) as c order by c.batch desc limit 3
create macro macros.load_curve(of_d, of_l) as table
with given as (
    select
        of_d as d,
        of_l as l
),

batches as (
    select
        d,
        l,
        macros.most_running(d, l) * pow(4096e0, unnest(range(65)) / 64e0 - 1) as batch
    from given
),

-- In stages, as macros.prediction: DuckDB writes an argument out wherever a macro names it.
sizes as (
    select
        d,
        l,
        batch,
        greatest(1e0, batch) as step_batch,
        step_batch * (1 + l.drafts) as tokens,
        step_batch * macros.mean_context(l) as context,
        step_batch * macros.windowed_context(d, l) as windowed,
        macros.new_tokens(l) as new_tokens,
        macros.prefill_chunks(d, batch, macros.new_tokens(l)) as chunks,
        macros.new_tokens(l) / macros.prefill_chunks(d, batch, macros.new_tokens(l)) as chunk_tokens
    from batches
),

filled as (
    select
        *,
        batch + chunk_tokens as filled
    from sizes
),

costs as (
    select
        d,
        l,
        batch,
        macros.drafted_s(d, l, step_batch, macros.decode_s(d, tokens, context, windowed)) as step_s,
        macros.chunks_s(d, new_tokens, l.cached, chunks, macros.chunk_beside_s(
            d, batch, chunk_tokens, filled, macros.gemm_s(d, batch, 0, 0), macros.experts_s(d, batch), macros.allreduce_s(d, batch),
            macros.kv_s(d, context, windowed)
        )) as prompt_s
    from filled
),

times as (
    select
        d,
        l,
        batch,
        step_s,
        prompt_s,
        macros.first_token_s(d, l, batch, prompt_s, step_s) as first_token_s,
        macros.seen_tpot_s(
            d, l, batch, macros.loaded_tpot_s(d, l, step_s, prompt_s, batch * greatest(0e0, 1 - 1 / l.clients))
        ) as closed_tpot_s,
        least(
            batch / (macros.answer_s(l, step_s) / l.tokens_per_step + d.prefill_share * batch * prompt_s), macros.thread_per_s(d, l)
        ) as open_per_s
    from costs
)

select
    batch,
    step_s,
    prompt_s,
    first_token_s,
    closed_tpot_s,
    batch * (1 + first_token_s / macros.answer_s(l, closed_tpot_s)) as closed_clients,
    batch / (open_per_s * macros.answer_s(l, 1)) as open_tpot_s,
    open_per_s
from times;

-- The batch that a load makes: between the two points of its curve around the clients or the rate; the
-- largest where that is not enough for them.
--   batch     requests that decode at once
--   is_full   no more can run at once: others wait
--   most_per_s  the most requests a second that any batch serves, of an open loop; null otherwise
--   select b.batch, b.is_full from (select d, macros.load(2000, 500, clients := 64) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})) as asked
--   cross join lateral macros.load_batch(asked.d, asked.l) as b
create macro macros.load_batch(of_d, of_l) as table
with given as (
    select of_l as l
),

asked as (
    select
        l.clients is null or l.clients = 0 as is_open,
        case when is_open then l.requests_per_s else l.clients end as wanted
    from given
),

-- Lists in the place of a window over the points, which takes three times as long.
points as (
    select
        any_value(asked.wanted) as wanted,
        any_value(asked.is_open) as is_open,
        list(curve.batch order by curve.batch) as batches,
        list(case when asked.is_open then curve.open_per_s else curve.closed_clients end order by curve.batch) as given
    from macros.load_curve(of_d, of_l) as curve
    cross join asked
),

crossings as (
    select
        *,
        list_position(list_transform(given, lambda one: one > wanted), true) as above
    from points
)

select
    case
        -- Where the API server is the limit, the engine does not fill: the smallest batch that serves as much.
        when above is null then batches[list_position(given, list_max(given))]
        when above = 1 then batches[1]
        else batches[above - 1] * pow(
            batches[above] / batches[above - 1],
            ln(wanted / given[above - 1]) / ln(given[above] / given[above - 1])
        )
    end as batch,
    above is null as is_full,
    case when is_open then list_max(given) end as most_per_s
from crossings;

-- A prediction: times per token with their terms, which add up to predicted_tpot_s.
--   batch                requests that decode at once, of one replica
--   context_tokens       mean of each, tokens
--   floor_tpot_s         step bytes over peak bandwidth
--   predicted_tpot_s     mean time per token; null of answers of one token
--   low_s, high_s        its 90 % band, from the floor on
--   weights_s            term: streaming all weights but the experts
--   experts_s            term: experts and their routing
--   kv_s                 term: reading the KV cache, and states of constant size
--   arithmetic_s         term: what multiplying adds to streaming
--   layers_s             term: fixed time of the layers
--   allreduce_s          term: all-reduces between GPUs
--   host_s               term: scheduling and sampling, and what the API server takes longer to send tokens than the engine to make them
--   draft_s              term: guessing tokens
--   prefill_s            term: the prompts of others; in a static batch also its waves after the first
--   ttft_s               from sending to the first token, mean: the sum of its four terms; null for an open loop above 85 % of what can be
--                        served, where a formula does not know it
--   low_ttft_s, high_ttft_s  its 90 % band
--   ttft_request_s       term: HTTP, reading the prompt into tokens, first scheduling
--   ttft_wait_s          term: waiting for a place and for the prompts before it
--   ttft_prompt_s        term: its own prompt's work
--   ttft_steps_s         term: the steps that this work rides in
--   itl_p99_s            99th percentile of the gaps between tokens, of a speculating engine between steps: with the
--                        largest chunk of a prompt in a step, where more than one step in a hundred has one
--   mbu_ratio            bytes streamed a second over peak, while no prompt is worked on
--   mfu_ratio            FLOP a second over peak, prompts and answers
--   requests_per_s       that are served, of one replica
--   output_tokens_per_s  likewise
--   is_full              as many run as can: others wait
--   is_mixed             more than one step in a hundred has a chunk of a prompt in it: itl_p99_s is of such a step
--   is_stable            the load can be served at all
--   select p.predicted_tpot_s, p.floor_tpot_s, p.ttft_s from (select d, macros.load(2000, 500, clients := 64) as l
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})) as asked
--   cross join lateral macros.prediction(asked.d, asked.l) as p
create macro macros.prediction(of_d, of_l) as table
with given as (
    select
        of_d as d,
        of_l as l,
        load_batch.batch,
        load_batch.is_full,
        load_batch.most_per_s
    from macros.load_batch(of_d, of_l) as load_batch
),

waved as (
    select
        *,
        case when l.is_static then macros.waves(d, l) end as waves
    from given
),

-- A static batch is not full of clients that come again: it is shared out to its waves.
settled as (
    select
        * replace (
            case when l.is_static then l.clients / waves else batch end as batch,
            case when l.is_static then waves > 1 else is_full end as is_full
        )
    from waved
),

running as (
    select
        *,
        l.clients is null or l.clients = 0 as is_open,
        greatest(1e0, batch) as step_batch,
        step_batch * (1 + l.drafts) as tokens,
        step_batch * macros.mean_context(l) as context,
        step_batch * macros.windowed_context(d, l) as windowed
    from settled
),

-- Of the requests that decode, `others` are not of the client whose prompt it is.
counted as (
    select
        *,
        batch * case when is_open then 1 else greatest(0e0, 1 - 1 / l.clients) end as others,
        macros.new_tokens(l) as new_tokens,
        macros.prefill_chunks(d, batch, macros.new_tokens(l)) as prompt_chunks,
        macros.prefill_chunks(d, 0, macros.new_tokens(l)) as alone_chunks,
        macros.largest_chunk(d, l, batch) as chunk_tokens
    from running
),

-- In stages: DuckDB writes out an alias wherever the same select names it, and an argument wherever a macro does.
sizes as (
    select
        *,
        others * (1 + l.drafts) as others_tokens,
        others * macros.mean_context(l) as others_context,
        others * macros.windowed_context(d, l) as others_windowed,
        new_tokens / prompt_chunks as prompt_tokens,
        new_tokens / alone_chunks as alone_tokens,
        batch + new_tokens / prompt_chunks as prompt_filled,
        batch + chunk_tokens as chunk_filled
    from counted
),

-- The terms of the step, and of the same batch without drafts, which chunks are added to.
parts as (
    select
        *,
        macros.gemm_s(d, tokens, 0, 0) as gemm_s,
        macros.experts_s(d, tokens) as experts_s,
        macros.kv_s(d, context, windowed) as kv_s,
        macros.allreduce_s(d, tokens) as allreduce_s,
        macros.gemm_s(d, batch, 0, 0) as batch_gemm_s,
        macros.experts_s(d, batch) as batch_experts_s,
        macros.allreduce_s(d, batch) as batch_allreduce_s
    from sizes
),

costs as (
    select
        *,
        macros.drafted_s(d, l, step_batch, macros.terms_sum(d, tokens, gemm_s, experts_s, kv_s, allreduce_s)) as step_s,
        macros.drafted_s(d, l, others, macros.decode_s(d, others_tokens, others_context, others_windowed)) as others_step_s,
        macros.chunks_s(d, new_tokens, l.cached, prompt_chunks, macros.chunk_beside_s(
            d, batch, prompt_tokens, prompt_filled, batch_gemm_s, batch_experts_s, batch_allreduce_s, kv_s
        )) as prompt_s,
        -- What the prompt costs where nobody decodes: so long it takes.
        macros.chunks_s(d, new_tokens, l.cached, alone_chunks, macros.chunk_s(d, 0, alone_tokens)) as alone_s
    from parts
),

beside as (
    select
        *,
        macros.prefill_chunks(d, others, new_tokens) as chunks,
        macros.loaded_tpot_s(d, l, step_s, prompt_s, batch * greatest(0e0, 1 - 1 / l.clients)) as loaded_tpot_s,
        macros.seen_tpot_s(d, l, batch, loaded_tpot_s) as closed_tpot_s,
        case when l.is_static then macros.waves_tpot_s(d, l, waves, batch, prompt_s, step_s) end as static_tpot_s
    from costs
),

waits as (
    select
        *,
        case when others > 0 and not l.is_static then others_step_s / 2 + macros.missed_s(d, others_step_s) else 0 end
        + case
            -- Prompts come one after the other, and wave after wave: half of those of the others and of the waves on the average.
            when l.is_static
                then (batch - 1) / 2 * prompt_s + (waves - 1) / 2 * l.output * static_tpot_s / waves
            when not is_open then macros.bunch_wait_s(d, l, alone_s)
            when is_full then 'infinity'::double
            else macros.prompt_wait_s(l.requests_per_s, d.prompt_ratio * prompt_s)
        end as wait_s
    from beside
),

terms_of_first as (
    select
        *,
        -- Near saturation a queue is made by bursts and by the longest requests, of which a mean knows nothing.
        not is_full and coalesce(l.requests_per_s > 0.85e0 * most_per_s, false) as is_near_most,
        macros.ttft_terms(d, l.input, wait_s, macros.launched_s(d, alone_s, chunks * others_step_s, chunks, others + new_tokens / chunks), chunks * others_step_s) as own
    from waits
),

-- Clients that wait for a place, by Little's law: what their wait is not is the rest.
firsts as (
    select
        *,
        case
            when is_full and not is_open and not l.is_static then {
                'request': own.request,
                'wait': greatest(own.wait, macros.answer_s(l, closed_tpot_s) * (l.clients / batch - 1) - own.request - own.prompt - own.steps),
                'prompt': own.prompt,
                'steps': own.steps
            }
            else own
        end as first
    from terms_of_first
),

times as (
    select
        *,
        case when not is_near_most then macros.ttft_sum(first) end as ttft_s
    from firsts
),

rates as (
    select
        *,
        case
            when l.is_static then l.clients / (l.output * static_tpot_s)
            -- Each client sends again when it is served, and no engine works on more than it has time for.
            when not is_open then least(
                l.clients / (ttft_s + macros.answer_s(l, closed_tpot_s)),
                1 / (prompt_s + macros.answer_s(l, step_s) / l.tokens_per_step / greatest(1e0, l.clients))
            )
            -- An open loop's steps share what prompts leave of all time; one that is full serves what it can.
            when is_full then least(
                batch / (macros.answer_s(l, step_s) / l.tokens_per_step + d.prefill_share * batch * prompt_s), macros.thread_per_s(d, l)
            )
            else l.requests_per_s
        end as requests_per_s
    from times
),

tokens as (
    select
        *,
        case
            when l.is_static then static_tpot_s
            when is_open then step_s / l.tokens_per_step / greatest(1e-3, 1 - d.prefill_share * requests_per_s * prompt_s)
            else loaded_tpot_s
        end as engine_tpot_s,
        case when l.is_static or is_open then engine_tpot_s else macros.seen_tpot_s(d, l, batch, engine_tpot_s) end as tpot_s,
        -- More than one step in a hundred has a prompt's chunk in it.
        batch * prompt_chunks / greatest(1, l.output - 1) > 1e-2 and batch > 1 as is_mixed
    from rates
),

-- The terms of a token, and whether the load comes near to what the KV cache holds: requests wait or are thrown out then.
terms as (
    select
        *,
        {
            'weights': macros.weights_s(d, tokens) / l.tokens_per_step,
            'experts': experts_s / l.tokens_per_step,
            'kv': (kv_s + macros.state_s(d, tokens)) / l.tokens_per_step,
            'arithmetic': (gemm_s - macros.weights_s(d, tokens)) / l.tokens_per_step,
            'layers': macros.layers_s(d) / l.tokens_per_step,
            'allreduce': allreduce_s / l.tokens_per_step,
            -- What a step takes beyond its other terms, and a client's token beyond the engine's: the API server sends it.
            'host': (
                step_s - gemm_s - experts_s - kv_s - macros.state_s(d, tokens) - allreduce_s - macros.layers_s(d) - l.drafts * macros.draft_s(d)
            ) / l.tokens_per_step + tpot_s - engine_tpot_s,
            'draft': l.drafts * macros.draft_s(d) / l.tokens_per_step,
            'prefill': engine_tpot_s - step_s / l.tokens_per_step
        } as term,
        case when is_open then batch else l.clients end * macros.kv_request_bytes(d, macros.mean_context(l))
        > 0.8e0 * macros.kv_free_bytes(d) as is_short_of_kv,
        macros.floor_s(d, context, windowed) / l.tokens_per_step as floor_tpot_s
    from tokens
),

banded as (
    select
        *,
        coalesce(
            d.fixed_band_ratio,
            macros.terms_band_ratio(
                d.spread, tpot_s, term,
                case when is_short_of_kv then d.spread.short_of_kv when l.is_static then d.spread.static_batch else 0e0 end
            )
        ) as band_ratio,
        case when isfinite(ttft_s) then macros.ttft_band_ratio(d.spread, first) else 0e0 end as ttft_band_ratio
    from terms
)

select
    batch,
    macros.mean_context(l) as context_tokens,
    floor_tpot_s,
    -- An answer of one token has no time per token.
    case when l.output > 1 or l.is_static then tpot_s end as predicted_tpot_s,
    greatest(macros.band_low(tpot_s, band_ratio), least(tpot_s, floor_tpot_s)) as low_s,
    macros.band_high(tpot_s, band_ratio) as high_s,
    term.weights as weights_s,
    term.experts as experts_s,
    term.kv as kv_s,
    term.arithmetic as arithmetic_s,
    term.layers as layers_s,
    term.allreduce as allreduce_s,
    term.host as host_s,
    term.draft as draft_s,
    term.prefill as prefill_s,
    ttft_s,
    macros.band_low(ttft_s, ttft_band_ratio) as low_ttft_s,
    macros.band_high(ttft_s, ttft_band_ratio) as high_ttft_s,
    first.request as ttft_request_s,
    case when not is_near_most then first.wait end as ttft_wait_s,
    first.prompt as ttft_prompt_s,
    first.steps as ttft_steps_s,
    greatest(tpot_s, step_s + case
        when is_mixed
            then macros.chunk_beside_s(d, batch, chunk_tokens, chunk_filled, batch_gemm_s, batch_experts_s, batch_allreduce_s, kv_s)
                + macros.prefill_attention_s(d, chunk_tokens, case
                    when chunk_tokens > new_tokens then chunk_tokens / new_tokens * macros.prefill_pairs(new_tokens, l.cached)
                    else macros.prefill_pairs(chunk_tokens, l.input - chunk_tokens)
                end)
        else 0e0
    end) as itl_p99_s,
    (
        d.plain_bytes + d.packed_bytes + d.expert_bytes * macros.hit_experts(d, tokens)
        + macros.kv_bytes(d, context, windowed)
    ) / step_s / d.hbm_bytes_per_s as mbu_ratio,
    requests_per_s
    * (macros.prompt_flop(d, macros.new_tokens(l), l.cached) + greatest(0, l.output - 1) * macros.token_flop(d, macros.mean_context(l)))
    / d.peak_flop_per_s as mfu_ratio,
    requests_per_s,
    requests_per_s * l.output as output_tokens_per_s,
    is_full,
    is_mixed,
    not (is_open and is_full) and macros.kv_free_bytes(d) >= macros.kv_request_bytes(d, l.input + l.output) as is_stable
from banded;
