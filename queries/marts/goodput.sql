-- One row per run that carries an SLO: how many requests were accepted, and what their output tokens cost.
--
-- A request is accepted if it is successful and within every objective of its class (marts.slo_misses). Warm-up is left out. The price of a GPU is the SLO's, or the catalogue's if the SLO names none. Cost is null
-- unless the SLO is met, because otherwise it has no meaning.
-- Kept per run with objectives.
-- group: money
-- run_id                        the replay
-- slo_name                      what the user called the SLO
-- outcome                       of all objectives together, as in marts.verdicts
-- tried                         requests that were sent or failed, and those not sent because no server was left; those cut short by the user left out
-- accepted                      of these, accepted
-- accepted_ratio                accepted / tried
-- goodput_per_s                 accepted requests per second of the run's window
-- steady_accepted_ratio         the same share of what ended in the run's steady part (marts.steady_windows has the rule); null where it has none
-- steady_goodput_per_s          accepted requests that ended in it, per second of it
-- accepted_output_tokens        their tokens; null where the count of some is not known
-- gpus                          of all endpoints; null where the run does not say on what it was
-- price_per_gpu_hour            in US dollars by the catalogue; in whatever currency by the SLO; null where neither has one
-- price_from                    'SLO', or the label of the catalogue's price
-- cost_per_million_accepted_tokens   of the GPUs over the run's window, per million accepted output tokens; null where the SLO is not met
with outcomes as (
    select
        run_id,
        slo_name,
        outcome
    from marts.verdicts
    where run_id in (select run_id from staging.slo_objectives)
),

accepted as (
    select
        requests.run_id,
        count(*) as tried,
        count(*) filter (where requests.is_success and beyond.seq is null) as accepted,
        case
            when count(*) filter (where requests.is_success and beyond.seq is null and requests.received_tokens is null) = 0
                then (sum(requests.received_tokens) filter (where requests.is_success and beyond.seq is null))::double
        end as output_tokens,
        count(*) filter (where requests.is_success and beyond.seq is null and steady.run_id is not null) as steady_accepted,
        count(steady.run_id) as steady_tried,
        any_value(steady.until_s - steady.from_s) as steady_s
    from staging.requests
    inner join staging.runs on runs.run_id = requests.run_id
    left join marts.slo_misses as beyond on beyond.run_id = requests.run_id and beyond.seq = requests.seq
    left join marts.steady_windows as steady
        on steady.run_id = requests.run_id
        and coalesce(requests.done_s, requests.last_token_s, requests.sent_s) between steady.from_s and steady.until_s
    where requests.run_id in (select run_id from outcomes)
        and not requests.is_warm_up
        and macros.is_tried(requests.is_sent, requests.failure, runs.stopped_by)
    group by requests.run_id
),

priced as (
    select
        outcomes.run_id,
        coalesce(own.price_per_gpu_hour, prices.usd_per_gpu_hour) as price_per_gpu_hour,
        case when own.price_per_gpu_hour is not null then 'SLO' else prices.label end as price_from
    from outcomes
    inner join staging.slo_objectives as own on own.run_id = outcomes.run_id and own.objective = 1
    inner join staging.runs on runs.run_id = outcomes.run_id
    left join staging.deployments on deployments.run_id = outcomes.run_id
    left join macros.prices() as prices on prices.gpu = coalesce(deployments.gpu, runs.gpu) and prices.place = 1
)

select
    outcomes.run_id,
    outcomes.slo_name,
    outcomes.outcome,
    coalesce(accepted.tried, 0) as tried,
    coalesce(accepted.accepted, 0) as accepted,
    accepted.accepted / accepted.tried as accepted_ratio,
    accepted.accepted / nullif(runs.window_s, 0) as goodput_per_s,
    accepted.steady_accepted / nullif(accepted.steady_tried, 0) as steady_accepted_ratio,
    accepted.steady_accepted / accepted.steady_s as steady_goodput_per_s,
    accepted.output_tokens as accepted_output_tokens,
    sized.gpus,
    priced.price_per_gpu_hour,
    priced.price_from,
    case
        when outcomes.outcome = 'met'
            then priced.price_per_gpu_hour * sized.gpus * runs.window_s / 3600 / nullif(accepted.output_tokens, 0) * 1e6
    end as cost_per_million_accepted_tokens
from outcomes
inner join marts.runs on runs.run_id = outcomes.run_id
inner join staging.runs as sized on sized.run_id = outcomes.run_id
inner join priced on priced.run_id = outcomes.run_id
left join accepted on accepted.run_id = outcomes.run_id
