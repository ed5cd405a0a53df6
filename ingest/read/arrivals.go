package read

// Rows of raw tables, as readers of whole documents make them: a field is a
// column, a nil pointer is null. queries/raw says what each column means, and in
// which unit.

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

// ArrivalDetail is added beside the arrivalRow of the same line, and only
// where there is something to say.
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

// AddRequest puts in a request and, where the trace says more of it, its details.
func (r *Rows) AddRequest(arrival Arrival, detail ArrivalDetail) error {
	if err := r.Add(arrival); err != nil || detail == (ArrivalDetail{}) {
		return err
	}
	detail.Line = arrival.Line
	return r.Add(detail)
}
