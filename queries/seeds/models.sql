-- One row per built-in model, by the fields of its config.json. What can be worked out
-- from them (parameters, bytes) is not kept here: see the macros. macros.models() has those that users
-- added as well.
-- group: model
-- model                    what --catalog-model takes, spelled as macros.model_spelling reads it
-- aliases                  other names for the same weights or for others of the same shapes, separated by ';'
-- architecture             its family: model_type
-- layers                   transformer layers
-- hidden                   hidden size
-- query_heads              attention heads
-- kv_heads                 key and value heads; 1 with a latent cache, which is not shared between GPUs
-- head_dim                 size of one query head
-- intermediate             width of the MLP of a dense layer as the config says it, used or not
-- vocab                    rows of the embedding table
-- experts                  experts in a layer; 0: dense
-- experts_per_token        experts that one token goes through
-- expert_intermediate      width of one expert
-- window_tokens            sliding window, or what sparse attention reads of a context, tokens; null: every layer sees the whole context
-- windowed_layers          layers that have that window
-- is_tied                  the output head is the embedding table
-- native_format            the format its weights are published in: a name in seeds.formats
-- native_kv_format         the format of the KV cache that the checkpoint asks for: a name in seeds.formats
-- native_bytes_per_weight  bytes a weight in the native format, scales included, where its groups are not the usual ones; null: as seeds.formats has it
-- plain_parts              which of attention, head, router, mlp (dense layers and shared experts) and experts stay in 16 bits in the native format
-- mlp_matrices             3: gate, up and down; 2: no gate
-- expert_layers            layers that have experts
-- dense_layers             layers that have one MLP for all tokens
-- dense_intermediate       width of the MLP of those; 0 where there are none
-- shared_intermediate      width of all shared experts of a layer together; 0: none
-- attention_layers         layers that have a KV cache
-- query_matrices           matrices of the queries' size, without the output's: 2 where attention is gated
-- is_qk_norm_shared        queries and keys are normalised over all heads: one more exchange a layer between the GPUs that share a model
-- is_mla                   the KV cache is latent (MLA)
-- q_lora                   rank of the queries; 0: not compressed, or no MLA
-- kv_lora                  rank of the latent cache; 0 without MLA
-- nope_dim                 part of a head without positions; 0 without MLA
-- rope_dim                 part of a head with positions; 0 without MLA
-- value_dim                size of a value head; 0 without MLA
-- index_layers             layers with an indexer, which chooses the window_tokens that sparse attention reads; 0: no sparse attention
-- index_heads              heads of an indexer; 0 without one
-- index_dim                size of one, and of the key that an indexer keeps of each token; 0 without one
-- linear_layers            layers with linear attention or a state space in the place of attention
-- linear_params            parameters of those, all together
-- linear_state_bytes       what they keep of a sequence, all layers, whole model, bytes
-- mtp_layers               layers that predict more than one token ahead: in the checkpoint, not streamed
-- learned_places           rows of a learned table of positions; 0: none
-- max_context_tokens       the longest context
-- published_params         parameters as published, to check the macros with
-- is_exact                 that number is a count and not a rounded one
-- source                   where the fields were read
create table seeds.models as
select
    read.model,
    read.aliases,
    unnest(read.spec),
    read.published_params,
    read.is_exact,
    read.source
from (
    select
        model_configs.*,
        macros.model_config(model_configs.config) as spec
    from seeds.model_configs
) as read;
