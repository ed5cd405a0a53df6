package analysis

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// benchFile is a run in the keys of "vllm bench serve --save-result --save-detailed", in their order and units, so that scripts for that
// tool read it. Names that end in _ms are milliseconds, other times are seconds. Arrays have one element per request, including failed
// requests.
type benchFile struct {
	Date                 string     `json:"date"`
	EndpointType         string     `json:"endpoint_type"`
	Backend              string     `json:"backend"`
	Label                *string    `json:"label"`
	ModelID              string     `json:"model_id"`
	TokenizerID          string     `json:"tokenizer_id"`
	NumPrompts           int64      `json:"num_prompts"`
	RequestRate          any        `json:"request_rate"`
	MaxConcurrency       any        `json:"max_concurrency"`
	Duration             *float64   `json:"duration"`
	Completed            int64      `json:"completed"`
	Failed               int64      `json:"failed"`
	TotalInputTokens     int64      `json:"total_input_tokens"`
	TotalOutputTokens    int64      `json:"total_output_tokens"`
	RequestThroughput    *float64   `json:"request_throughput"`
	RequestGoodput       *float64   `json:"request_goodput"`
	OutputThroughput     *float64   `json:"output_throughput"`
	TotalTokenThroughput *float64   `json:"total_token_throughput"`
	InputLens            []int64    `json:"input_lens"`
	OutputLens           []int64    `json:"output_lens"`
	TTFTs                []float64  `json:"ttfts"`
	ITLs                 []any      `json:"itls"`
	StartTimes           []*float64 `json:"start_times"`
	Errors               []string   `json:"errors"`
	Latencies            []float64  `json:"latencies"`
	MeanTTFTMs           *float64   `json:"mean_ttft_ms"`
	MedianTTFTMs         *float64   `json:"median_ttft_ms"`
	StdTTFTMs            *float64   `json:"std_ttft_ms"`
	P99TTFTMs            *float64   `json:"p99_ttft_ms"`
	MeanTPOTMs           *float64   `json:"mean_tpot_ms"`
	MedianTPOTMs         *float64   `json:"median_tpot_ms"`
	StdTPOTMs            *float64   `json:"std_tpot_ms"`
	P99TPOTMs            *float64   `json:"p99_tpot_ms"`
	MeanITLMs            *float64   `json:"mean_itl_ms"`
	MedianITLMs          *float64   `json:"median_itl_ms"`
	StdITLMs             *float64   `json:"std_itl_ms"`
	P99ITLMs             *float64   `json:"p99_itl_ms"`
	MeanE2ELMs           *float64   `json:"mean_e2el_ms"`
	MedianE2ELMs         *float64   `json:"median_e2el_ms"`
	StdE2ELMs            *float64   `json:"std_e2el_ms"`
	P99E2ELMs            *float64   `json:"p99_e2el_ms"`
}

// benchResult is the JSON file. HTML escaping is off, because that tool does not escape.
func benchResult(ctx context.Context, db *sql.DB, run record) ([]byte, error) {
	b := benchFile{
		EndpointType: "openai", Backend: "openai", ModelID: run.text("served_model"), TokenizerID: run.text("served_model"),
		RequestRate: "inf", MaxConcurrency: run["max_concurrency"], Label: nil,
	}
	if run.text("endpoint") == "/v1/chat/completions" {
		b.EndpointType, b.Backend = "openai-chat", "openai-chat"
	}
	if name := run.text("name"); name != "" {
		b.Label = &name
	}
	if at, isTime := run["started_at"].(time.Time); isTime {
		b.Date = at.UTC().Format("20060102-150405")
	}
	runID := run.text("run_id")
	if err := b.counts(ctx, db, runID, run.text("mode")); err != nil {
		return nil, err
	}
	if err := b.arrays(ctx, db, runID); err != nil {
		return nil, err
	}
	if err := b.statistics(ctx, db, runID); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(b)
	return text.Bytes(), err
}

// counts fills in totals and rates. request_rate of an open loop is the mean rate of its plan; a trace has no other.
func (b *benchFile) counts(ctx context.Context, db *sql.DB, runID, mode string) error {
	var rate sql.NullFloat64
	err := db.QueryRowContext(ctx, `
		select
			runs.planned,
			runs.completed,
			runs.planned - runs.completed,
			runs.window_s,
			runs.request_per_s,
			runs.output_token_per_s,
			runs.prompt_token_per_s + runs.output_token_per_s,
			of_requests.input_tokens,
			of_requests.output_tokens,
			of_requests.rate_per_s
		from marts.runs
		cross join (
			select
				coalesce(sum(coalesce(input_tokens_reported, input_tokens)) filter (where is_success), 0)::bigint as input_tokens,
				coalesce(sum(received_tokens) filter (where is_success), 0)::bigint as output_tokens,
				(count(*) - 1) / nullif(max(due_s) - min(due_s), 0) as rate_per_s
			from staging.requests
			where run_id = $1
				and not is_warm_up
		) as of_requests
		where runs.run_id = $1`, runID).Scan(&b.NumPrompts, &b.Completed, &b.Failed, &b.Duration, &b.RequestThroughput, &b.OutputThroughput,
		&b.TotalTokenThroughput, &b.TotalInputTokens, &b.TotalOutputTokens, &rate)
	if mode != "closed" && rate.Valid {
		b.RequestRate = rate.Float64
	}
	return err
}

// arrays fills in the values of each request. A failed request has times of 0 and the kind of its failure, as in that tool.
func (b *benchFile) arrays(ctx context.Context, db *sql.DB, runID string) error {
	rows, err := ask(ctx, db, `
		with gaps as (
			select
				seq,
				list(itl_s order by chunk_seq) filter (where itl_s is not null) as itls
			from staging.chunks
			where run_id = $1
			group by seq
		)
		select
			coalesce(requests.input_tokens_reported, requests.input_tokens) as input_len,
			case when requests.is_success then coalesce(requests.received_tokens, 0) else 0 end as output_len,
			case when requests.is_success then coalesce(requests.ttft_s, 0) else 0 end as ttft_s,
			case when requests.is_success then coalesce(gaps.itls, []) else [] end as itls,
			requests.sent_s,
			case when requests.is_success then '' else coalesce(requests.failure, 'unsent') end as error,
			case when requests.is_success then coalesce(requests.e2e_s, 0) else 0 end as e2e_s
		from staging.requests
		left join gaps on gaps.seq = requests.seq
		where requests.run_id = $1
			and not requests.is_warm_up
		order by requests.seq`, runID)
	if err != nil {
		return err
	}
	b.InputLens, b.OutputLens, b.TTFTs, b.ITLs, b.StartTimes, b.Errors = []int64{}, []int64{}, []float64{}, []any{}, []*float64{}, []string{}
	b.Latencies = []float64{}
	for _, row := range rows.Rows {
		input, _ := row[0].(int64)
		output, _ := row[1].(int64)
		ttft, _ := row[2].(float64)
		itls, _ := row[3].([]any)
		if itls == nil {
			itls = []any{}
		}
		var sent *float64
		if at, isKnown := row[4].(float64); isKnown {
			sent = &at
		}
		b.InputLens, b.OutputLens = append(b.InputLens, input), append(b.OutputLens, output)
		b.TTFTs, b.ITLs, b.StartTimes = append(b.TTFTs, ttft), append(b.ITLs, itls), append(b.StartTimes, sent)
		latency, _ := row[6].(float64)
		b.Errors, b.Latencies = append(b.Errors, row[5].(string)), append(b.Latencies, latency)
	}
	return nil
}

// statistics are over successful requests, as numpy computes them: linearly interpolated percentiles and the standard deviation of the
// population.
func (b *benchFile) statistics(ctx context.Context, db *sql.DB, runID string) error {
	return db.QueryRowContext(ctx, `
		with ok as (
			select seq, ttft_s * 1e3 as ttft, tpot_s * 1e3 as tpot, e2e_s * 1e3 as e2el
			from staging.requests
			where run_id = $1
				and is_success
				and not is_warm_up
		),
		gaps as (
			select itl_s * 1e3 as itl
			from staging.chunks
			where run_id = $1
				and itl_s is not null
				and seq in (select seq from ok)
		)
		select
			avg(ttft), quantile_cont(ttft, 0.5), stddev_pop(ttft), quantile_cont(ttft, 0.99),
			avg(tpot), quantile_cont(tpot, 0.5), stddev_pop(tpot), quantile_cont(tpot, 0.99),
			(select avg(itl) from gaps), (select quantile_cont(itl, 0.5) from gaps),
			(select stddev_pop(itl) from gaps), (select quantile_cont(itl, 0.99) from gaps),
			avg(e2el), quantile_cont(e2el, 0.5), stddev_pop(e2el), quantile_cont(e2el, 0.99)
		from ok`, runID).Scan(
		&b.MeanTTFTMs, &b.MedianTTFTMs, &b.StdTTFTMs, &b.P99TTFTMs, &b.MeanTPOTMs, &b.MedianTPOTMs, &b.StdTPOTMs, &b.P99TPOTMs,
		&b.MeanITLMs, &b.MedianITLMs, &b.StdITLMs, &b.P99ITLMs, &b.MeanE2ELMs, &b.MedianE2ELMs, &b.StdE2ELMs, &b.P99E2ELMs)
}
