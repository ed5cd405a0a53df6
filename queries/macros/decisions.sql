-- What a decision follows from.
-- group: money

-- What is said of a configuration, as sorted 'name=value'. What is not said, and a degree of 1, is the default and left out, and so is the engine's
-- version.
--   select macros.configuration_fields({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'max_num_seqs': 64})
create macro macros.configuration_fields(deployment) as
    list_sort(list_filter(
        list_transform(
            json_keys(to_json(deployment)),
            lambda field: field || '=' || coalesce(json_extract_string(to_json(deployment), '$.' || field), '')
        ),
        lambda said: not regexp_matches(said, '^engine_version=|=(0|0[.]0)?$|_size=1$')
    ));

-- The same for people, beside the words that say what a run was measured on: without GPU, model and format of the weights.
--   select macros.configuration_settings({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'max_num_seqs': 64})
create macro macros.configuration_settings(deployment) as
    list_aggregate(list_filter(
        macros.configuration_fields(deployment), lambda said: not regexp_matches(said, '^(gpu|catalog_model|quantization)=')
    ), 'string_agg', ' ');

-- A configuration in twelve characters: the same for runs of one GPU, model, parallelism, formats, engine and limits, in upper and lower
-- case. The engine's version is no part of it, so that a configuration that was rejected says so under the next version too. Null where GPU
-- or model is not known.
--   select macros.configuration_fingerprint({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b', 'max_num_seqs': 64})
create macro macros.configuration_fingerprint(deployment) as
    case
        when coalesce(to_json(deployment) ->> '$.gpu', '') <> '' and coalesce(to_json(deployment) ->> '$.catalog_model', '') <> ''
            then left(md5(lower(list_aggregate(macros.configuration_fields(deployment), 'string_agg', ' '))), 12)
    end;

-- The path through seeds.decision_tree by facts, JSON such as {"is_valid": true}; a fact that is missing or null is not known. One row per
-- question and one for the place where it stops.
--   select step, node from macros.decision_path('{"is_valid": false}')
create macro macros.decision_path(facts) as table
with recursive walked as (
    select
        0 as step,
        tree,
        json_extract_string(facts, '$.' || tree.fact)::boolean as answer
    from seeds.decision_tree as tree
    where tree.node = 'valid'
    union all
    select
        walked.step + 1,
        next,
        json_extract_string(facts, '$.' || next.fact)::boolean
    from walked
    inner join seeds.decision_tree as next
        on next.node = case
            when walked.answer is null then walked.tree.if_unknown
            when walked.answer then walked.tree.if_yes
            else walked.tree.if_no
        end
)

select
    step,
    tree.node,
    tree.question,
    case when tree.question is not null then case when answer is null then 'not known' when answer then 'yes' else 'no' end end as answer,
    tree.status,
    tree.rule
from walked;
