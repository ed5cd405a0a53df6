-- One row per replay and case of seeds.lint_rules that it shows, of those that are read from its own requests and settings. marts.lint has
-- these with the rest.
-- group: trust
-- run_id   the replay
-- rule     the case, as in seeds.lint_rules
-- found    what was found, in numbers
with runs as (
    select
        ended.*,
        asked.cache_asked,
        asked.history,
        asked.lengths as asked_lengths,
        fidelity.held,
        fidelity.compared_prompts,
        fidelity.input_tokens_asked,
        fidelity.input_tokens_got,
        fidelity.compared_answers,
        fidelity.output_tokens_asked,
        fidelity.output_tokens_got,
        fidelity.planned_reuse_ratio,
        fidelity.cached_ratio,
        -- Cached beyond what the plan's own prompts share. Answers of this run that come back in later prompts are its own too.
        case when coalesce(asked.history, 'planned') <> 'answered' then fidelity.cached_ratio - coalesce(fidelity.planned_reuse_ratio, 0) end as foreign_ratio
    from marts.runs as ended
    inner join staging.runs as asked on asked.run_id = ended.run_id
    inner join marts.fidelity on fidelity.run_id = ended.run_id
    where ended.has_ended
        and ended.completed > 0
),

-- A queue that climbs all through the run by more than what is sent does, or a plan that has no times: either way more came than was served.
saturated as (
    select
        runs.run_id,
        runs.source_name,
        runs.served_model,
        runs.mode = 'open' and runs.planned >= 20 and fidelity.planned_per_s is null as is_at_once,
        coalesce(bool_or(trends.low_slope_per_s > 0 and trends.growth > 3 and trends.growth_ratio - greatest(coalesce(sent.growth_ratio, 0), 0) > 0.5e0), false) as is_climbing,
        max(trends.growth) as growth
    from runs
    inner join marts.fidelity on fidelity.run_id = runs.run_id
    left join marts.trends on trends.run_id = runs.run_id and trends.level <> 'sent'
    left join marts.trends as sent on sent.run_id = runs.run_id and sent.level = 'sent'
    group by all
),

requests as (
    select
        *,
        -- What had to be computed of the prompt, as far as the server or the plan says.
        input_tokens - greatest(coalesce(cached_tokens, 0), coalesce(shared_tokens, 0)) as computed_tokens,
        lag(done_s) over (partition by run_id, session_id order by turn) as ended_before_s
    from staging.requests
    where not is_warm_up
),

streams as (
    select
        run_id,
        count(*) filter (where received_tokens >= 5) as answers,
        count(*) filter (where received_tokens >= 5 and is_whole) as whole,
        sum(received_tokens) filter (where not is_whole) as tokens,
        sum(chunk_count) filter (where not is_whole) as chunks,
        count(*) filter (where session_id is not null and ended_before_s is not null and is_sent) as later_turns,
        count(*) filter (where session_id is not null and sent_s < ended_before_s) as early_turns
    from requests
    where is_sent
    group by run_id
),

-- The request that went out first beside those that went out when its first token was there.
firsts as (
    select
        run_id,
        arg_min(ttft_s, sent_s) as ttft_s,
        arg_min(first_token_s, sent_s) as answered_s,
        arg_min(computed_tokens, sent_s) as computed_tokens
    from requests
    where is_success
    group by run_id
),

starts as (
    select
        firsts.run_id,
        any_value(firsts.ttft_s) as ttft_s,
        max(requests.ttft_s) as slowest_s,
        count(*) as later
    from firsts
    inner join requests
        on requests.run_id = firsts.run_id
        and requests.sent_s >= firsts.answered_s
    where requests.is_success
    group by firsts.run_id
    having count(*) >= 20
        and any_value(firsts.ttft_s) >= 1
        and any_value(firsts.ttft_s) > 3 * max(requests.ttft_s)
        and max(requests.computed_tokens) >= any_value(firsts.computed_tokens)
)

select
    run_id,
    'no_prediction' as rule,
    case when is_draft then 'GPU or model is not known' else 'its server runs with ' || unmodelled || ', which is not modelled' end
    || ': the time per token stands beside nothing' as found
from runs
where is_draft
    or unmodelled is not null
union all
select
    run_id,
    'few_requests',
    'p99 of ' || macros.count_text(completed) || ' requests: it wants ' || macros.count_text(macros.fewest_samples(0.99))
from runs
where completed >= 100
    and completed < macros.fewest_samples(0.99)
union all
select
    run_id,
    'saturation_only',
    case when is_at_once then 'all requests were due at one instant' else 'requests in flight or waiting grew by ' || macros.figures(growth) || ' through the run, more than what was sent' end
    || ', and no other run of this load and model stayed below that'
from saturated
where (is_at_once or is_climbing)
    and not exists (
        select 1
        from saturated as calm
        where calm.source_name is not distinct from saturated.source_name
            and calm.served_model is not distinct from saturated.served_model
            and not calm.is_at_once
            and not calm.is_climbing
    )
union all
select
    run_id,
    'not_cold',
    'asked for a cache that is ' || case cache_asked when 'cold' then 'cold' else 'reset' end || ', and the server had '
    || macros.percent_text(cached_ratio) || ' of the prompt tokens'
from runs
where cache_asked = 'cold' and cached_ratio > 1e-2
    or cache_asked = 'reset' and foreign_ratio > 1e-2
union all
select
    run_id,
    'idle_is_not_cold',
    'the server had ' || macros.percent_text(foreign_ratio) || ' of the prompt tokens from before this run'
from runs
where coalesce(cache_asked, '') = ''
    and foreign_ratio > 5e-2
union all
select
    run_id,
    'held_back',
    macros.count_text(held) || ' of ' || macros.count_text(sent) || ' requests waited in the client behind the cap'
from runs
where mode <> 'closed'
    and held > 1e-2 * sent
union all
select
    runs.run_id,
    'no_steady_state',
    'no slot of the closed loop was used twice'
from runs
where runs.mode = 'closed'
    and runs.completed > 1
    and not exists (select 1 from marts.closed_loops where closed_loops.run_id = runs.run_id)
union all
select
    run_id,
    'other_lengths',
    concat_ws(
        '; ',
        case when is_other_prompt then 'prompts have ' || macros.percent_text(input_tokens_got / input_tokens_asked) || ' of the tokens of the plan' end,
        case when is_other_answer then 'answers have ' || macros.percent_text(output_tokens_got / output_tokens_asked) || ' of the tokens of the plan' end
    )
from (
    select
        *,
        compared_prompts > 0 and abs(input_tokens_got / nullif(input_tokens_asked, 0) - 1) > 0.1e0 as is_other_prompt,
        compared_answers > 0 and abs(output_tokens_got / nullif(output_tokens_asked, 0) - 1) > 0.1e0 as is_other_answer
    from runs
) as compared
where is_other_prompt
    or is_other_answer
union all
select
    runs.run_id,
    'average_lengths',
    'all requests have the average lengths of the plan, and no run of it has its own'
from runs
where runs.asked_lengths = 'mean'
    and not exists (select 1 from marts.controls where controls.control_run_id = runs.run_id)
union all
select
    streams.run_id,
    'turns_overlap',
    macros.count_text(early_turns) || ' of ' || macros.count_text(later_turns) || ' later turns went out before the answer to the turn before them was there'
from streams
inner join runs on runs.run_id = streams.run_id
where early_turns > 1e-2 * later_turns
union all
select
    streams.run_id,
    'not_streamed',
    macros.count_text(whole) || ' of ' || macros.count_text(answers) || ' answers came whole'
from streams
inner join runs on runs.run_id = streams.run_id
where answers >= 10
    and whole > 0.1e0 * answers
union all
select
    streams.run_id,
    'chunks_not_tokens',
    'a chunk has ' || macros.figures(tokens / chunks) || ' tokens on average'
from streams
inner join runs on runs.run_id = streams.run_id
where chunks > 0
    and tokens > 1.2e0 * chunks
union all
select
    starts.run_id,
    'cold_start',
    'the first request waited ' || macros.duration_text(ttft_s) || ' for its first token, none of the ' || macros.count_text(later) || ' after it more than '
    || macros.duration_text(slowest_s)
from starts
inner join runs on runs.run_id = starts.run_id
