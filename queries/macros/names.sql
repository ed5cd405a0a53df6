-- Names of models, GPUs and formats as people paste them: from Hugging Face, from nvidia-smi, from a vLLM command line.
-- Two names are the same where their one spelling is; nothing is guessed from a part of a name, because Llama 3 8B is
-- neither Llama 2 7B nor a model that somebody merged from it.
-- group: configs

-- The one spelling of model names, which stand in one text with ';' between them: no organisation or folder, no case, one dash
-- between words and before a number. meta-llama/Meta-Llama-3.1-8B_Instruct: llama-3.1-8b-instruct.
--   select macros.model_spelling('meta-llama/Meta-Llama-3.1-8B_Instruct')
create macro macros.model_spelling(names) as
    regexp_replace(
        regexp_replace(
            regexp_replace(
                regexp_replace(
                    regexp_replace(
                        regexp_replace(rtrim(lower(trim(names)), '/'), '[^;]*(/|--)', '', 'g'), -- organisation, folder, models--org--name
                        '(\d)_(\d)', '\1.\2', 'g' -- Llama-3_3
                    ),
                    '[\s_:@-]+|\.([^0-9])', '-\1', 'g'
                ),
                '([a-z])(\d)', '\1-\2', 'g' -- llama3.1 is llama-3.1
            ),
            '-+', '-', 'g'
        ),
        '(^|;)meta-llama', '\1llama', 'g'
    );

-- All spellings of a model, of its name and its aliases, as a list.
--   select macros.model_spellings('llama-3.1-8b', 'meta-llama/Llama-3.1-8B;Meta-Llama-3.1-8B')
create macro macros.model_spellings(model, aliases) as
    string_split(macros.model_spelling(concat_ws(';', model, aliases)), ';');

-- The words at the end of a model's spelling that say how its weights are packed: -fp-8-dynamic; empty where there are none.
--   select macros.format_words('llama-3.1-8b-instruct-fp-8-dynamic')
create macro macros.format_words(spelling) as
    regexp_extract(
        spelling,
        '(-(nvfp-4|mxfp-4|fp-4|fp-8|bf-16|fp-16|float-?16|bfloat-?16|awq|gptq|int-\d|w-\d+a-\d+|\d-?bits?|quantized|dynamic|static|block|kv|marlin'
        || '|g-\d+|gs-\d+|\d+g|asym|sym|autoround|unsloth|bnb|nf-4|gguf|ggml|i?q-\d+|k|m|s|l|xs|xl|exl-\d|mlx|hqq|aqlm|torchao|onnx))+$'
    );

-- The format, in the names of seeds.formats, that these words say; null: none, or one that is not known. Qwen's own FP8
-- checkpoints have a scale for each block, those of others one for each tensor or channel.
--   select macros.worded_format('-awq', false)
create macro macros.worded_format(words, is_qwens) as case
    when regexp_full_match(words, '-fp-8') then case when is_qwens then 'fp8_block' else 'fp8' end
    when regexp_full_match(words, '-fp-8(-dynamic|-static)') then 'fp8'
    when regexp_full_match(words, '-fp-8-block') then 'fp8_block'
    when regexp_full_match(words, '-(nv)?fp-4') then 'nvfp4'
    when regexp_full_match(words, '-mxfp-4') then 'mxfp4'
    when regexp_full_match(words, '-b?(fp|f|float)-?16') then 'bf16'
    when regexp_full_match(words, '-awq(-int-4|-4-?bit|-w-4a-16)?(-g-128|-gs-128|-128g)?(-marlin)?|-int-4-awq') then 'awq'
    when regexp_full_match(words, '-gptq(-int-4|-4-?bit|-w-4a-16)?(-g-128|-gs-128|-128g)?(-marlin)?') then 'gptq'
    when regexp_full_match(words, '-gptq(-int-8|-8-?bit|-w-8a-16)(-g-128|-gs-128|-128g)?(-marlin)?') then 'w8a16'
    when regexp_full_match(words, '(-quantized)?-w-8a-8') then 'int8'
    when regexp_full_match(words, '(-quantized)?-w-8a-16') then 'w8a16'
    when regexp_full_match(words, '(-quantized)?-w-4a-16(-g-128|-gs-128)?') then 'gptq'
end;

-- The format that a model's name says. The lambdas here have the spelling planned once and not at each of its uses.
--   select macros.format_of_name('Qwen/Qwen3-8B-FP8')
create macro macros.format_of_name(name) as
    list_transform(
        [{
            'words': macros.format_words(macros.model_spelling(name))::varchar, -- without the cast, a macro's value loses its field's name
            'is_qwens': starts_with(lower(name), 'qwen/') or (not contains(name, '/') and starts_with(lower(name), 'qwen'))
        }],
        lambda said: macros.worded_format(said.words, said.is_qwens)
    )[1];

-- The spelling without the words of a format; null where the format that they say is not known.
--   select macros.bare_spelling('RedHatAI/Llama-3.1-8B-FP8')
create macro macros.bare_spelling(name) as
    case when macros.format_of_name(name) is not null
        then list_transform(
            [macros.model_spelling(name)],
            lambda spelling: left(spelling, len(spelling) - len(macros.format_words(spelling)))
        )[1]
    end;

-- vLLM's word for a way of packing can cover several formats, so such a word agrees with a model name that is more exact.
--   select macros.may_hold('compressed-tensors', 'fp8')
create macro macros.may_hold(word, format) as case lower(word)
    when 'compressed-tensors' then format in ('fp8', 'fp8_block', 'int8', 'w8a16', 'gptq', 'nvfp4')
    when 'modelopt' then format in ('fp8', 'nvfp4')
    when 'fp8' then format = 'fp8_block'
    when 'gptq' then format = 'w8a16'
    when 'gptq_marlin' then format = 'w8a16'
    else false
end;

-- Whether a row of seeds.formats is the format of the weights: as was asked (null: nothing), as the model's name says
-- (null: nothing), else as the checkpoint is. None is where the first two contradict each other.
--   select format from seeds.formats where macros.is_weight_format(format, aliases, 'fp8', null, 'bf16')
create macro macros.is_weight_format(format, aliases, asked, named_format, native_format) as case
    when asked is null then format = coalesce(named_format, native_format)
    when named_format is null then macros.is_named(format, aliases, asked)
    else format = named_format and (macros.is_named(format, aliases, asked) or macros.may_hold(asked, format))
end;

-- The one spelling of GPUs, in one text like that of models: no vendor, no case, one dash between words, the socket without its
-- generation. NVIDIA A100-SXM4-80GB: a100-sxm-80gb.
--   select macros.gpu_spelling('NVIDIA A100-SXM4-80GB')
create macro macros.gpu_spelling(names) as
    regexp_replace(
        regexp_replace(
            regexp_replace(
                regexp_replace(
                    regexp_replace(
                        regexp_replace(lower(trim(names)), '\((tm|r)\)|[®™]', '', 'g'),
                        '[\s_-]+', '-', 'g'
                    ),
                    '(^|;)((nvidia|amd|geforce|tesla|instinct)-)+', '\1', 'g'
                ),
                'sxm\d', 'sxm', 'g'
            ),
            '(\d)-gb', '\1gb', 'g'
        ),
        'rtx(\d)', 'rtx-\1', 'g'
    );

-- All spellings of a GPU, of its name and its aliases, as a list.
--   select macros.gpu_spellings('H100', 'H100 80GB HBM3')
create macro macros.gpu_spellings(gpu, aliases) as
    string_split(macros.gpu_spelling(concat_ws(';', gpu, aliases)), ';');

-- Whether `wanted` is a GPU's name or one of its aliases, however it is spelled.
--   select macros.is_gpu('H100', 'H100 80GB HBM3', 'NVIDIA H100 80GB HBM3')
create macro macros.is_gpu(gpu, aliases, wanted) as
    list_contains(macros.gpu_spellings(gpu, aliases), macros.gpu_spelling(wanted));

-- Whether a setting of a server follows from its others, or is a result: it is no change that somebody made.
--   select macros.is_derived_setting('num_gpu_blocks')
create macro macros.is_derived_setting(setting) as
    setting in ('num_gpu_blocks', 'kv_cache_tokens', 'block_size', 'model', 'simulates', 'cached_prompt_ratio');

-- A name as ingest writes that of a file: in kebab case. tpTwo_2: tp-two-2.
--   select macros.kebab('tpTwo_2')
create macro macros.kebab(name) as
    trim(regexp_replace(lower(regexp_replace(name, '(\p{Ll})(\p{Lu})', '\1-\2', 'g')), '[^\p{L}\p{Nd}.]+', '-', 'g'), '-.');
