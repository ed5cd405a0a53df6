package results

import (
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/maybe"
)

// The rows that every format of this package makes. A nil pointer is null: the tool
// does not say. queries/raw has a table of the same name for each, and says what a
// column means.

// openLoad is "open" where a rate was asked for, and closedLoad "closed" where a number in
// flight was. Tools that write both differ in which of the two they obeyed.
func (row *Point) openLoad() *string {
	return maybe.Known(read.If(row.RequestRatePerS != nil, "open"))
}

func (row *Point) closedLoad() *string {
	return maybe.Known(read.If(row.MaxConcurrency != nil, "closed"))
}

// requests fills in how many there were, and of which lengths.
func (row *Point) requests(of read.Object) {
	row.Requests, row.Failed = of.Count("total"), of.Count("failures")
	if row.Requests != nil && row.Failed != nil && *row.Failed <= *row.Requests {
		row.Completed = new(*row.Requests - *row.Failed)
		if open := of.Count("incomplete"); open != nil {
			row.Completed = new(max(*row.Completed-*open, 0))
		}
	}
}

// pointsOf is how many points there are so far, which is the number of the next.
func pointsOf(out *read.Rows) int32 { return int32(out.Counts[Point{}.Table()]) }

// Check drops what cannot be from the point, and gives it the next number of its source. In a
// results folder, whose files make one source, points have the names of their files.
func (r Point) Check(out *read.Rows) (read.Row, bool) {
	sanePoint(out, &r)
	r.Point = pointsOf(out)
	if out.Label != "" {
		r.Label = &out.Label
	}
	return r, true
}

// Check says whether the figure can be kept. It is one of the point before it.
func (r Figure) Check(out *read.Rows) (read.Row, bool) {
	r.Point = pointsOf(out) - 1
	return r, saneFigure(out, r)
}

// Check drops what cannot be from the request. It is one of the point that comes after it,
// because a file of requests alone has a point only once they are counted. A session's id that
// may be somebody's name is replaced by a number.
func (r Request) Check(out *read.Rows) (read.Row, bool) {
	saneRequest(out, &r)
	r.Point = pointsOf(out)
	r.SessionID = out.Session(r.SessionID)
	return r, true
}

// Point is one run of a benchmark, or one step of a sweep. Load says how requests
// went out: "open" at a rate, "closed" with a fixed number in flight, "at once",
// "sessions" or "offline".
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

// Table is where points are kept.
func (Point) Table() string { return "points" }

// Figure is one number that a tool computed over a run. Name is the tool's own
// word, Statistic one of mean, p50, p99, min, max, std, sum, count or value, and
// Unit the tool's unit, not converted: SQL does that.
type Figure struct {
	Point     int32   `sql:"point"`
	Name      string  `sql:"name"`
	Statistic string  `sql:"statistic"`
	Unit      *string `sql:"unit"`
	Value     float64 `sql:"value"`
}

// Table is where figures are kept.
func (Figure) Table() string { return "figures" }

// Request is one request as the client measured it. Instants (DueS, StartedS) count
// from a zero of the file's own; with DueS a reader can tell how late a request was
// sent.
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

// Table is where requests of results are kept; those of our own runs are in
// raw.requests.
func (Request) Table() string { return "result_requests" }
