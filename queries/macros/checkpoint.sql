-- group: configs

-- A checkpoint of Hugging Face's as it lies on disk, as a struct: its config.json, its hf_quant_config.json (null:
-- none), and total_size of its model.safetensors.index.json (null: not known).
--   config    what of it is read, JSON
--   problems  why it cannot be used, in sentences; empty where it can
--   bytes     what its weights weigh by the config
-- It is no table macro: DuckDB 1.5 loses the names of lambdas in those where a statement has parameters.
--   select macros.checkpoint('{"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
--       "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}', null, null).bytes
create macro macros.checkpoint(of_config, of_quantization, of_total_bytes) as (
select {
    'config': kept.config,
    'problems': case
        when len(kept.problems) > 0 then kept.problems
        -- Models that see or hear have more weights than those of the language model.
        when of_total_bytes / kept.bytes < 0.97e0
            or (of_total_bytes / kept.bytes > 1.03e0 and not kept.has_encoder)
            then [format(
                'its weights would weigh {:.4g} GB by the config, and model.safetensors.index.json says {:.4g} GB',
                kept.bytes / 1e9, of_total_bytes / 1e9
            )]
        else []::varchar[]
    end,
    'bytes': kept.bytes
}
from (
    select
        read.config,
        macros.model_problems(read.config) as problems,
        macros.config_bytes(read.config) as bytes,
        read.has_encoder
    from (
        select
            -- Nulls go: what a config says is null is not said.
            json_merge_patch('{}', to_json(macros.model_keys(macros.quantized_config(of_config, of_quantization))))::varchar as config,
            json_exists(of_config, '$.vision_config') or json_exists(of_config, '$.audio_config') as has_encoder
    ) as read
) as kept
);

-- A config.json with its quantization_config filled in from ModelOpt's hf_quant_config.json, because ModelOpt writes how it quantized
-- into a file of its own.
--   select macros.quantized_config('{"model_type": "llama"}', '{"quantization": {"quant_algo": "FP8"}}')
create macro macros.quantized_config(config, quantization) as
    case when quantization is null then config::json
        else json_merge_patch(config::json, json_object('quantization_config', json_merge_patch(
            '{"quant_method": "modelopt"}',
            coalesce(quantization::json->'quantization', quantization::json)
        )))
    end;
