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

func (arrivalRow) Table() string { return "arrivals" }

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

func (arrivalDetailRow) Table() string { return "arrival_details" }

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

func (lengthCellRow) Table() string { return "length_cells" }

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

func (rateWindowRow) Table() string { return "rate_windows" }

type metricRow struct {
	Scrape int32   `sql:"scrape"`
	AtNs   *int64  `sql:"at_ns"`
	Name   string  `sql:"name"`
	Labels string  `sql:"labels"`
	Value  float64 `sql:"value"`
}

func (metricRow) Table() string { return "metrics" }

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

func (kernelRow) Table() string { return "kernels" }

type kernelRuleRow struct {
	Seq      int32  `sql:"seq"`
	Pattern  string `sql:"pattern"`
	Category string `sql:"category"`
}

func (kernelRuleRow) Table() string { return "kernel_rules" }

// kernelTableRow is where the times that name it by its seq were measured.
type kernelTableRow struct {
	Seq           int32  `sql:"seq"`
	GPU           string `sql:"gpu"`
	Engine        string `sql:"engine"`
	EngineVersion string `sql:"engine_version"`
}

func (kernelTableRow) Table() string { return "kernel_tables" }

type gemmTimeRow struct {
	TableSeq int32   `sql:"table_seq"`
	Format   string  `sql:"format"`
	Kernel   string  `sql:"kernel"`
	M        int64   `sql:"m"`
	N        int64   `sql:"n"`
	K        int64   `sql:"k"`
	Seconds  float64 `sql:"seconds"`
}

func (gemmTimeRow) Table() string { return "gemm_times" }

type expertTimeRow struct {
	TableSeq           int32   `sql:"table_seq"`
	Format             string  `sql:"format"`
	Kernel             string  `sql:"kernel"`
	Router             string  `sql:"router"`
	Tokens             int64   `sql:"tokens"`
	Hidden             int64   `sql:"hidden"`
	Intermediate       int64   `sql:"intermediate"`
	Experts            int64   `sql:"experts"`
	ExpertsPerToken    int64   `sql:"experts_per_token"`
	TensorParallelSize int64   `sql:"tensor_parallel_size"`
	ExpertParallelSize int64   `sql:"expert_parallel_size"`
	Seconds            float64 `sql:"seconds"`
}

func (expertTimeRow) Table() string { return "expert_times" }

type attentionTimeRow struct {
	TableSeq     int32   `sql:"table_seq"`
	Phase        string  `sql:"phase"`
	Kernel       string  `sql:"kernel"`
	KVFormat     string  `sql:"kv_format"`
	Batch        int64   `sql:"batch"`
	NewTokens    int64   `sql:"new_tokens"`
	PastTokens   int64   `sql:"past_tokens"`
	QueryHeads   int64   `sql:"query_heads"`
	KVHeads      int64   `sql:"kv_heads"`
	HeadDim      int64   `sql:"head_dim"`
	WindowTokens *int64  `sql:"window_tokens"`
	Seconds      float64 `sql:"seconds"`
}

func (attentionTimeRow) Table() string { return "attention_times" }

type mlaTimeRow struct {
	TableSeq   int32   `sql:"table_seq"`
	Phase      string  `sql:"phase"`
	Kernel     string  `sql:"kernel"`
	Model      string  `sql:"model"`
	Format     string  `sql:"format"`
	KVFormat   string  `sql:"kv_format"`
	QueryHeads int64   `sql:"query_heads"`
	Batch      int64   `sql:"batch"`
	NewTokens  int64   `sql:"new_tokens"`
	PastTokens int64   `sql:"past_tokens"`
	Seconds    float64 `sql:"seconds"`
}

func (mlaTimeRow) Table() string { return "mla_times" }

type allReduceTimeRow struct {
	TableSeq     int32   `sql:"table_seq"`
	Kernel       string  `sql:"kernel"`
	GPUs         int64   `sql:"gpus"`
	IsGraph      bool    `sql:"is_graph"`
	MessageBytes int64   `sql:"message_bytes"`
	Seconds      float64 `sql:"seconds"`
}

func (allReduceTimeRow) Table() string { return "all_reduce_times" }

type modelConfigRow struct {
	Model  string `sql:"model"`
	Config string `sql:"config"`
	Spec   string `sql:"spec"`
}

func (modelConfigRow) Table() string { return "model_configs" }

type gpuRow struct {
	GPU          string   `sql:"gpu"`
	Aliases      *string  `sql:"aliases"`
	MemoryBytes  float64  `sql:"memory_bytes"`
	HBMBytesPerS float64  `sql:"hbm_bytes_per_s"`
	BF16FlopPerS float64  `sql:"bf16_flop_per_s"`
	FP8FlopPerS  *float64 `sql:"fp8_flop_per_s"`
	FP4FlopPerS  *float64 `sql:"fp4_flop_per_s"`
	Link         string   `sql:"link"`
}

func (gpuRow) Table() string { return "gpus" }

type priceRow struct {
	GPU           string  `sql:"gpu"`
	USDPerGPUHour float64 `sql:"usd_per_gpu_hour"`
	Label         *string `sql:"label"`
}

func (priceRow) Table() string { return "prices" }

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

func (pointRow) Table() string { return "points" }

type figureRow struct {
	Point     int32   `sql:"point"`
	Name      string  `sql:"name"`
	Statistic string  `sql:"statistic"`
	Unit      *string `sql:"unit"`
	Value     float64 `sql:"value"`
}

func (figureRow) Table() string { return "figures" }

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

func (resultRequestRow) Table() string { return "result_requests" }

type documentRow struct {
	Path    string `sql:"path"`
	Content []byte `sql:"content"`
}

func (documentRow) Table() string { return "documents" }
