-- One row per study, or result of the verb tune, and configuration: what it takes within the SLO, what differs from the baseline, and whether another beats it.
--
-- A configuration beats another that takes no more requests per second and GPU, whose p99 TPOT at the study's rate is no shorter, and that is worse in one
-- of the two; without p99 the rate alone counts. One that lacks a figure that the study has beats nothing and is not beaten. It is by the figures alone: is_difference_shown says
-- whether the repeats show as much.
-- group: tools
-- study                  as its file calls it
-- place                  0-based place in the study; 0 is the baseline
-- step                   that measured it
-- configuration          its name
-- settings               that differ from the baseline's, in words
-- is_control             the baseline again: it must not differ
-- origin                 'rehearsed', 'simulated', 'measured', or 'imported' from results of other tools
-- repeats                on traffic that was drawn anew, that gave an answer
-- unanswered_repeats     that gave none: their server died, or no run counted; why says it
-- rate_per_s             largest rate within the SLO, requests per second; null: none was
-- rate_low_per_s         lower end of its 90 % interval over the repeats
-- rate_high_per_s        upper end; null: no limit was found
-- rate_change_ratio      of it against the baseline, less one
-- rate_change_low_ratio, rate_change_high_ratio   ends of a 90 % interval; null: the repeats leave no such end
-- is_difference_shown    the repeats show that it differs from the baseline; null of the baseline
-- binding_objective      that ends it, as in marts.slo
-- users                  sessions under way at a time at that rate
-- kv_tokens              that the KV cache of one replica holds, as the engine model has it
-- at_rate_per_s          requests per second at which p99 are compared; null: they are not
-- p99_ttft_s, p99_tpot_s, p99_itl_s   at that rate, seconds
-- p99_ttft_change_ratio, p99_tpot_change_ratio, p99_itl_change_ratio   against the baseline, less one
-- gpus                   of all replicas
-- rate_per_gpu_per_s     rate_per_s / gpus
-- linear_ratio           of that to the baseline's: 1 is as good as linear
-- usd_per_million_accepted   US dollars per million accepted output tokens at rate_per_s
-- token_per_joule        output tokens per joule that was measured, at the largest rate within the SLO that was sent; null: nobody measured the power
-- joule_per_token        its inverse
-- why                    it has no figures, or is rejected: it failed to start, does not fit, was not near the best
-- headline               of the study
-- finished_at            when the study was
-- beaten_by              configurations that beat it; null where it has no figures, and of controls
-- is_unbeaten            none beats it
with compared as (
    select
        mine.*,
        mine.rate_per_s / mine.gpus as rate_per_gpu_per_s,
        mine.p99_ttft_s / base.p99_ttft_s - 1 as p99_ttft_change_ratio,
        mine.p99_tpot_s / base.p99_tpot_s - 1 as p99_tpot_change_ratio,
        mine.p99_itl_s / base.p99_itl_s - 1 as p99_itl_change_ratio,
        rate_per_gpu_per_s / (base.rate_per_s / base.gpus) as linear_ratio,
        case when count(mine.p99_tpot_s) over (partition by mine.study) = 0 then 0 else mine.p99_tpot_s end as cost_s,
        not mine.is_control and isfinite(mine.rate_per_s) and isfinite(cost_s) as is_whole
    from staging.configurations as mine
    left join staging.configurations as base on base.study = mine.study and base.place = 0
),

beaten as (
    select
        mine.study,
        mine.place,
        count(theirs.place) as beaten_by
    from compared as mine
    left join compared as theirs
        on theirs.study = mine.study
        and theirs.place <> mine.place
        and theirs.is_whole
        and theirs.rate_per_gpu_per_s >= mine.rate_per_gpu_per_s
        and theirs.cost_s <= mine.cost_s
        and (theirs.rate_per_gpu_per_s > mine.rate_per_gpu_per_s or theirs.cost_s < mine.cost_s)
    where mine.is_whole
    group by
        mine.study,
        mine.place
)

select
    compared.study,
    compared.place,
    compared.step,
    compared.configuration,
    compared.settings,
    compared.is_control,
    compared.origin,
    compared.repeats,
    compared.unanswered_repeats,
    compared.rate_per_s,
    compared.rate_low_per_s,
    compared.rate_high_per_s,
    compared.rate_change_ratio,
    compared.rate_change_low_ratio,
    compared.rate_change_high_ratio,
    compared.is_difference_shown,
    compared.binding_objective,
    compared.users,
    compared.kv_tokens,
    compared.at_rate_per_s,
    compared.p99_ttft_s,
    compared.p99_tpot_s,
    compared.p99_itl_s,
    compared.p99_ttft_change_ratio,
    compared.p99_tpot_change_ratio,
    compared.p99_itl_change_ratio,
    compared.gpus,
    compared.rate_per_gpu_per_s,
    compared.linear_ratio,
    compared.usd_per_million_accepted,
    compared.token_per_joule,
    compared.joule_per_token,
    compared.why,
    compared.headline,
    compared.finished_at,
    beaten.beaten_by,
    coalesce(beaten.beaten_by = 0, false) as is_unbeaten
from compared
left join beaten
    on beaten.study = compared.study
    and beaten.place = compared.place
