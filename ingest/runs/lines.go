package runs

// requestLine is a line of requests.jsonl.zst: a request that ended. Times are
// seconds since the run began.
type requestLine struct {
	Seq                  *int64    `json:"seq" must:"be"`
	Session              *string   `json:"session" sql:"session_id"`
	Turn                 *int64    `json:"turn"`
	Class                *string   `json:"class"`
	IsWarmUp             *bool     `json:"is_warm_up" must:"be"`
	InputTokens          *int64    `json:"input_tokens" must:"be"`
	OutputTokens         *int64    `json:"output_tokens" must:"be"`
	SharedTokens         *int64    `json:"shared_tokens"`
	Due                  *float64  `json:"due_s" must:"be"`
	Sent                 *float64  `json:"sent_s"`
	Written              *float64  `json:"written_s"`
	Headers              *float64  `json:"headers_s"`
	FirstToken           *float64  `json:"first_token_s"`
	LastToken            *float64  `json:"last_token_s"`
	Done                 *float64  `json:"done_s"`
	Held                 *float64  `json:"held_s"`
	Connect              *float64  `json:"connect_s"`
	InputTokensReported  *int64    `json:"input_tokens_reported"`
	OutputTokensReported *int64    `json:"output_tokens_reported"`
	OutputTokensCounted  *int64    `json:"output_tokens_counted"`
	CachedTokensReported *int64    `json:"cached_tokens_reported"`
	HTTPStatus           *int64    `json:"http_status"`
	FinishReason         *string   `json:"finish_reason"`
	Failure              *string   `json:"failure"`
	FailureDetail        *string   `json:"failure_detail"`
	ChunkOffsets         *integers `json:"chunk_offsets_us"`
	ChunkTokens          *integers `json:"chunk_tokens"`
	Reads                *int64    `json:"reads"`
	Endpoint             *string   `json:"endpoint"`
	ServerTTFT           *float64  `json:"server_ttft_s"`
	ServerGeneration     *float64  `json:"server_generation_s"`
	ServerQueue          *float64  `json:"server_queue_s"`
	ServerMeanITL        *float64  `json:"server_mean_itl_s"`
	ServerEngine         *float64  `json:"server_engine_s"`
	ServerRecomputed     *int64    `json:"server_recomputed_tokens"`
}

// planLine is a line of plan.jsonl.zst, less what only the sender needs.
type planLine struct {
	Seq          *int64   `json:"seq" must:"be"`
	Session      *string  `json:"session" sql:"session_id"`
	Turn         *int64   `json:"turn"`
	Class        *string  `json:"class"`
	InputTokens  *int64   `json:"input_tokens" must:"be"`
	OutputTokens *int64   `json:"output_tokens" must:"be"`
	SharedTokens *int64   `json:"shared_tokens"`
	Due          *float64 `json:"due_s" must:"be"`
}
