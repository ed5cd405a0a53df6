package results

import (
	"time"

	"tidemark/ingest/read"
)

// requests fills in how many there were, and of which lengths.
func (row *Point) requests(of any) {
	row.Requests, row.Failed = read.NumberAt(of, "total").Count(), read.NumberAt(of, "failures").Count()
	if row.Requests != nil && row.Failed != nil && *row.Failed <= *row.Requests {
		row.Completed = new(*row.Requests - *row.Failed)
		if open := read.NumberAt(of, "incomplete").Count(); open != nil {
			row.Completed = new(max(*row.Completed-*open, 0))
		}
	}
}

func (r Point) Check(out *read.Rows) (read.Row, bool) {
	sanePoint(out, &r)
	r.Point += out.FirstPoint
	if out.Label != "" {
		r.Label = &out.Label
	}
	return r, true
}

func (r Figure) Check(out *read.Rows) (read.Row, bool) {
	isSane := saneFigure(out, r)
	r.Point += out.FirstPoint
	return r, isSane
}

func (r Request) Check(out *read.Rows) (read.Row, bool) {
	saneRequest(out, &r)
	r.Point += out.FirstPoint
	r.SessionID = out.Session(r.SessionID)
	return r, true
}

type Point struct {
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

func (Point) Table() string { return "points" }

type Figure struct {
	Point     int32   `sql:"point"`
	Name      string  `sql:"name"`
	Statistic string  `sql:"statistic"`
	Unit      *string `sql:"unit"`
	Value     float64 `sql:"value"`
}

func (Figure) Table() string { return "figures" }

type Request struct {
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

func (Request) Table() string { return "result_requests" }
