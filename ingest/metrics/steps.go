package metrics

// Step is one step of one rank of an engine. What a source does not say is nil.
type Step struct {
	Engine          string   `sql:"engine"`
	Rank            int32    `sql:"rank"`
	Seq             int64    `sql:"seq"`
	AtNs            int64    `sql:"at_ns"`
	ElapsedS        *float64 `sql:"elapsed_s"`
	PrefillRequests int64    `sql:"prefill_requests"`
	PrefillTokens   int64    `sql:"prefill_tokens"`
	PrefillKVTokens *int64   `sql:"prefill_kv_tokens"`
	DecodeRequests  int64    `sql:"decode_requests"`
	DecodeTokens    int64    `sql:"decode_tokens"`
	DecodeKVTokens  *int64   `sql:"decode_kv_tokens"`
	QueuedRequests  *int64   `sql:"queued_requests"`
	KVUsageRatio    *float64 `sql:"kv_usage_ratio"`
	IsDummy         bool     `sql:"is_dummy"`
}

// Table is where steps are kept.
func (Step) Table() string { return "steps" }

// stepSource is how a source took its steps down.
type stepSource struct {
	ZeroOfYearS   *int64 `sql:"zero_of_year_s"`
	IsByAPIServer bool   `sql:"is_by_api_server"`
	IsAsync       bool   `sql:"is_async"`
	IsSampled     bool   `sql:"is_sampled"`
	LostSteps     int64  `sql:"lost_steps"`
}

func (stepSource) Table() string { return "step_sources" }

// mostOfStep is above any count of tokens or requests of one step that can be true.
const mostOfStep = 1 << 40

// stepSeries are the ranks of a source, to count the steps that it lacks.
type stepSeries map[stepSeriesKey]*stepNumbers

type stepSeriesKey struct {
	engine string
	rank   int32
}

type stepNumbers struct{ highest, lost int64 }

// Several API servers write the lines of one engine in turn, so that a number may come
// after a few higher ones. Further back than this, the engine has begun again.
const mostLate = 64

// saw counts what is missing before a step.
func (s stepSeries) saw(engine string, rank int32, seq int64) {
	key := stepSeriesKey{engine, rank}
	n := s[key]
	switch {
	case n == nil:
		s[key] = &stepNumbers{highest: seq}
	case seq > n.highest:
		n.lost += seq - n.highest - 1
		n.highest = seq
	case seq < n.highest && seq > n.highest-mostLate && n.lost > 0:
		n.lost--
	case seq <= n.highest-mostLate:
		n.highest = seq
	}
}

// lost is how many numbers are missing, of all ranks.
func (s stepSeries) lost() (sum int64) {
	for _, n := range s {
		sum += n.lost
	}
	return sum
}
