-- What a workload of unequal lengths does to a deployment. `d` is a row of macros.deployment as one
-- struct, `parts` a list of {share, uncached, cached, output, context}, of which all requests of about one length are one:
--   share     of all requests; the shares add up to 1
--   uncached  prompt tokens to be computed
--   cached    prompt tokens found in a cache
--   output    tokens of the answer
--   context   tokens of prompt and answer so far, mean over the time that it decodes
-- Means of lengths are not enough: a prompt's work grows faster than its length, and the wait for
-- prompts goes with the mean of its square, which the few longest make (Pollaczek-Khinchine).
-- group: model

-- Mean of a number for each part, over requests.
--   select macros.part_mean(parts, [1e0, 11e0])
--   from (select [{'share': 0.9e0, 'uncached': 500, 'cached': 0, 'output': 200, 'context': 600}, {'share': 0.1e0, 'uncached': 8000,
--       'cached': 0, 'output': 400, 'context': 8200}] as parts)
create macro macros.part_mean(parts, numbers) as
    list_sum(list_transform(parts, lambda part, i: part.share * numbers[i]));

-- Tokens of an answer after its first.
--   select macros.part_gaps(parts)
--   from (select [{'share': 0.9e0, 'uncached': 500, 'cached': 0, 'output': 200, 'context': 600}, {'share': 0.1e0, 'uncached': 8000,
--       'cached': 0, 'output': 400, 'context': 8200}] as parts)
create macro macros.part_gaps(parts) as
    greatest(1, list_sum(list_transform(parts, lambda part: part.share * greatest(0, part.output - 1))));

-- Mean tokens of a prompt, cached ones too.
--   select macros.part_input(parts)
--   from (select [{'share': 0.9e0, 'uncached': 500, 'cached': 0, 'output': 200, 'context': 600}, {'share': 0.1e0, 'uncached': 8000,
--       'cached': 0, 'output': 400, 'context': 8200}] as parts)
create macro macros.part_input(parts) as
    list_sum(list_transform(parts, lambda part: part.share * (part.uncached + part.cached)));

-- Mean context of the requests that decode. An answer counts in proportion to its length, because it decodes for that long.
--   select macros.part_context(parts)
--   from (select [{'share': 0.9e0, 'uncached': 500, 'cached': 0, 'output': 200, 'context': 600}, {'share': 0.1e0, 'uncached': 8000,
--       'cached': 0, 'output': 400, 'context': 8200}] as parts)
create macro macros.part_context(parts) as
    list_sum(list_transform(parts, lambda part: part.share * part.output * part.context))
    / list_sum(list_transform(parts, lambda part: part.share * part.output));

-- Mean context of the requests that decode, tokens, each cut at the window.
--   select macros.part_windowed(parts, 4096)
--   from (select [{'share': 0.9e0, 'uncached': 500, 'cached': 0, 'output': 200, 'context': 600}, {'share': 0.1e0, 'uncached': 8000,
--       'cached': 0, 'output': 400, 'context': 8200}] as parts)
create macro macros.part_windowed(parts, window_tokens) as
    list_sum(list_transform(parts, lambda part: part.share * part.output * least(part.context, coalesce(window_tokens, part.context))))
    / list_sum(list_transform(parts, lambda part: part.share * part.output));

-- Mean wait for the prompts before it, for Poisson arrivals: requests_per_s * E[x^2] / (2 * (1 - share)) (Pollaczek 1930, Khinchine 1932).
--   select macros.mix_wait_s(3, 0.1, 0.02)
create macro macros.mix_wait_s(requests_per_s, work_s, square_s2) as
    requests_per_s * square_s2 / (2 * greatest(1e-3, 1 - requests_per_s * work_s));

-- What is added to that wait for each unit by which the squared cv of the gaps between arrivals exceeds 1: Kingman's (1961) factor is
-- (Ca^2 + Cs^2) / (1 + Cs^2), with 1 + Cs^2 = E[x^2] / E[x]^2.
--   select macros.mix_burst_s(3, 0.1)
create macro macros.mix_burst_s(requests_per_s, work_s) as
    macros.mix_wait_s(requests_per_s, work_s, work_s * work_s);

-- What each batch means, from one that stands still most of the time to the largest that fits.
--   batch            requests that decode at once
--   floor_s          of a step: its bytes over peak bandwidth, seconds
--   step_s           of a step without prompts, seconds
--   prompts_s        for each part: seconds that its prompt adds to the steps it rides in
--   chunks           for each part: steps that its prompt is spread over
--   first_tokens_s   for each part: HTTP and the prompt's own steps, to its first token, seconds
--   prompt_s         mean of prompts_s over requests
--   square_s2        mean of their squares
--   gaps             tokens of an answer after its first, mean
--   open_per_s       requests a second that make this batch in an open loop (as in macros.load_curve)
--   open_tpot_s      time per token then
--   open_wait_s      mean wait of a prompt for others then, of Poisson arrivals
--   open_burst_s     for each unit by which the squared cv of the gaps is above 1, so much more
--   closed_tpot_s    time per token in a closed loop of `clients`
--   closed_clients   clients that keep this batch running
--   closed_per_s     requests a second that they make
--   closed_wait_s    mean wait of a prompt for those that come in a bunch with it
--   scatter_s        how unevenly the prompts of others fall: a request's own time per token over n tokens deviates by
--                    scatter_s * sqrt(requests_per_s * tpot_s / n), as so many come while it decodes by chance (Poisson)
--   select c.batch, c.closed_tpot_s, c.closed_clients
--   from (select d, [{'share': 1e0, 'uncached': 500, 'cached': 0, 'output': 200, 'context': 600}] as parts
--   from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})) as asked
--   cross join lateral macros.mix_curve(asked.d, asked.parts, 64) as c order by c.batch desc limit 3
create macro macros.mix_curve(of_d, of_parts, of_clients) as table
with given as (
    select
        of_d as d,
        of_parts as parts,
        of_clients::double as clients
),

limits as (
    select
        *,
        macros.part_context(parts) as context,
        macros.part_windowed(parts, d.window_tokens) as windowed,
        macros.part_gaps(parts) as gaps,
        greatest(1, least(
            d.max_num_seqs, d.max_num_batched_tokens,
            macros.kv_free_bytes(d) / (macros.kv_held_bytes(d, context, windowed) + d.state_bytes)
        )) as most
    from given
),

batches as (
    select
        *,
        most * pow(4096e0, unnest(range(65)) / 64e0 - 1) as batch
    from limits
),

costs as (
    select
        *,
        greatest(1e0, batch) as running,
        macros.decode_s(d, running, running * context, running * windowed) as step_s,
        macros.floor_s(d, running * context, running * windowed) as floor_s,
        list_transform(parts, lambda part: macros.prompt_s(
            d, batch, part.uncached, part.cached, kv_s := macros.kv_s(d, running * context, running * windowed)
        )) as prompts_s,
        list_transform(parts, lambda part: macros.prefill_chunks(d, batch, part.uncached)) as chunks,
        list_transform(parts, lambda part: macros.prompt_s(d, 0, part.uncached, part.cached)) as alone_s
    from batches
),

means as (
    select
        *,
        list_transform(
            alone_s, lambda one_s, i: macros.ttft_sum(macros.ttft_terms(
                d, parts[i].uncached + parts[i].cached, case when clients = 1 then 0e0 else macros.missed_s(d, step_s) end,
                macros.launched_s(d, one_s, chunks[i] * step_s, chunks[i], batch + parts[i].uncached / chunks[i]), chunks[i] * step_s
            ))
        ) as first_tokens_s,
        list_transform(prompts_s, lambda prompt_s, i: prompt_s + chunks[i] * step_s) as worked_s,
        macros.part_mean(parts, prompts_s) as prompt_s,
        macros.part_mean(parts, list_transform(prompts_s, lambda prompt_s: prompt_s * prompt_s)) as square_s2
    from costs
),

rates as (
    select
        *,
        macros.round_s(d, batch, macros.part_input(parts), gaps + 1) as round_s, -- clients do not see tokens any faster
        least(
            batch / (gaps * step_s + d.prefill_share * batch * prompt_s),
            macros.thread_per_s(d, {'input': macros.part_input(parts), 'output': gaps + 1})
        ) as open_per_s,
        greatest(step_s + d.prefill_share * batch * greatest(0e0, 1 - 1 / clients) * prompt_s / gaps, round_s) as closed_tpot_s,
        batch / (gaps * closed_tpot_s) as closed_per_s,
        batch / (open_per_s * gaps) as open_tpot_s
    from means
)

select
    batch,
    floor_s,
    step_s,
    prompts_s,
    chunks,
    first_tokens_s,
    prompt_s,
    square_s2,
    gaps,
    open_per_s,
    open_tpot_s,
    macros.mix_wait_s(open_per_s, prompt_s, square_s2) as open_wait_s,
    macros.mix_burst_s(open_per_s, prompt_s) as open_burst_s,
    closed_tpot_s,
    batch * (1 + macros.part_mean(parts, worked_s) / (gaps * closed_tpot_s)) as closed_clients,
    closed_per_s,
    macros.bunch_wait_s(d, {'clients': clients, 'input': macros.part_input(parts)}, macros.part_mean(parts, alone_s)) as closed_wait_s,
    d.prefill_share * sqrt(square_s2) as scatter_s
from rates;
