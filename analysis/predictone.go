package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"tidemark/internal/deployment"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/stat"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// One prediction with everything that it rests on, for a reader who wants to check it by hand: the bytes of a step, the limits of the
// batch, and each constant with its source. The numbers come from the same macros as every other prediction; this file only asks for
// more of them. The other answer here, weights over peak bandwidth, is the usual rule of thumb: it is too fast by 60-70 % in the median,
// and it is printed next to the prediction to show that.

// Argument is one prediction together with its bytes, limits and constants. Bytes and Constant are tables and not fields, because they are
// only printed: a new line of the argument is a new column or row of SQL.
type Argument struct {
	Prediction
	Point    Point // with the catalogue's names and the defaults filled in
	Bytes    Table // one row of argumentQuery
	Constant Table // rows of macros.assumptions
	Nearest  Nearest
	made     deploymentRow
}

// Replicas is the data parallel degree. The bandwidth model predicts one replica: rates are multiplied by it for all of them.
func (a Argument) Replicas() float64 { return float64(max(a.Point.DataParallelSize, 1)) }

// MostPerS and AllOutputPerS are the requests that all replicas serve at most, and the tokens that they answer with, a second.
func (a Argument) MostPerS() float64      { return a.number("most_requests_per_s") * a.Replicas() }
func (a Argument) AllOutputPerS() float64 { return a.OutputPerS * a.Replicas() }

// ShareOfMost is the rate that was asked about, of the most.
func (a Argument) ShareOfMost() float64 { return a.Point.RequestsPerS / a.MostPerS() }

// WeightBytesPerS is the bandwidth that weights are streamed at.
func (a Argument) WeightBytesPerS() float64 { return a.number("weight_bytes") / a.number("weights_s") }

// ShareOfTPOT is what a term is of the TPOT.
func (a Argument) ShareOfTPOT(seconds float64) float64 { return seconds / a.TPOT }

func (a Argument) number(column string) float64 {
	number, is := a.Bytes.At(0, column).(float64)
	if !is {
		return math.NaN()
	}
	return number
}

// Argue predicts one point and gives the bytes, the limits and the constants behind it. A deployment that cannot be resolved is an error;
// one that is known but cannot serve the load has an answer with Why and nothing else.
func Argue(ctx context.Context, db *sql.DB, p Point) (Argument, error) {
	resolved, made, err := deploy(ctx, db, p.Deployment)
	if err != nil {
		return Argument{}, err
	}
	if err := checkLength(ctx, db, p.Deployment); err != nil {
		return Argument{}, err
	}
	p.Deployment = resolved
	flood := p // more requests than any server can serve: the rate that comes out is the largest possible
	flood.Clients, flood.RequestsPerS, flood.IsStatic = 0, 1e12, false
	predictions, err := predict(ctx, db, []Point{p, flood}, &made)
	if err != nil {
		return Argument{}, err
	}
	a := Argument{Prediction: predictions[0], Point: p, made: made}
	if a.Why != "" {
		return a, nil
	}
	load := p.Load.perReplica(p.Deployment)
	args := []any{made.row, load.InputTokens, load.OutputTokens, load.CachedTokens, load.Drafts, load.TokensPerStep,
		load.AcceptanceRate, a.Batch, predictions[1].RequestsPerS}
	if a.Bytes, err = askFor(ctx, "predict", db, fmt.Sprintf(argumentQuery, made.from()), args...); err != nil {
		return a, err
	}
	if a.Constant, err = askFor(ctx, "predict", db, fmt.Sprintf(constantsQuery, made.from()), made.row); err != nil {
		return a, err
	}
	a.Nearest, err = nearest(ctx, db, made, p.Clients)
	return a, err
}

// mostTogether is the number of clients up to which a closed loop is rehearsed for TogetherTTFT.
const mostTogether = 4096

// TogetherTTFT is the median time to the first token, seconds, in a closed loop whose clients start at once and whose requests are all of one
// length: they stay together, so that prompts wait for each other and for the API server's thread. The formula of a Prediction has requests
// that come apart. It is rehearsed on the model of the whole server, three requests a client; NaN where that model does not hold such a load.
func (a Argument) TogetherTTFT(ctx context.Context, db *sql.DB) (float64, error) {
	p := a.Point
	clients := int(p.Clients)
	isPlayable := clients > 1 && clients <= mostTogether && float64(clients) == p.Clients && !p.IsStatic &&
		p.Drafts == 0 && p.TokensPerStep <= 1 && p.CachedTokens == 0 && p.DataParallelSize <= 1
	if !isPlayable {
		return math.NaN(), nil
	}
	cost, err := stepCostOf(ctx, db, p.Deployment, a.made)
	if err != nil {
		return math.NaN(), err
	}
	s := cost.alone()
	s.Mode, s.MaxConcurrency = schedule.Closed, clients
	requests := make([]plan.Request, 3*clients)
	for i := range requests {
		requests[i] = plan.Request{Seq: int64(i), InputTokens: max(1, int(math.Round(p.InputTokens))), OutputTokens: max(1, int(math.Round(p.OutputTokens)))}
	}
	var firsts []float64
	err = rehearsal.PlayAll(ctx, s, requests, func(q *rehearsal.Request) error {
		if q.Failure == "" {
			firsts = append(firsts, (q.First - q.Sent).Seconds())
		}
		return nil
	})
	if err != nil || len(firsts) < len(requests) {
		return math.NaN(), err
	}
	slices.Sort(firsts)
	return stat.Median(firsts), nil
}

// argumentQuery has the bytes and seconds of a step at the batch that the prediction found. The batch counts as at least one request,
// because a step without any has no bytes. Bytes and seconds are of one GPU; the largest rate comes from the second prediction.
const argumentQuery = `
with deployments as (
    select d%s
),

gpus as (
    select gpu, family, vendor, is_measured from macros.gpus()
),

asked as (
    select
        d,
        macros.load(
            $2::double, $3::double, clients := 1, cached := $4::double, drafts := $5::double,
            tokens_per_step := coalesce(macros.accepted_per_step($7::double, $5::double), $6::double)
        ) as l,
        $8::double as batch
    from deployments
),

sizes as (
    select
        *,
        greatest(1e0, batch) * macros.mean_context(l) as context,
        greatest(1e0, batch) * least(macros.mean_context(l), coalesce(d.window_tokens, macros.mean_context(l))) as windowed,
        macros.kv_room_bytes(d.memory_bytes, d.memory_utilization, macros.resident_bytes(d), d.other_memory_bytes) as room_bytes,
        macros.new_tokens(l) as new_tokens,
        macros.prefill_chunks(d, batch, macros.new_tokens(l)) as chunks
    from asked
),

-- What macros.loaded_prompt_s names many times, in stages as in macros.prediction.
chunked as (
    select
        *,
        new_tokens / chunks as part_tokens,
        batch + new_tokens / chunks as filled,
        macros.gemm_s(d, batch, 0, 0) as batch_gemm_s,
        macros.experts_s(d, batch) as batch_experts_s,
        macros.allreduce_s(d, batch) as batch_allreduce_s,
        macros.kv_s(d, batch * macros.mean_context(l), batch * macros.windowed_context(d, l)) as batch_kv_s
    from sizes
)

select
    d.compute_format,
    (
        select formats.compute
        from seeds.formats
        where formats.format = d.weight_format
    ) as usual_compute_format,
    d.hbm_bytes_per_s,
    macros.floor_s(d, 0, 0) as weights_over_peak_s,
    d.plain_bytes + d.packed_bytes as weight_bytes,
    d.expert_bytes * macros.hit_experts(d, greatest(1e0, batch) * (1 + l.drafts)) as expert_bytes,
    macros.hit_experts(d, greatest(1e0, batch) * (1 + l.drafts)) as hit_experts,
    d.experts,
    d.experts_per_token,
    macros.kv_bytes(d, context, windowed) as kv_bytes,
    macros.weights_s(d, 1) as weights_s,
    macros.kv_s(d, context, windowed) as kv_s,
    d.layers,
    d.layer_s,
    l.tokens_per_step,
    macros.largest_chunk(d, l, batch) as chunk_tokens,
    macros.chunks_s(d, new_tokens, l.cached, chunks, macros.chunk_beside_s(
        d, batch, part_tokens, filled, batch_gemm_s, batch_experts_s, batch_allreduce_s, batch_kv_s
    )) as prompt_s,
    macros.kv_capacity_tokens(d) as kv_capacity_tokens,
    macros.most_running(d, l) as most_running,
    macros.kv_capacity_tokens(d) / macros.mean_context(l) < d.max_num_seqs as is_kv_bound,
    floor(macros.fitting_requests(d, room_bytes, l.input + l.output, 0)) as preemption_onset_requests,
    $9::double as most_requests_per_s,
    d.memory_utilization,
    macros.step_band_ratio(d, 16, 2000) as band_ratio,
    d.experts_from,
    d.calibration,
    d.gpu_kinship,
    (
        select string_agg(near.gpu, ', ' order by near.gpu)
        from gpus as near
        inner join gpus as own on own.gpu = d.gpu
        where near.is_measured
            and case d.gpu_kinship when 'same_family' then near.family = own.family else near.vendor = own.vendor end
    ) as measured_kin,
    d.defaults_from,
    d.constants_version,
    macros.newest_fitted(d.engine) as newest_fitted,
    d.has_whole_prompts,
    d.is_async,
    d.cuda_graphs,
    (
        select count(*)
        from (select engine from seeds.constants union all select engine from raw.calibrations) as known
        where known.engine = d.engine
    ) as engine_constants
from chunked`

// constantsQuery lists the constants of the deployment, the one with the largest part in the prediction first.
const constantsQuery = `
select
    a.name,
    a.format,
    a.value,
    a.unit,
    a.origin,
    a.engine,
    a.engine_version,
    a.gpu,
    a.is_other_version,
    a.source
from macros.assumptions((select d%s)) as a
order by a.seq, a.name`

// WeightsOverPeak is the rule of thumb: the bytes of so many parameters divided by the peak bandwidth of the deployment's GPUs. It needs
// no model, and no GPU if the bandwidth is given.
func WeightsOverPeak(ctx context.Context, db *sql.DB, d deployment.Deployment, parameters float64) (Table, error) {
	if err := d.Check(); err != nil {
		return Table{}, err
	}
	for _, name := range []struct{ thing, name, count, known string }{
		{"GPU", d.GPU, "select count(*) from macros.gpus() where macros.is_gpu(gpu, aliases, ?)", "select gpu from macros.gpus()"},
		{"weight format", d.Quantization, "select count(*) from seeds.formats where macros.is_named(format, aliases, ?)", "select format from seeds.formats"},
	} {
		var found int
		if err := db.QueryRowContext(ctx, name.count, name.name).Scan(&found); err != nil {
			return Table{}, fmt.Errorf("predict: %w", err)
		}
		if name.name != "" && found == 0 {
			return Table{}, unknown(ctx, db, name.thing, name.name, name.known, "")
		}
	}
	return askFor(ctx, "predict", db, weightsQuery, d.GPU, d.Quantization, max(d.TensorParallelSize, 1), d.HBMBytesPerS, parameters)
}

// weightsQuery needs no model: bytes are parameters times the format's bytes per weight, scales included.
const weightsQuery = `
with asked as (
    select
        $5::double * formats.bytes_per_weight as weight_bytes,
        $3::bigint * coalesce(nullif($4::double, 0), gpus.hbm_bytes_per_s) as hbm_bytes_per_s,
        formats.format
    from seeds.formats
    left join macros.gpus() as gpus on macros.is_gpu(gpus.gpu, gpus.aliases, $1::varchar)
    where macros.is_named(formats.format, formats.aliases, coalesce(nullif($2::varchar, ''), 'bf16'))
)

select
    format as weight_format,
    $5::double as parameters,
    weight_bytes,
    hbm_bytes_per_s,
    weight_bytes / hbm_bytes_per_s as weights_over_peak_s,
    hbm_bytes_per_s / weight_bytes as tokens_per_s
from asked`
