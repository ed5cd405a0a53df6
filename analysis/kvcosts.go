package analysis

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"tidemark/analysis/answers"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

// What a context costs in KV cache: bytes per token, per request and per GPU, and the time to read it once. The formula is
// 2 * layers * KV heads * head size * bytes of an element, with these exceptions, which macros.kv_request_bytes knows:
//
//   - a layer with a sliding window keeps only its window; sparse attention keeps all, and a key of its indexer with each token, but reads
//     only what it chooses, besides those keys;
//   - a latent cache (MLA) keeps one vector per token instead of heads, and every GPU holds all of it;
//   - a layer without attention keeps a state of constant size;
//   - with more GPUs than KV heads the heads are repeated, so that a further GPU saves nothing.
//
// A context longer than the model was made for is an error.

// KVCosts is what contexts of given lengths cost in KV cache: one row per length and format of the cache. All formats are listed unless
// the deployment names one. The deployment's GPU may be empty: then no time to read the cache is given.
func KVCosts(ctx context.Context, db *sql.DB, d deployment.Deployment, tokens []int64) (Table, error) {
	isTimed := d.GPU != ""
	if !isTimed {
		if err := db.QueryRowContext(ctx, "select min(gpu) from macros.gpus()").Scan(&d.GPU); err != nil {
			return Table{}, fmt.Errorf("kv: %w", err) // any GPU will do: the cache has the same size on all
		}
	}
	d, err := checked(ctx, db, d)
	if err != nil {
		return Table{}, err
	}
	table, err := askFor(ctx, "predict kv", db, kvQuery, d.SQL(), isTimed, tokens)
	if err != nil {
		return Table{}, err
	}
	if len(table.Rows) == 0 && len(tokens) > 0 {
		return Table{}, mistake(ctx, db, d)
	}
	problem := len(table.Columns) - 1
	for _, row := range table.Rows {
		if err := sharing(row[problem]); err != nil {
			return Table{}, err
		}
	}
	if err := checkContexts(ctx, db, d, tokens); err != nil {
		return Table{}, err
	}
	table.Columns = table.Columns[:problem]
	for i, row := range table.Rows {
		table.Rows[i] = row[:problem]
	}
	return table, nil
}

// kvQuery asks for each format twice: on one GPU, which holds the whole cache (whole), and as the deployment is (shared), for one GPU's part of
// it. The time to read is at the reached bandwidth, which is below the peak, and is null if no GPU was named. The last column says why the
// GPUs cannot share the model, if they cannot.
const kvQuery = `
with formats as (
    select format
    from seeds.formats
    where kv_bytes is not null
        and (coalesce($1::json ->> 'kv_cache_dtype', 'auto') = 'auto' or macros.is_named(format, aliases, $1::json ->> 'kv_cache_dtype'))
),

deployments as (
    select
        place,
        d
    from macros.deployments((
        select list({
            'place': {'format': formats.format, 'is_whole': ways.is_whole},
            'asked': json_merge_patch(
                $1::json, json_object('kv_cache_dtype', formats.format), case when ways.is_whole then '{"tensor_parallel_size": 1}'::json else '{}'::json end
            ),
            'constants': null::map(varchar, double)
        })
        from formats
        cross join (values (true), (false)) as ways (is_whole)
    ))
),

costs as (
    select
        whole.d as whole,
        shared.d as shared,
        unnest($3::bigint[]) as tokens
    from deployments as whole
    inner join deployments as shared on shared.place.format = whole.place.format
    where whole.place.is_whole
        and not shared.place.is_whole
)

select
    whole.model,
    whole.kv_format,
    tokens::double as tokens,
    macros.kv_token_bytes(whole) as token_bytes,
    macros.kv_request_bytes(whole, tokens) as request_bytes,
    shared.tensor_parallel_size,
    macros.kv_request_bytes(shared, tokens) as gpu_request_bytes,
    case when $2::boolean then macros.kv_s(shared, tokens, least(tokens, coalesce(shared.window_tokens, tokens))) end as read_s,
    macros.sharing_problem(shared) as problem
from costs
order by
    tokens,
    token_bytes desc`

// ModelShape holds the numbers of a model that decide how large its KV cache is.
type ModelShape struct {
	Model            string
	Layers           int // that have a cache
	QueryHeads       int
	KVHeads          int
	HeadDim          int
	WindowTokens     sql.NullInt64
	WindowedLayers   int
	IndexLayers      int     // with an indexer: layers read WindowTokens of all that they keep; 0: a window drops the others
	LatentDim        int     // of a latent cache (MLA): numbers per token and layer; 0: the cache holds keys and values
	LinearLayers     int     // with a constant state in place of a cache
	StateBytes       float64 // of a sequence, in all linear layers together
	MaxContextTokens sql.NullInt64
}

// ShapeOf looks up a model of the catalogue, or reads one that is a path. An unknown model is an error that names the known ones.
func ShapeOf(ctx context.Context, db *sql.DB, model string) (s ModelShape, err error) {
	if model, err = readModel(ctx, db, model); err != nil {
		return s, err
	}
	err = askRow(ctx, db, `
select
    model,
    attention_layers,
    query_heads,
    kv_heads,
    head_dim,
    window_tokens,
    windowed_layers,
    index_layers,
    case when is_mla then kv_lora + rope_dim else 0 end,
    linear_layers,
    linear_state_bytes,
    max_context_tokens
from macros.models_named(?)`, model).Scan(&s.Model, &s.Layers, &s.QueryHeads, &s.KVHeads, &s.HeadDim, &s.WindowTokens, &s.WindowedLayers, &s.IndexLayers,
		&s.LatentDim, &s.LinearLayers, &s.StateBytes, &s.MaxContextTokens)
	if errors.Is(err, sql.ErrNoRows) {
		return s, unknownModel(ctx, db, model)
	}
	return s, err
}

// HeadKV is the plain formula, 2 * layers * heads * head size * bytes of an element * tokens, for a model that is not in the catalogue.
func HeadKV(ctx context.Context, db *sql.DB, layers, heads, headDim, elementBytes int, tokens int64) (bytes float64, err error) {
	if layers < 1 || heads < 1 || headDim < 1 || tokens < 1 {
		return 0, hint.Misuse("kv: layers, heads, their size and tokens are at least 1")
	}
	err = db.QueryRowContext(ctx, "select ?::double * macros.head_kv_bytes(?::bigint, ?::bigint, ?::bigint, ?::bigint)",
		tokens, layers, heads, headDim, elementBytes).Scan(&bytes)
	return bytes, err
}

// KVByFormula is what contexts cost by the plain formula in 16 bits, with other heads than the shape's: how often a published sum was made.
// It has the columns of KVCosts.
func KVByFormula(ctx context.Context, db *sql.DB, name string, s ModelShape, heads int, tokens []int64) (table Table, err error) {
	table = answers.TableOf("model", "kv_format", "tokens", "token_bytes", "request_bytes", "tensor_parallel_size", "gpu_request_bytes", "read_s")
	for _, n := range tokens {
		token, err := HeadKV(ctx, db, s.Layers, heads, s.HeadDim, 2, 1)
		if err != nil {
			return table, err
		}
		bytes := token * float64(n)
		table.Rows = append(table.Rows, []any{name, "bf16", float64(n), token, bytes, int64(1), bytes, nil})
	}
	return table, nil
}

// HeadsRatio is how many KV heads the model has of so many.
func (s ModelShape) HeadsRatio(of int) float64 { return float64(s.KVHeads) / float64(of) }

// checkContexts refuses the first context that is longer than the model was made for.
func checkContexts(ctx context.Context, db *sql.DB, d deployment.Deployment, tokens []int64) error {
	if len(tokens) == 0 {
		return nil
	}
	if err := checkTokens("predict kv", tokens[0]); err != nil {
		return err
	}
	shape, err := ShapeOf(ctx, db, d.CatalogModel)
	if err != nil {
		return err
	}
	for _, n := range tokens {
		if err := cmp.Or(checkTokens("predict kv", n), checkContext("predict kv", shape.Model, shape.MaxContextTokens.Int64, n)); err != nil {
			return err
		}
	}
	return nil
}

// checkTokens refuses a context of nothing. verb leads the message.
func checkTokens(verb string, tokens int64) error {
	if tokens < 1 {
		return hint.Misuse("%s: a context of %d tokens", verb, tokens)
	}
	return nil
}

// checkContext refuses a context that is longer than the most that the model was made for; 0: that is not known. verb leads the message.
func checkContext(verb, model string, most, tokens int64) error {
	if most > 0 && tokens > most {
		return hint.Misuse("%s: %d tokens: %s takes at most %d", verb, tokens, model, most).
			Hint("its config.json says so: max_position_embeddings")
	}
	return nil
}

// LacksKVHeads is for a warning next to the answer, not for a refusal: old models really have no such key. It says whether a model is a config.json, or a folder with one, that has none of the keys for KV heads. Then the model's
// attention heads are used, as its loader does, and the computed cache is too large if the model groups its heads after all.
func LacksKVHeads(ctx context.Context, db *sql.DB, model string) (lacks bool, err error) {
	text, err := userfile.ReadAll(filepath.Join(model, "config.json"))
	if err != nil {
		text, err = userfile.ReadAll(model)
	}
	if err != nil {
		return false, nil // a model of the catalogue
	}
	err = db.QueryRowContext(ctx, `
select
    keys.num_key_value_heads is null
    and keys.num_kv_heads is null
    and keys.n_head_kv is null
    and keys.kv_lora_rank is null
    and not coalesce(keys.multi_query, false)
from (select macros.model_keys(?::varchar) as keys)`, string(text)).Scan(&lacks)
	return lacks, err
}
