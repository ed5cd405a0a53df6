-- What an engine takes where no flag says it, by its version and its GPU.
-- group: model

-- Whether a GPU's name begins as one of these texts, separated by ';'.
--   select macros.begins_as('H100-PCIe', 'H100;H200')
create macro macros.begins_as(gpu, beginnings) as
    regexp_matches(gpu, '^(' || replace(beginnings, ';', '|') || ')', 'i');

-- What macros.engine_defaults answers to many questions, structs of its arguments: engine, version, gpu, memory_bytes, context_tokens.
--   select question.version, max_num_seqs from macros.engine_defaults_of([{'engine': 'vllm', 'version': '0.12.0', 'gpu': 'H100',
--       'memory_bytes': 85.5e9, 'context_tokens': 131072}])
create macro macros.engine_defaults_of(questions) as table
select
    asked.question,
    defaults.from_version as engine_version,
    defaults.max_num_seqs,
    case
        when asked.question.context_tokens > 32768 and defaults.long_max_num_batched_tokens is not null then defaults.long_max_num_batched_tokens
        when defaults.max_num_batched_tokens is not null then defaults.max_num_batched_tokens
        when asked.question.context_tokens is not null then greatest(asked.question.context_tokens, 2048)
    end as max_num_batched_tokens,
    defaults.max_num_batched_tokens is null
    and (coalesce(asked.question.context_tokens, 0) <= 32768 or defaults.long_max_num_batched_tokens is null) as has_whole_prompts,
    defaults.is_async,
    defaults.cuda_graphs,
    defaults.source
from (select distinct unnest(questions) as question) as asked
inner join seeds.engine_versions as defaults
    on defaults.engine = asked.question.engine
    and macros.version_number(defaults.from_version) <= coalesce(macros.version_number(asked.question.version), 1e9)
    and defaults.least_memory_bytes <= asked.question.memory_bytes
    and (defaults.only_gpus is null or macros.begins_as(asked.question.gpu, defaults.only_gpus))
    and (defaults.except_gpus is null or not macros.begins_as(asked.question.gpu, defaults.except_gpus))
qualify row_number() over (
    partition by asked.question
    order by macros.version_number(defaults.from_version) desc, defaults.only_gpus is null, defaults.least_memory_bytes desc
) = 1;

-- The one row of seeds.engine_versions that holds; of no known version (null) the newest. No row for an engine, or for a version before
-- all that are known.
--   engine_version           the row's from_version
--   max_num_seqs             sequences that run at once
--   max_num_batched_tokens   tokens of one step; null where prompts are whole and the longest request is not known
--   has_whole_prompts        a prompt is not cut into chunks
--   is_async, cuda_graphs, source   as in the seed
--   select max_num_seqs, max_num_batched_tokens from macros.engine_defaults('vllm', '0.12.0', 'H100', 85.5e9, 131072)
create macro macros.engine_defaults(of_engine, of_version, of_gpu, of_memory_bytes, of_context_tokens) as table
select * exclude (question)
from macros.engine_defaults_of([{
    'engine': of_engine, 'version': of_version::varchar, 'gpu': of_gpu, 'memory_bytes': of_memory_bytes, 'context_tokens': of_context_tokens::bigint
}]);
