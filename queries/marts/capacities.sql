-- One row per search for capacity: the largest multiple of a recorded window's traffic that a deployment takes within an SLO.
--
-- Its interval is a 90 % interval. The answer is for this window: one burst decides it, and another window has another answer. Rates are the multiple
-- times the window's mean rate, of all replicas together; per replica they are divided by the replicas, as if these shared the load evenly.
-- The runs are in marts.capacity_runs, the share of misses over the multiple in marts.capacity_curves, and pairs of searches that can be compared in
-- marts.capacity_pairs.
-- Published per source.
-- group: money
-- search_id                  the search
-- source_id                  number of its state file among the sources
-- source_name                the trace whose window was scaled
-- source_sha256              fingerprint of that trace
-- from_s                     start of the window, seconds since the trace's first request
-- until_s                    its end, seconds
-- window_requests            requests in it as recorded
-- window_rate_per_s          its mean rate as recorded, requests per second
-- mode                       'open', 'sessions' or 'closed'
-- scaled_by                  how the load was changed: 'sessions' (whole ones left out or cloned) or 'speed'
-- lengths                    'own', or 'mean': a control whose requests all have the average lengths of the window
-- origin                     'measured'; 'simulated': the server said that it is a simulation; 'rehearsed': in virtual time, nothing was sent
-- searched_on                model, format and GPUs in words; null: not said
-- gpu                        GPU as the user named it; null: not said, as in the next eight
-- catalog_model              model as the user named it
-- tensor_parallel_size       GPUs that share the model
-- quantization               format of the weights
-- kv_cache_dtype             format of the KV cache
-- engine                     'vllm', ...
-- engine_version             as the user or the server said
-- max_num_seqs               sequences that the engine runs at once
-- max_num_batched_tokens     tokens of one engine step
-- replicas                   servers that shared the load
-- routing                    how it was divided among them
-- slo_name                   what the user called the SLO
-- objectives                 its objectives in words, in their order: 'p99 ttft_from_due at most 1.00 s; p99 tpot at most 60.0 ms'
-- outcome                    'found', 'above_max', 'below_min', 'not_possible', 'undecided' or 'invalid'; null: it has not ended
-- scale                      largest multiple of the window's traffic within the SLO; in a closed loop the concurrency; null: none was found
-- scale_low                  lower end of its 90 % interval; of above_max the largest multiple that was allowed
-- scale_high                 upper end
-- rate_per_s                 scale times the window's rate, requests per second; null of a closed loop
-- rate_low_per_s             lower end of its 90 % interval
-- rate_high_per_s            upper end
-- rate_per_replica_per_s       rate_per_s / replicas
-- rate_low_per_replica_per_s   rate_low_per_s / replicas
-- rate_high_per_replica_per_s  rate_high_per_s / replicas
-- binding_objective          the objective that ends it, as in marts.slo: 'p99 ttft_from_due'
-- allowed_ratio              share of requests that may miss that objective; null of a mean
-- predicted_scale            multiple that was predicted before the first run
-- confirmed                  a last run at scale_low held (true) or did not (false); null: it could not tell, or there was none
-- users                      sessions under way at a time at scale, on average
-- concurrency                of a closed loop: requests in flight at scale
-- runs                       runs that ended
-- run_ids                    their ids, in order; empty of a rehearsed search
-- load_s                     seconds in which load was sent
-- budget_s                   load might be sent for so long, seconds
-- precision_ratio            asked half width of the interval, in ln of the multiple
-- max_scale                  largest multiple that was allowed
-- is_weak                    found without a usable model of the server: the interval is wide, and less sure than it says
-- why                        of an outcome other than found: what stands in the way
-- minutes_enough             undecided: minutes of load, all runs together, that would probably do
-- notes                      what else a reader must know
-- tidemark_version           the version that searched; null: not said
-- started_at                 when it began
-- ended_at                   when it had its answer; null: it has not ended
select
    search_id,
    source_id,
    source_name,
    source_sha256,
    from_s,
    until_s,
    window_requests,
    window_rate_per_s,
    mode,
    scaled_by,
    lengths,
    origin,
    nullif(concat_ws(
        ' ',
        coalesce(catalog_model, served_model),
        quantization,
        'on ' || case when replicas > 1 then replicas || ' times ' else '' end || gpu || ' x'
        || coalesce(tensor_parallel_size, 1) * greatest(coalesce(deployment.data_parallel_size, 1), 1)
    ), '') as searched_on,
    gpu,
    catalog_model,
    tensor_parallel_size,
    quantization,
    kv_cache_dtype,
    engine,
    engine_version,
    max_num_seqs,
    max_num_batched_tokens,
    replicas,
    routing,
    slo_name,
    objectives,
    outcome,
    scale,
    scale_low,
    scale_high,
    rate_per_s,
    rate_low_per_s,
    rate_high_per_s,
    rate_per_s / replicas as rate_per_replica_per_s,
    rate_low_per_s / replicas as rate_low_per_replica_per_s,
    rate_high_per_s / replicas as rate_high_per_replica_per_s,
    binding_objective,
    allowed_ratio,
    predicted_scale,
    is_confirmed as confirmed,
    users,
    concurrency,
    len(runs) as runs,
    [run.run_id for run in runs] as run_ids,
    load_s,
    budget_s,
    precision_ratio,
    max_scale,
    is_weak,
    why,
    minutes_enough,
    notes,
    tidemark_version,
    started_at,
    case when outcome is not null then last_event_at end as ended_at
from staging.capacities
where verb = 'capacity'
