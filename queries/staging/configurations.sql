-- One row per study and configuration: what its repeats say, beside the study's baseline.
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
-- gpus                   of all replicas
-- usd_per_million_accepted   US dollars per million accepted output tokens at rate_per_s
-- token_per_joule        output tokens per joule that was measured, at the largest rate within the SLO that was sent; null: nobody measured the power
-- joule_per_token        its inverse
-- why                    it has no figures, or is rejected: it failed to start, does not fit, was not near the best
-- headline               of the study
-- finished_at            when the study was
with rows as (
    select
        study,
        document,
        generate_subscripts((document -> '$.configurations')::json[], 1) - 1 as place,
        unnest((document -> '$.configurations')::json[]) as configuration
    from raw.studies
)

select
    study,
    place,
    configuration ->> '$.step' as step,
    configuration ->> '$.configuration' as configuration,
    coalesce((configuration -> '$.settings')::varchar[], []) as settings,
    coalesce((configuration ->> '$.is_control')::boolean, false) as is_control,
    nullif(configuration ->> '$.origin', '') as origin,
    len(list_filter((configuration -> '$.repeats')::json[], lambda repeat: (repeat ->> '$.low_per_s')::double > 0 or (repeat ->> '$.high_per_s') is not null)) as repeats,
    (json_array_length(configuration -> '$.repeats') - repeats)::bigint as unanswered_repeats,
    (configuration ->> '$.rate_per_s')::double as rate_per_s,
    (configuration ->> '$.rate_low_per_s')::double as rate_low_per_s,
    (configuration ->> '$.rate_high_per_s')::double as rate_high_per_s,
    (configuration ->> '$.rate_change_ratio')::double as rate_change_ratio,
    (configuration ->> '$.rate_change_low_ratio')::double as rate_change_low_ratio,
    (configuration ->> '$.rate_change_high_ratio')::double as rate_change_high_ratio,
    (configuration ->> '$.is_difference_shown')::boolean as is_difference_shown,
    nullif(configuration ->> '$.binding_objective', '') as binding_objective,
    (configuration ->> '$.users')::double as users,
    (configuration ->> '$.kv_tokens')::double as kv_tokens,
    nullif((document ->> '$.at_rate_per_s')::double, 0) as at_rate_per_s,
    (configuration ->> '$.p99_ttft_s')::double as p99_ttft_s,
    (configuration ->> '$.p99_tpot_s')::double as p99_tpot_s,
    (configuration ->> '$.p99_itl_s')::double as p99_itl_s,
    (configuration ->> '$.gpus')::bigint as gpus,
    (configuration ->> '$.usd_per_million_accepted')::double as usd_per_million_accepted,
    (configuration ->> '$.token_per_joule')::double as token_per_joule,
    1 / nullif(token_per_joule, 0) as joule_per_token,
    nullif(configuration ->> '$.why', '') as why,
    document ->> '$.headline' as headline,
    (document ->> '$.finished_at')::timestamptz as finished_at
from rows
