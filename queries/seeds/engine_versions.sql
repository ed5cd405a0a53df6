-- One row per engine, version and kind of GPU: what the engine takes for a server (not for offline work) where no flag says it.
-- A row holds from its version on until the next version that has rows.
-- group: model
-- engine                        as --engine takes it
-- from_version                  the first version that was looked up and has these defaults
-- least_memory_bytes            the smallest memory of GPUs that it is of, bytes
-- only_gpus                     how the names of its GPUs begin, separated by ';'; null: any
-- except_gpus                   how the names of GPUs begin that it is not of, separated by ';'; null: of none
-- max_num_seqs                  sequences that run at once
-- max_num_batched_tokens        tokens of one step; null: whole prompts, as long as the longest request and 2048 at least
-- long_max_num_batched_tokens   the same where a request may have more than 32768 tokens
-- is_async                      the next step is scheduled while the GPU works on this one
-- cuda_graphs                   which steps are replayed as CUDA graphs
-- source                        where in the source code of which versions
create table seeds.engine_versions (
    engine varchar not null,
    from_version varchar not null,
    least_memory_bytes double not null,
    only_gpus varchar,
    except_gpus varchar,
    max_num_seqs bigint not null,
    max_num_batched_tokens bigint,
    long_max_num_batched_tokens bigint,
    is_async boolean not null,
    cuda_graphs varchar not null,
    source varchar not null
);
