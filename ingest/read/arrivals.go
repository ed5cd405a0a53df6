package read

// Rows of raw tables, as readers of whole documents make them: a field is a
// column, a nil pointer is null. queries/raw says what each column means, and in
// which unit.

// Arrival is one request of a trace. ArrivalNs counts from About.OriginAt, or from
// the file's own zero. Blocks are the ids of the prompt's prefix blocks.
type Arrival struct {
	Line         int64    `sql:"line"`
	ArrivalNs    int64    `sql:"arrival_ns"`
	InputTokens  int64    `sql:"input_tokens"`
	OutputTokens int64    `sql:"output_tokens"`
	SessionID    *string  `sql:"session_id"`
	Turn         *int32   `sql:"turn"`
	Class        *string  `sql:"class"`
	Blocks       []uint64 `sql:"blocks"`
}

func (Arrival) Table() string { return "arrivals" }

// ArrivalDetail is what only some traces say about the request of the same line.
type ArrivalDetail struct {
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

func (ArrivalDetail) Table() string { return "arrival_details" }

// LengthCell is a cell of a histogram: so many requests with lengths above one
// bound and up to the other, in tokens. An open bound is nil.
type LengthCell struct {
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

func (LengthCell) Table() string { return "length_cells" }

// RateWindow is how many requests came in a window of time, and the distribution of
// the gaps between them, where that is known.
type RateWindow struct {
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

func (RateWindow) Table() string { return "rate_windows" }

// AddRequest adds a request and, where the trace says more about it, its details.
func (r *Rows) AddRequest(arrival Arrival, detail ArrivalDetail) error {
	if err := r.Add(arrival); err != nil || detail == (ArrivalDetail{}) {
		return err
	}
	detail.Line = arrival.Line
	return r.Add(detail)
}
