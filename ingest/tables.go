package ingest

import "time"

// Rows of raw tables, as readers of whole documents make them: a field is a
// column, a nil pointer is null. queries/raw says what each column means, and in
// which unit.

type arrivalRow struct {
	Line         int64    `sql:"line"`
	ArrivalNs    int64    `sql:"arrival_ns"`
	InputTokens  int64    `sql:"input_tokens"`
	OutputTokens int64    `sql:"output_tokens"`
	SessionID    *string  `sql:"session_id"`
	Turn         *int32   `sql:"turn"`
	Class        *string  `sql:"class"`
	Blocks       []uint64 `sql:"blocks"`
}

// arrivalDetailRow is added beside the arrivalRow of the same line, and only
// where there is something to say.
type arrivalDetailRow struct {
	Line            int64    `sql:"line"`
	ThinkS          *float64 `sql:"think_s"`
	ParentSessionID *string  `sql:"parent_session_id"`
	ParentTurn      *int32   `sql:"parent_turn"`
	Model           *string  `sql:"model"`
	IsFailed        *bool    `sql:"is_failed"`
	TTFTS           *float64 `sql:"ttft_s"`
	E2ES            *float64 `sql:"e2e_s"`
	CachedTokens    *int64   `sql:"cached_tokens"`
	Tenant          *string  `sql:"tenant"`
}

type lengthCellRow struct {
	WindowFromS  *float64 `sql:"window_from_s"`
	WindowUntilS *float64 `sql:"window_until_s"`
	Class        *string  `sql:"class"`
	Client       *string  `sql:"client"`
	InputAbove   *int64   `sql:"input_above"`
	InputUpTo    *int64   `sql:"input_up_to"`
	OutputAbove  *int64   `sql:"output_above"`
	OutputUpTo   *int64   `sql:"output_up_to"`
	Requests     float64  `sql:"requests"`
}

type rateWindowRow struct {
	WindowFromS  float64  `sql:"window_from_s"`
	WindowUntilS float64  `sql:"window_until_s"`
	Class        *string  `sql:"class"`
	Client       *string  `sql:"client"`
	Requests     float64  `sql:"requests"`
	GapCV        *float64 `sql:"gap_cv"`
	GapFamily    *string  `sql:"gap_family"`
	GapShape     *float64 `sql:"gap_shape"`
	GapScaleS    *float64 `sql:"gap_scale_s"`
}

type metricRow struct {
	Scrape int32   `sql:"scrape"`
	AtNs   *int64  `sql:"at_ns"`
	Name   string  `sql:"name"`
	Labels string  `sql:"labels"`
	Value  float64 `sql:"value"`
}

type kernelRow struct {
	Seq       int32    `sql:"seq"`
	Name      string   `sql:"name"`
	Instances *int64   `sql:"instances"`
	TotalS    float64  `sql:"total_s"`
	MeanS     *float64 `sql:"mean_s"`
	MedianS   *float64 `sql:"median_s"`
	MinS      *float64 `sql:"min_s"`
	MaxS      *float64 `sql:"max_s"`
	StddevS   *float64 `sql:"stddev_s"`
}

type kernelRuleRow struct {
	Seq      int32  `sql:"seq"`
	Pattern  string `sql:"pattern"`
	Category string `sql:"category"`
}

type pointRow struct {
	Point              int32      `sql:"point"`
	Tool               string     `sql:"tool"`
	ToolVersion        *string    `sql:"tool_version"`
	Label              *string    `sql:"label"`
	StartedAt          *time.Time `sql:"started_at"`
	Model              *string    `sql:"model"`
	Hardware           *string    `sql:"hardware"`
	Engine             *string    `sql:"engine"`
	EngineVersion      *string    `sql:"engine_version"`
	Load               *string    `sql:"load"`
	RequestRatePerS    *float64   `sql:"request_rate_per_s"`
	MaxConcurrency     *int64     `sql:"max_concurrency"`
	InputTokensAsked   *float64   `sql:"input_tokens_asked"`
	OutputTokensAsked  *float64   `sql:"output_tokens_asked"`
	TensorParallelSize *int32     `sql:"tensor_parallel_size"`
	Requests           *int64     `sql:"requests"`
	Completed          *int64     `sql:"completed"`
	Failed             *int64     `sql:"failed"`
	DurationS          *float64   `sql:"duration_s"`
	Settings           *string    `sql:"settings"` // a JSON object, made by settings()
}

type figureRow struct {
	Point     int32   `sql:"point"`
	Name      string  `sql:"name"`
	Statistic string  `sql:"statistic"`
	Unit      *string `sql:"unit"`
	Value     float64 `sql:"value"`
}

type resultRequestRow struct {
	Point        int32    `sql:"point"`
	Seq          int32    `sql:"seq"`
	DueS         *float64 `sql:"due_s"`
	StartedS     *float64 `sql:"started_s"`
	InputTokens  *int64   `sql:"input_tokens"`
	OutputTokens *int64   `sql:"output_tokens"`
	TTFTS        *float64 `sql:"ttft_s"`
	E2ES         *float64 `sql:"e2e_s"`
	TPOTS        *float64 `sql:"tpot_s"`
	ChunkGapsUs  []int32  `sql:"chunk_gaps_us"`
	CachedTokens *int64   `sql:"cached_tokens"`
	SessionID    *string  `sql:"session_id"`
	Turn         *int32   `sql:"turn"`
	IsWarmUp     *bool    `sql:"is_warm_up"`
	Failure      *string  `sql:"failure"`
	FinishReason *string  `sql:"finish_reason"`
}

type documentRow struct {
	Path    string `sql:"path"`
	Content []byte `sql:"content"`
}

type blockDistanceRow struct {
	UpToBlocks *int64 `sql:"up_to_blocks"`
	Uses       int64  `sql:"uses"`
}
