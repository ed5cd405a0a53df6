-- One row per answer to "how much traffic does this take": of every search for capacity, of every row of 'what-if', and of every week's page.
--
-- Rates are of all replicas together, and their interval is a 90 % interval with the model's error in it. Two rehearsed answers with one answer_key
-- were asked the same, and say the same (checks.answers_agree). A newer answer does not replace an older one of another key: constants, a
-- calibration or another version of the program make another key.
-- group: money
-- verb               'capacity', 'what-if' or 'report'
-- answered_at        when; of a week its end is not known here, and it is null
-- origin             'measured'; 'simulated': the server said that it is a simulation; 'rehearsed': in virtual time, nothing was sent; of a week the
--                    origin of what its page rests on: 'predicted' where it was rehearsed for it
-- source_name        the trace or run whose traffic was asked about; of a week the service and the week
-- from_s             start of the window, seconds since the trace's first request; null of a week
-- until_s            its end, seconds
-- mode               'open', 'sessions' or 'closed'
-- searched_on        model, format and GPUs of one replica in words; null: not said
-- replicas           servers that shared the load
-- routing            how it was divided among them; null: not said
-- slo_name           what the user called the SLO
-- objectives         its objectives in words, in their order; null of a week
-- outcome            'found', 'above_max', 'below_min', 'not_possible', 'undecided' or 'invalid'
-- rate_per_s         largest rate within the SLO, requests per second; null: none was found. Of a week that of the hour with least to spare
-- rate_low_per_s     lower end of its 90 % interval
-- rate_high_per_s    upper end
-- binding_objective  the objective that ends it
-- answer_key         of a rehearsed answer of 'capacity' or 'what-if': names all that it follows from
-- tidemark_version   that answered; null: not said
select
    verb,
    last_event_at as answered_at,
    origin,
    source_name,
    from_s,
    until_s,
    mode,
    nullif(concat_ws(
        ' ', coalesce(catalog_model, served_model), quantization,
        'on ' || gpu || ' x' || coalesce(tensor_parallel_size, 1) * greatest(coalesce(deployment.data_parallel_size, 1), 1)
    ), '') as searched_on,
    replicas,
    routing,
    slo_name,
    objectives,
    outcome,
    rate_per_s,
    rate_low_per_s,
    rate_high_per_s,
    binding_objective,
    answer_key,
    tidemark_version
from staging.capacities
where outcome is not null
union all
select
    'report',
    null,
    document ->> '$.basis.kind',
    service || ' ' || week,
    null,
    null,
    'open',
    document ->> '$.deployment.in_words',
    (document ->> '$.replicas[#-1].replicas')::bigint,
    null,
    document ->> '$.slo.name',
    null,
    case when sums.headroom_ratio is null then 'undecided' else 'found' end,
    sums.peak_rate_per_s * (1 + sums.headroom_ratio),
    sums.peak_rate_per_s * (1 + sums.low_headroom_ratio),
    sums.peak_rate_per_s * (1 + sums.high_headroom_ratio),
    document ->> '$.basis.binding_objective',
    null,
    document ->> '$.version'
from staging.service_weeks
