package analysis

import (
	"context"
	"database/sql"
	"fmt"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
)

// Whether a model fits on a GPU, and how many requests fit next to it. The sum is
//
//	room = memory * gpu_memory_utilization - resident weights - other use        bytes for the KV cache, per GPU
//	tokens = room / bytes of one token in the cache
//
// Memory is what the driver reports (150.75e9 bytes for an H200), never the number on the box. "Other use" (activations, CUDA graphs,
// NCCL) is the only term that no formula gives: either the engine's log says it, by its own "GPU KV cache size: N tokens", or it is
// assumed, and then a low and a high figure are given too. The sums themselves are macros (queries/macros/capacity.sql), so that a
// prediction, a diagnosis and this file agree.
//
// A request longer than the model's context, or parts of a request that contradict each other, are an error.

// Memory is what is asked about the memory of a deployment. A nil field takes the catalogue's value.
type Memory struct {
	MemoryBytes *float64 // of a GPU, as its driver reports it
	WeightBytes *float64 // on one GPU, as the engine's log says
	OtherBytes  *float64 // used for anything except weights and KV cache, on one GPU
	KVTokens    *float64 // as the engine's log says; OtherBytes follows from it

	Tokens       int64 // of one request, prompt and answer
	OutputTokens int64 // of its answer
	SharedTokens int64 // of a prefix that all requests have in common
}

// HeadCopies is how often each KV head is held where more GPUs share the heads than there are.
func HeadCopies(gpus, heads float64) float64 { return gpus / heads }

// check refuses sizes that contradict each other.
func (m Memory) check() error {
	switch {
	case m.Tokens < 1:
		return hint.Misuse("fit: a request of %d tokens", m.Tokens)
	case m.OutputTokens < 0 || m.OutputTokens > m.Tokens:
		return hint.Misuse("fit: an answer of %d tokens in a request of %d", m.OutputTokens, m.Tokens).
			Hint("the answer's tokens are among the request's")
	case m.SharedTokens < 0 || m.SharedTokens >= m.Tokens:
		return hint.Misuse("fit: a shared prefix of %d tokens in a request of %d", m.SharedTokens, m.Tokens).
			Hint("a request has at least a token of its own")
	case m.KVTokens != nil && m.OtherBytes != nil:
		return hint.Misuse("fit: what is kept beside the KV cache follows from its tokens").Hint("leave one out")
	}
	return nil
}

// Fit answers with one row: what uses a GPU's memory, what is left for the KV cache, and how many requests that holds.
// verdict is 'fits', 'no room for one request' or 'does not fit'; kv_heads is 0 for a latent cache.
func Fit(ctx context.Context, db *sql.DB, d deployment.Deployment, m Memory) (Table, error) {
	if err := m.check(); err != nil {
		return Table{}, err
	}
	d, made, err := deploy(ctx, db, d)
	if err != nil {
		return Table{}, err
	}
	if err := checkTokens("predict fit", m.Tokens); err != nil {
		return Table{}, err
	}
	table, err := askFor(ctx, "predict fit", db, fmt.Sprintf(fitQuery, made.from()), made.row, m.MemoryBytes, m.WeightBytes, m.OtherBytes, m.KVTokens,
		float64(m.Tokens), float64(m.OutputTokens), float64(m.SharedTokens), d.CatalogModel)
	if err != nil {
		return Table{}, err
	}
	// The row says how long a context may be, so that the model is looked up once.
	model, _ := table.At(0, "model").(string)
	most, _ := table.At(0, "max_context_tokens").(float64)
	return table, checkContext("predict fit", model, int64(most), m.Tokens)
}

// vLLM on an H200 was seen to use 3.9 GiB for anything except weights and KV cache at 128 sequences, and 5.5 GiB at 1024. The low
// figure assumes 5.5 GiB, the high one 3.5 GiB.
const fitQuery = `
with asked as (
    select
        d,
        coalesce($2::double, d.memory_bytes) as memory_bytes,
        d.memory_utilization as utilization,
        coalesce($3::double, macros.resident_bytes(d)) as weight_bytes,
        coalesce(
            $4::double,
            coalesce($2::double, d.memory_bytes) * d.memory_utilization
            - coalesce($3::double, macros.resident_bytes(d)) - $5::double * macros.kv_token_bytes(d),
            d.other_memory_bytes
        ) as other_bytes,
        $4::double is null and $5::double is null as is_other_assumed,
        coalesce(gpus.fp8_flop_per_s is not null, false) as has_fp8,
        coalesce(gpus.fp4_flop_per_s is not null, false) as has_fp4,
        formats.compute,
        models.max_context_tokens,
        case when models.is_mla then 0 else models.kv_heads end as kv_heads
    from (select d%s) as made
    inner join macros.gpus() as gpus on gpus.gpu = made.d.gpu
    inner join seeds.formats on formats.format = made.d.weight_format
    cross join macros.models_named($9::varchar) as models
),

rooms as (
    select
        *,
        macros.kv_room_bytes(memory_bytes, utilization, weight_bytes, other_bytes) as room_bytes,
        macros.kv_room_bytes(memory_bytes, utilization, weight_bytes, 5.5e0 * pow(2, 30)) as low_room_bytes,
        macros.kv_room_bytes(memory_bytes, utilization, weight_bytes, 3.5e0 * pow(2, 30)) as high_room_bytes
    from asked
),

requests as (
    select
        *,
        floor(room_bytes / macros.kv_token_bytes(d)) as kv_tokens,
        macros.fitting_requests(d, room_bytes, $6::double, 0) as requests,
        macros.fitting_requests(d, room_bytes, $6::double, $8::double) as shared_requests,
        macros.fitting_requests(d, room_bytes, $6::double - $7::double / 2, $8::double) as steady_requests
    from rooms
)

select
    d.gpu,
    d.model,
    d.tensor_parallel_size,
    d.weight_format,
    -- A100 and L40S multiply INT8, for which the seeds have no rate of its own.
    case when d.weight_format = 'int8' then 'int8' when compute = 'fp4' and not has_fp4 or compute = 'fp8' and not has_fp8 then 'bf16' else compute end as compute_format,
    d.kv_format,
    case
        when room_bytes <= 0 then 'does not fit'
        when shared_requests < 1 then 'no room for one request'
        else 'fits'
    end as verdict,
    memory_bytes,
    utilization as memory_utilization,
    memory_bytes * utilization as engine_bytes,
    weight_bytes,
    other_bytes,
    room_bytes as kv_room_bytes,
    macros.kv_token_bytes(d) as kv_token_bytes,
    greatest(kv_tokens, 0) as kv_tokens,
    case when is_other_assumed then greatest(floor(low_room_bytes / macros.kv_token_bytes(d)), 0) end as low_kv_tokens,
    case when is_other_assumed then greatest(floor(high_room_bytes / macros.kv_token_bytes(d)), 0) end as high_kv_tokens,
    case
        when room_bytes <= 0 then 0
        else least(macros.longest_request_tokens(d, room_bytes), max_context_tokens) -- the lesser that is known
    end as longest_request_tokens,
    max_context_tokens::double as max_context_tokens,
    $6::double as request_tokens,
    macros.kv_request_bytes(d, $6::double) as request_bytes,
    $8::double as shared_prefix_tokens,
    greatest(requests, 0) as requests,
    greatest(shared_requests, 0) as requests_with_shared_prefix,
    greatest(steady_requests, 0) as steady_requests,
    greatest(floor(shared_requests), 0) as preemption_onset_requests,
    kv_heads,
    d.max_num_seqs,
    case when shared_requests > d.max_num_seqs then 'max_num_seqs' else 'KV cache' end as limited_by
from requests`

// FitOptions lists single changes with which at least one request would fit: more GPUs, a smaller weight format, or another GPU. The two
// smallest changes of each kind are listed, the smallest first.
func FitOptions(ctx context.Context, db *sql.DB, d deployment.Deployment, m Memory) (Table, error) {
	d, err := Resolve(ctx, db, d)
	if err != nil {
		return Table{}, err
	}
	return askFor(ctx, "predict fit", db, optionsQuery, d.SQL(), m.OtherBytes, float64(m.Tokens), float64(m.SharedTokens))
}

// optionsQuery tries tensor parallelism over 2 to 64 GPUs, every weight format and every GPU of the catalogue, one change at a time, and keeps
// those with which at least one request fits. Changes of a kind are ordered by the number of GPUs, by how
// little the weights shrink, or by the GPU's memory.
const optionsQuery = `
with choices as (
    select 'more GPUs' as change, gpus as size, json_object('tensor_parallel_size', gpus) as patch
    from (values (2), (4), (8), (16), (32), (64)) as degrees (gpus)
    where gpus > ($1::json ->> 'tensor_parallel_size')::bigint
    union all
    select 'smaller weights', null, json_object('quantization', format)
    from seeds.formats
    union all
    select 'another GPU', memory_bytes, json_object('gpu', gpu)
    from macros.gpus()
),

rooms as (
    select
        place.change as change,
        d,
        macros.kv_room_bytes(
            d.memory_bytes, d.memory_utilization, macros.resident_bytes(d), coalesce($2::double, d.other_memory_bytes)
        ) as room_bytes,
        coalesce(place.size, -macros.resident_bytes(d)) as size
    from macros.deployments((
        select list({
            'place': {'change': change, 'size': size}, 'asked': json_merge_patch($1::json, patch), 'constants': null::map(varchar, double)
        })
        from choices
    )) as deployments
    where macros.sharing_problem(d) is null
),

-- Materialized, because DuckDB 1.5 fails to plan "qualify" over what the macro does.
options as materialized (
    select
        change,
        size,
        d.gpu as gpu,
        d.tensor_parallel_size as tensor_parallel_size,
        d.weight_format as weight_format,
        macros.resident_bytes(d) as weight_bytes,
        floor(room_bytes / macros.kv_token_bytes(d)) as kv_tokens,
        macros.fitting_requests(d, room_bytes, $3::double, $4::double) as requests
    from rooms
)

select
    * exclude (size)
from options
where requests >= 1
qualify row_number() over (partition by change order by size) <= 2
order by
    case change when 'more GPUs' then 1 when 'smaller weights' then 2 else 3 end,
    size`
