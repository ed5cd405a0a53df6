-- One row per run, profile of it and category of kernels: its share of the GPU's kernel time, beside the share that the terms of the prediction
-- have. A profile is a run's where its name is the run's id or --name, both in kebab case, or that and the name of nsys's report
-- (RUN_cuda_gpu_kern_sum), or begins with the id and '_' (ingest --run does it). A --name stands for the one run of that name that had begun
-- when the profile was ingested; where there were several, the profile is of none of them: name the run with ingest --run.
--
-- A summary of nsys stats says no instants: the shares are of all that was captured, and the run's steady part cannot be cut out of them
-- (steady_from_s and steady_until_s say what would have to be captured). Terms go to the category whose kernels do most of their work: weights
-- and arithmetic to gemm, kv to attention, experts to moe experts, allreduce to nccl, layers to norm/elementwise. What prompts take is of gemm
-- and attention together and is not divided: it has a row 'prefill' of no kernels. Host time is not of the GPU and left out.
-- group: server
-- run_id                   the replay
-- source_name              the profile
-- category                 as in marts.kernel_shares, or 'prefill'
-- instances                launches; null of what is only predicted
-- total_s                  of all of them, seconds
-- share_ratio              of the time of all kernels of the profile
-- predicted_share_ratio    of the predicted time of the GPU; null of what no term stands for, or without a prediction
-- steady_from_s            where the run's steady part begins (marts.steady_windows), seconds since it began; null: it has none
-- steady_until_s           where it ends
with sources as (
    select
        source_name,
        ingested_at,
        macros.kebab(regexp_replace(macros.kebab(source_name), '(-(cuda-gpu(-kern)?(-gb)?-sum|gpu(kern)?(gb)?sum)|\.csv)$', '')) as of_run
    from staging.sources
    where source_name in (select source_name from marts.kernel_shares)
),

profiles as (
    select
        runs.run_id,
        sources.source_name
    from sources
    inner join staging.runs on sources.of_run = runs.run_id or starts_with(sources.source_name, runs.run_id || '_')
    union
    select
        any_value(runs.run_id),
        sources.source_name
    from sources
    inner join staging.runs on sources.of_run = macros.kebab(runs.name) and coalesce(runs.started_at < sources.ingested_at, true)
    where sources.of_run != ''
    group by sources.source_name
    having count(*) = 1
),

measured as (
    select
        profiles.run_id,
        profiles.source_name,
        shares.category,
        shares.instances,
        shares.total_s,
        shares.share_ratio
    from profiles
    inner join marts.kernel_shares as shares on shares.source_name = profiles.source_name
),

predicted as (
    select
        profiles.run_id,
        profiles.source_name,
        map {
            'weights': 'gemm', 'arithmetic': 'gemm', 'kv': 'attention', 'experts': 'moe experts', 'allreduce': 'nccl', 'layers': 'norm/elementwise',
            'prefill': 'prefill'
        }[terms.term] as category,
        sum(terms.mean_s) as mean_s
    from profiles
    inner join marts.tpot_terms as terms on terms.run_id = profiles.run_id
    where category is not null
    group by
        profiles.run_id,
        profiles.source_name,
        category
    having sum(terms.mean_s) > 0
),

predicted_shares as (
    select
        run_id,
        source_name,
        category,
        mean_s / sum(mean_s) over (partition by run_id, source_name) as share_ratio
    from predicted
)

select
    run_id,
    source_name,
    category,
    measured.instances,
    measured.total_s,
    measured.share_ratio,
    predicted_shares.share_ratio as predicted_share_ratio,
    windows.from_s as steady_from_s,
    windows.until_s as steady_until_s
from measured
full join predicted_shares using (run_id, source_name, category)
left join marts.steady_windows as windows using (run_id)
