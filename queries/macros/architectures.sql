-- What a family of models does where its config.json is silent, by its model_type. No
-- entry: the family is unknown, and nothing is guessed.
-- group: configs

-- mlp_matrices     3: gate, up and down (SwiGLU, GeGLU); 2: up and down
-- is_tied          the output head is the embedding table where tie_word_embeddings is not said: the class's default
-- window_every     of so many layers one sees the whole context, the last; 0: the window holds for all; null: the family has none
-- learned_places   rows of a learned table of positions beyond max_position_embeddings; null: no such table
-- Source: configuration_<family>.py and modeling_<family>.py of Hugging Face transformers 4.57; hy_v3, glm4_moe_lite, glm_moe_dsa: 5.19; deepseek_v32: as deepseek_v3.
--   select macros.architecture('llama').mlp_matrices
create macro macros.architecture(model_type) as map {
    'llama': macros.family(3, false, null, null),
    'mistral': macros.family(3, false, 0, null),
    'ministral': macros.family(3, false, 0, null),
    'ministral3': macros.family(3, false, 0, null),
    'mixtral': macros.family(3, false, 0, null),
    'qwen2': macros.family(3, false, 0, null),
    'qwen2_moe': macros.family(3, false, 0, null),
    'qwen2_vl_text': macros.family(3, false, 0, null),
    'qwen2_5_vl_text': macros.family(3, false, 0, null),
    'qwen3': macros.family(3, false, 0, null),
    'qwen3_moe': macros.family(3, false, 0, null),
    'qwen3_vl_text': macros.family(3, false, 0, null),
    'qwen3_vl_moe_text': macros.family(3, false, 0, null),
    'qwen3_next': macros.family(3, false, 0, null),
    'qwen3_5_text': macros.family(3, false, 0, null),
    'qwen3_5_moe_text': macros.family(3, false, 0, null),
    'gpt_oss': macros.family(3, false, 2, null),
    'deepseek_v2': macros.family(3, false, null, null),
    'deepseek_v3': macros.family(3, false, null, null),
    'deepseek_v32': macros.family(3, false, 0, null),
    'kimi_k2': macros.family(3, false, null, null),
    'kimi_linear': macros.family(3, false, null, null),
    'glm': macros.family(3, false, null, null),
    'glm4': macros.family(3, false, null, null),
    'glm4_moe': macros.family(3, false, null, null),
    'glm4_moe_lite': macros.family(3, false, null, null),
    'glm_moe_dsa': macros.family(3, false, 0, null),
    'minimax_m2': macros.family(3, false, null, null),
    'llama4_text': macros.family(3, false, 4, null),
    'gemma': macros.family(3, true, null, null),
    'gemma2': macros.family(3, true, 2, null),
    'gemma3_text': macros.family(3, true, 6, null),
    'phi3': macros.family(3, false, 0, null),
    'phimoe': macros.family(3, false, 0, null),
    'phi': macros.family(2, false, null, null),
    'granite': macros.family(3, false, null, null),
    'granitemoe': macros.family(3, false, null, null),
    'granitemoehybrid': macros.family(3, false, null, null),
    'bamba': macros.family(3, false, null, null),
    'jamba': macros.family(3, false, null, null),
    'nemotron': macros.family(2, false, null, null),
    'nemotron_h': macros.family(2, false, null, null),
    'olmo': macros.family(3, false, null, null),
    'olmo2': macros.family(3, false, null, null),
    'olmo3': macros.family(3, false, 4, null),
    'olmoe': macros.family(3, false, null, null),
    'cohere': macros.family(3, true, null, null),
    'cohere2': macros.family(3, true, 4, null),
    'exaone': macros.family(3, false, null, null),
    'internlm2': macros.family(3, false, null, null),
    'smollm3': macros.family(3, true, null, null),
    'seed_oss': macros.family(3, false, null, null),
    'hunyuan_v1_dense': macros.family(3, false, null, null),
    'hunyuan_v1_moe': macros.family(3, false, null, null),
    'hy_v3': macros.family(3, false, null, null),
    'ernie4_5': macros.family(3, true, null, null),
    'ernie4_5_moe': macros.family(3, true, null, null),
    'starcoder2': macros.family(2, true, 0, null),
    'gpt2': macros.family(2, true, null, 0),
    'opt': macros.family(2, true, null, 2),
    'bloom': macros.family(2, true, null, null),
    'falcon': macros.family(2, true, null, null),
    'gpt_neox': macros.family(2, false, null, null)
}[model_type];

-- One entry of macros.architecture as a struct; its four arguments are its fields.
--   select macros.family(3, false, null, null).is_tied
create macro macros.family(mlp_matrices, is_tied, window_every, learned_places) as {
    'mlp_matrices': mlp_matrices,
    'is_tied': is_tied,
    'window_every': window_every::bigint,
    'learned_places': learned_places::bigint
};

-- What a class fills in where a published config.json leaves a key out; a key that is null is left out, too. Only keys
-- that are left out by publishers: Gemma 3 of 4B says no heads, 12B and 27B no vocabulary. The class that sees is
-- called gemma3, its language model gemma3_text.
-- Source: Gemma3TextConfig of configuration_gemma3.py.
--   select macros.with_class_defaults('{"model_type": "gemma3"}'::json)->>'vocab_size' as vocab_size
create macro macros.with_class_defaults(config) as
    case when (config->>'model_type') in ('gemma3', 'gemma3_text')
        then json_merge_patch(
            json_merge_patch(
                '{"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
                  "sliding_window": 4096, "max_position_embeddings": 131072}',
                json_merge_patch('{}', config)
            ),
            '{"model_type": "gemma3_text"}'
        )
        else config
    end;
