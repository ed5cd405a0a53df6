-- One row per request that was tried (warm-up left out): where its time went, what it cost, and behind whom it waited.
--
-- The parts add up: ttft_s + decode_s + stall_s = e2e_s, and where the server says when it began with a request, queue_s + prefill_s + outside_s =
-- ttft_s. Where it does not say, these three are null, because nobody can tell a wait from work: TTFT is then both. A gap between two chunks
-- stalls if it is longer than twice the median gap of the run; what it is longer than that median is stall_s, the rest is decode_s. Of an answer that
-- came whole everything lies in TTFT.
--
-- GPU-seconds: a rehearsal knows each request's share of each step. For a run on a known deployment the time in which a server had any request is
-- divided by predicted work: what the prompt adds to the steps that it rides in, and for each further token its share of the step that it
-- came from (the time of a step without prompts over the requests in it). Only requests with a row here take part.
-- Kept per run.
-- group: runs
-- run_id            the replay
-- seq               the request's place in its plan
-- class             what the trace calls its kind
-- is_success        it was sent, brought tokens and did not fail: else all times and tokens are null
-- is_accepted       successful and within every objective of its class; null where the run has no SLO
-- wait_s            from due to sent: held and late together, seconds; before e2e_s
-- ttft_s            from sent to the first token, seconds
-- queue_s           of ttft_s, in the server's queue, as the server says, seconds
-- prefill_s         of ttft_s, from the end of its queue to the first token, as the server says, seconds
-- outside_s         of ttft_s, the rest: network, HTTP, tokenizing, seconds; below 0 where the server's clock says more than the client saw
-- decode_s          from the first token to the last, without stalls, seconds
-- stall_s           in gaps of more than twice the run's median gap, what is over that median, seconds
-- stalls            such gaps
-- e2e_s             from sent to the last token, seconds
-- input_tokens      its prompt, tokens
-- cached_tokens     of its prompt, that the server says it had; null where it does not say
-- repeated_tokens   of its prompt, that an earlier request of the plan had brought and the server computed again; null where either is not known
-- recomputed_tokens  computed again after it was preempted; known of a rehearsal only
-- received_tokens   its answer, tokens
-- ahead_requests    whose first token came while it waited for its own, at the same server, warm-up too
-- ahead_tokens      prompt tokens computed for these
-- behind_seq        of these, the one of which most prompt tokens were computed; null: none
-- behind_class      its class
-- gpu_s             GPU-seconds; null where neither is known
-- gpu_by            how they are known: 'steps' of a rehearsal, or predicted 'work'
with known as (
    select
        *,
        coalesce(endpoint, '') as server,
        case when server_queue_s is not null and server_ttft_s is not null then server_queue_s end as queue_s,
        macros.computed_tokens(coalesce(input_tokens_reported, input_tokens), cached_tokens) as computed_tokens
    from staging.requests
    where is_sent
),

-- First tokens of a server in order of time. Those of one instant shared a step.
firsts as (
    select
        run_id,
        server,
        seq,
        class,
        computed_tokens,
        first_token_s,
        sent_s,
        row_number() over (partition by run_id, server order by first_token_s, seq) as place,
        rank() over (partition by run_id, server order by first_token_s) as step_place
    from known
    where first_token_s is not null
),

instants as (
    select
        run_id,
        server,
        first_token_s,
        min(place) as place
    from firsts
    group by
        run_id,
        server,
        first_token_s
),

-- Who got a first token between its sending and its own. A window over places: over time it took DuckDB seven times as long for a million rows.
ahead as (
    select
        firsts.run_id,
        firsts.seq,
        greatest(firsts.step_place - instants.place, 0) as requests,
        sum(firsts.computed_tokens) over while_it_waited as tokens,
        max({'tokens': firsts.computed_tokens, 'seq': -firsts.seq, 'class': firsts.class}) over while_it_waited as most
    from firsts
    asof join instants
        on instants.run_id = firsts.run_id
        and instants.server = firsts.server
        and instants.first_token_s > firsts.sent_s
    window while_it_waited as (
        partition by firsts.run_id, firsts.server
        order by firsts.first_token_s, firsts.seq
        rows between firsts.place - instants.place preceding and firsts.place - firsts.step_place + 1 preceding
    )
),

stalled as (
    select
        gaps.run_id,
        gaps.seq,
        count(*) as stalls,
        sum(gaps.itl_s - usual.value_s) as stall_s
    from staging.token_gaps as gaps
    inner join marts.latency_quantiles as usual on usual.run_id = gaps.run_id
        and usual.metric = 'itl_s'
        and usual.quantile = 0.5
    where gaps.itl_s > 2 * usual.value_s
    group by
        gaps.run_id,
        gaps.seq
),

-- What a request adds to the time in which its server has any.
busy as (
    select
        run_id,
        seq,
        greatest(last_token_s - greatest(sent_s, coalesce(max(last_token_s) over before_it, sent_s)), 0) as busy_s
    from known
    where is_success
        and not is_warm_up
    window before_it as (partition by run_id, server order by sent_s, seq rows between unbounded preceding and 1 preceding)
),

worked as (
    select
        known.run_id,
        known.seq,
        prompts.prompt_s + case
            when known.received_tokens >= 2
                then (known.received_tokens - 1) * (decoding.predicted_tpot_s - decoding.prefill_s) / decoding.mean_batch
            else 0
        end as work_s,
        sum(busy.busy_s) over of_server as busy_s,
        sum(work_s) over of_server as all_work_s
    from known
    inner join busy on busy.run_id = known.run_id and busy.seq = known.seq
    left join marts.ttft_gap as prompts on prompts.run_id = known.run_id and prompts.seq = known.seq
    left join marts.tpot_gap as decoding on decoding.run_id = known.run_id and decoding.seq = known.seq
    window of_server as (partition by known.run_id, known.server)
),

-- Of one server.
sized as (
    select
        run_id,
        case when not is_draft then coalesce(tensor_parallel_size, 1) * coalesce(deployment.data_parallel_size, 1) end as gpus
    from staging.runs
)

select
    tried.run_id,
    tried.seq,
    tried.class,
    tried.is_success,
    case when tried.run_id in (select objectives.run_id from staging.slo_objectives as objectives) then tried.is_success and misses.seq is null end as is_accepted,
    tried.wait_s,
    known.ttft_s,
    known.queue_s,
    case when known.queue_s is not null then known.server_ttft_s end as prefill_s,
    known.ttft_s - known.queue_s - known.server_ttft_s as outside_s,
    known.last_token_s - known.first_token_s - coalesce(stalled.stall_s, 0) as decode_s,
    case when known.seq is not null then coalesce(stalled.stall_s, 0) end as stall_s,
    case when known.seq is not null then coalesce(stalled.stalls, 0) end as stalls,
    known.e2e_s,
    coalesce(known.input_tokens_reported, known.input_tokens) as input_tokens,
    known.cached_tokens,
    case when known.shared_tokens >= 0 and known.cached_tokens >= 0 then greatest(known.shared_tokens - known.cached_tokens, 0) end as repeated_tokens,
    known.server_recomputed_tokens as recomputed_tokens,
    known.received_tokens,
    ahead.requests as ahead_requests,
    coalesce(ahead.tokens, case when ahead.requests = 0 then 0 end)::bigint as ahead_tokens,
    -ahead.most.seq as behind_seq,
    ahead.most.class as behind_class,
    sized.gpus * coalesce(known.server_engine_s, worked.work_s * worked.busy_s / nullif(worked.all_work_s, 0)) as gpu_s,
    case when gpu_s is null then null when known.server_engine_s is not null then 'steps' else 'work' end as gpu_by
from staging.requests as tried
inner join staging.runs on runs.run_id = tried.run_id
inner join sized on sized.run_id = tried.run_id
left join known on known.run_id = tried.run_id and known.seq = tried.seq and known.is_success
left join marts.slo_misses as misses on misses.run_id = tried.run_id and misses.seq = tried.seq
left join ahead on ahead.run_id = known.run_id and ahead.seq = known.seq
left join stalled on stalled.run_id = known.run_id and stalled.seq = known.seq
left join worked on worked.run_id = known.run_id and worked.seq = known.seq
where not tried.is_warm_up
    and macros.is_tried(tried.is_sent, tried.failure, runs.stopped_by)
