-- What does a million accepted output tokens cost?
--
-- One row per run with an SLO. A request is accepted if it is successful and within every objective; the cost is null where the SLO is
-- not met, because then it has no meaning. The price is the SLO's own or the catalogue's (price_from).
-- group: money
select
    run_id,
    slo_name,
    outcome,
    accepted_ratio,
    goodput_per_s,
    accepted_output_tokens,
    gpus,
    price_per_gpu_hour,
    price_from,
    cost_per_million_accepted_tokens
from marts.goodput
order by
    cost_per_million_accepted_tokens nulls last,
    run_id
