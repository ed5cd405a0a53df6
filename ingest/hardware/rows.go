package hardware

// Rows of the raw tables that only this package fills. queries/raw says what each
// column means.

// kernelRow is one kernel of a profile: how often it ran, and how long, in seconds.
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

// kernelRuleRow is one rule; Seq is its place, because the first that matches counts.
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

// gemmTimeRow is a matrix product of m x k by k x n.
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

// expertTimeRow is one layer of a mixture of experts, on the GPUs of its parallel
// sizes.
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

// attentionTimeRow is one attention kernel: NewTokens are added to PastTokens in
// the cache of each of Batch sequences.
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

// mlaTimeRow is one module of multi-head latent attention, as DeepSeek's models
// have it.
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

// allReduceTimeRow is one all-reduce between GPUs.
type allReduceTimeRow struct {
	TableSeq     int32   `sql:"table_seq"`
	Kernel       string  `sql:"kernel"`
	GPUs         int64   `sql:"gpus"`
	IsGraph      bool    `sql:"is_graph"`
	MessageBytes int64   `sql:"message_bytes"`
	Seconds      float64 `sql:"seconds"`
}

func (allReduceTimeRow) Table() string { return "all_reduce_times" }

// exchangeTimeRow is one exchange of tokens between GPUs.
type exchangeTimeRow struct {
	TableSeq     int32   `sql:"table_seq"`
	Operation    string  `sql:"operation"`
	Kernel       string  `sql:"kernel"`
	GPUs         int64   `sql:"gpus"`
	MessageBytes int64   `sql:"message_bytes"`
	Seconds      float64 `sql:"seconds"`
}

func (exchangeTimeRow) Table() string { return "exchange_times" }

// modelConfigRow is a model: the keys of its config that predictions read, and its
// parameters in words.
type modelConfigRow struct {
	Model  string `sql:"model"`
	Config string `sql:"config"`
	Spec   string `sql:"spec"`
}

func (modelConfigRow) Table() string { return "model_configs" }

// gpuRow is a GPU; rates are per second and dense, without sparsity.
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

// priceRow is what an hour of a GPU costs.
type priceRow struct {
	GPU           string  `sql:"gpu"`
	USDPerGPUHour float64 `sql:"usd_per_gpu_hour"`
	Label         *string `sql:"label"`
}

func (priceRow) Table() string { return "prices" }
