-- What the labels of a series say of whom it is of: 'k="v",...' sorted by key.
-- group: server

-- Labels without the ranks whose series repeat one scheduler's: SGLang exposes each figure once for each rank of a tensor-, pipeline- or
-- context-parallel group. Data-parallel ranks (dp_rank, engine) stay: each has a scheduler of its own.
--   select macros.without_ranks('dp_rank="0",tp_rank="3"')
create macro macros.without_ranks(labels) as
    case
        when contains(labels, '_rank="') then ltrim(regexp_replace(labels, '(^|,)(tp_rank|pp_rank|cp_rank|moe_ep_rank)="[^"]*"', '', 'g'), ',')
        else labels
    end;

-- Labels without the process of a front end: of vLLM's several, one knows the engine's state and the others say 0.
--   select macros.without_processes('engine="0",pid="12"')
create macro macros.without_processes(labels) as ltrim(regexp_replace(labels, '(^|,)pid="[^"]*"', '', 'g'), ',');

-- Labels of a GPU alone, without the pods that share it; with its instance (MIG) where the figure is of an instance and not of the whole card.
-- Where no UUID tells GPUs apart, the exporter's address may.
--   select macros.gpu_labels('GPU_I_ID="7",UUID="GPU-a",pod="chat-0"', false)
create macro macros.gpu_labels(labels, is_of_instance) as
    array_to_string(
        list_filter(
            regexp_extract_all(labels, '[^=,]+="(?:[^"\\]|\\.)*"'),
            lambda pair: regexp_matches(pair, '^(UUID|uuid|gpu|gpu_index|index|Hostname|modelName)=')
                or is_of_instance and starts_with(pair, 'GPU_I_ID=')
                or not regexp_matches(labels, '(^|,)(UUID|uuid)=') and starts_with(pair, 'instance=')
        ),
        ','
    );
