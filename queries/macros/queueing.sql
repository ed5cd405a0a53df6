-- Queues by formula, in seconds. The utilization is offered load over capacity, rate_per_s * service_s / servers:
-- never how busy a GPU looks (SM_ACTIVE and its like are busy shares of hardware that serves a whole batch at once).
-- A cv is a standard deviation over its mean: 1 for exponential times, 0 where all are equal.
-- A wait is null if the utilization is 1 or more, or negative: then there is no steady state, and a backlog grows. The formulas and their limits
-- are in any textbook, such as Kleinrock, Queueing Systems (1975), and Harchol-Balter, Performance Modeling (2013).
-- group: queues

-- Mean wait over mean service of one server, Poisson arrivals, exponential service (M/M/1).
--   select macros.single_wait_ratio(0.8)
create macro macros.single_wait_ratio(utilization) as
    case when utilization >= 0 and utilization < 1 then utilization::double / (1 - utilization) end;

-- Mean wait for one server, Poisson arrivals, any service (M/G/1, Pollaczek-Khinchine):
-- rate * E[S^2] / (2 (1 - utilization)), with E[S^2] = service_s^2 (1 + cv^2).
--   select macros.pollaczek_khinchine_s(4, 0.2, 1)
create macro macros.pollaczek_khinchine_s(rate_per_s, service_s, service_cv) as
    case
        when rate_per_s * service_s >= 0 and rate_per_s * service_s < 1
            then rate_per_s * service_s::double * service_s * (1 + service_cv * service_cv) / (2 * (1 - rate_per_s * service_s))
    end;

-- Mean time in a server that all requests share equally (processor sharing, M/G/1-PS), for a request that takes service_s alone: it does
-- not depend on the distribution of service.
--   select macros.shared_time_s(2, 0.5)
create macro macros.shared_time_s(service_s, utilization) as
    case when utilization >= 0 and utilization < 1 then service_s::double / (1 - utilization) end;

-- Share of arrivals that find all of `servers` busy and are lost (Erlang B), load_servers = rate_per_s * service_s. By the recursion
-- B(c) = a B(c-1) / (c + a B(c-1)), whose numbers stay small where powers and factorials do not.
--   select macros.erlang_b(10, 8)
create macro macros.erlang_b(servers, load_servers) as
    list_reduce(
        list_concat([1e0], [i::double for i in range(1, servers::bigint + 1)]),
        lambda blocked, busy: load_servers * blocked / (busy + load_servers * blocked)
    );

-- Share of arrivals that wait for one of `servers` (M/M/c, Erlang C).
--   select macros.erlang_c(10, 8)
create macro macros.erlang_c(servers, load_servers) as
    case
        when load_servers >= 0 and load_servers < servers
            then macros.erlang_b(servers, load_servers)
                / (1 - load_servers::double / servers * (1 - macros.erlang_b(servers, load_servers)))
    end;

-- Mean wait for one of `servers` (M/M/c), seconds.
--   select macros.slot_wait_s(4, 2, 10)
create macro macros.slot_wait_s(rate_per_s, service_s, servers) as
    macros.erlang_c(servers, rate_per_s * service_s) * service_s / (servers - rate_per_s * service_s);

-- Mean wait for one of `servers` for uneven arrivals and any service (G/G/c, by Kingman 1961 and Allen and Cunneen 1978), seconds: an
-- approximation, poor above a utilization of 0.95 and where the rate changes within minutes.
--   select macros.uneven_wait_s(4, 2, 10, 2, 1)
create macro macros.uneven_wait_s(rate_per_s, service_s, servers, arrival_cv, service_cv) as
    (arrival_cv * arrival_cv + service_cv * service_cv) / 2 * macros.slot_wait_s(rate_per_s, service_s, servers);

-- Requests that wait after for_s seconds of overload; 0 if there is no overload.
--   select macros.backlog_requests(12, 10, 60)
create macro macros.backlog_requests(rate_per_s, capacity_per_s, for_s) as
    greatest(0e0, (rate_per_s - capacity_per_s) * for_s::double);

-- Seconds until a backlog is gone at a lower rate; null where it never goes.
--   select macros.recovery_s(120, 8, 10)
create macro macros.recovery_s(backlog_requests, rate_per_s, capacity_per_s) as
    case
        when backlog_requests = 0 then 0e0
        when rate_per_s < capacity_per_s then backlog_requests::double / (capacity_per_s - rate_per_s)
    end;

-- One row per formula that speaks of so many servers, with what it is good for. time_s is the wait and the service,
-- waiting_ratio the share of requests that wait at all, null where the formula does not say.
--   select model, wait_s, use_for from macros.queue_models(4, 0.2, 1, 1, 1)
create macro macros.queue_models(of_rate_per_s, of_service_s, of_servers, of_arrival_cv, of_service_cv) as table
with asked as (
    select
        of_rate_per_s::double as rate_per_s,
        of_service_s::double as service_s,
        of_servers::bigint as servers,
        of_arrival_cv::double as arrival_cv,
        of_service_cv::double as service_cv,
        of_rate_per_s::double * of_service_s / of_servers as utilization
),

waits as (
    select
        1 as seq,
        'M/M/1' as model,
        asked.*,
        macros.single_wait_ratio(utilization) * service_s as wait_s,
        utilization as waiting_ratio,
        'an intuition in one line' as use_for,
        'a server that batches' as not_for
    from asked
    where servers = 1
    union all
    select
        2,
        'M/G/1',
        asked.*,
        macros.pollaczek_khinchine_s(rate_per_s, service_s, service_cv),
        utilization,
        'the prefill stage: one prompt after the other',
        'decoding'
    from asked
    where servers = 1
    union all
    select
        3,
        'M/G/1-PS',
        asked.*,
        macros.shared_time_s(service_s, utilization) - service_s,
        null,
        'decoding below the limit of slots or KV cache',
        'TTFT'
    from asked
    where servers = 1
    union all
    select
        4,
        'G/G/1',
        asked.*,
        macros.uneven_wait_s(rate_per_s, service_s, 1, arrival_cv, service_cv),
        null,
        'the prefill stage, with bursts',
        'a utilization above 0.95, minutes of changing rate: replay instead'
    from asked
    where servers = 1
    union all
    select
        5,
        'M/M/c',
        asked.*,
        macros.slot_wait_s(rate_per_s, service_s, servers),
        macros.erlang_c(servers, rate_per_s * service_s),
        'slots at their limit: max_num_seqs or the KV cache',
        'below that limit: no slot is waited for'
    from asked
    where servers > 1
    union all
    select
        6,
        'G/G/c',
        asked.*,
        macros.uneven_wait_s(rate_per_s, service_s, servers, arrival_cv, service_cv),
        null,
        'slots at their limit, with bursts',
        'a utilization above 0.95, minutes of changing rate: replay instead'
    from asked
    where servers > 1
)

select
    seq,
    model,
    servers,
    rate_per_s,
    service_s,
    arrival_cv,
    service_cv,
    utilization as utilization_ratio,
    case when utilization < 1 then waiting_ratio end as waiting_ratio,
    wait_s / service_s as wait_service_ratio,
    wait_s,
    wait_s + service_s as time_s,
    use_for,
    not_for
from waits;
