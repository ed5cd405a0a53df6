package week

import (
	"fmt"
	"strings"
	"time"

	"tidemark/analysis/week/fleet"
	"tidemark/analysis/week/forecast"
)

// Report is everything that the page of one service and one week shows. The warehouse keeps it as one JSON document
// (raw.service_weeks), and the marts of services are views on that. A nil number is not known; it is never 0.
// Instants are UTC. Rates are per second, of all replicas together; durations are seconds; money is US dollars.
type Report struct {
	Service    string     `json:"service"`
	Week       string     `json:"week"`      // ISO week in the service's zone: 2026-W47
	FromDay    string     `json:"from_day"`  // Monday, 2026-11-16
	UntilDay   string     `json:"until_day"` // Sunday, 2026-11-22
	TimeZone   string     `json:"time_zone"`
	File       File       `json:"file"`
	Deployment Deployment `json:"deployment"`
	Replicas   []Replicas `json:"replicas"` // in force during the week, oldest first; at least one
	SLO        SLO        `json:"slo"`
	Price      Price      `json:"price"`

	Sources []Source   `json:"sources"` // what the demand and the latencies rest on
	Hours   []Hour     `json:"hours"`   // 167, 168 or 169, in order
	Sums    Sums       `json:"sums"`
	Before  []Sums     `json:"before"` // earlier weeks with data, oldest first, at most the weeks that the forecast may use; the last is last week only if Week says so
	Changes []Change   `json:"changes"`
	Basis   Basis      `json:"basis"`
	Classes []Class    `json:"classes"` // largest share of output tokens first
	Shape   Shape      `json:"shape"`
	Felt    []Felt     `json:"felt"`  // nothing without latencies from production
	Steps   []StepTime `json:"steps"` // time per token by hour; nothing without it
	// Symptoms that fired in the week, the gravest first.
	Symptoms     []Symptom     `json:"symptoms"`
	Looked       int           `json:"looked"` // symptoms that could be looked for
	Alternatives []Alternative `json:"alternatives"`
	// AlternativesWhy says why no other deployment was tried; empty: some were.
	AlternativesWhy string    `json:"alternatives_why,omitempty"`
	Forecast        Forecast  `json:"forecast"`
	Runs            []Run     `json:"runs"`
	Gaps            []Gap     `json:"gaps"`
	Notes           []string  `json:"notes"` // what a reader must know of the data: duplicates, assumed zones, late clocks; whole sentences
	Scaling         []Scaling `json:"scaling"`
	Nines           []Nine    `json:"nines"`
	Fullest         *Minute   `json:"fullest"` // minute with the most requests
	// FailedRequests failed or have no answer: they are demand, and no length and no rehearsal has them.
	FailedRequests int64    `json:"failed_requests"`
	Agents         *Agents  `json:"agents,omitempty"` // nil: no request names its session
	Commands       Commands `json:"commands"`
	Verdict        Verdict  `json:"verdict"`
	LeadUntil      string   `json:"lead_until,omitempty"` // the week in which an order made now serves; empty: at once
	Do             Do       `json:"do"`
	Version        string   `json:"version"` // of the program
	Drift          *Drift   `json:"drift"`   // of the time per token against the weeks before; nil: not known
	// Changed is nil where the servers say nothing, or less than two weeks are known.
	Changed *WhatChanged `json:"changed,omitempty"`
}

// Commands that the page tells a reader to run, for a shell.
type Commands struct {
	Search  string `json:"search"`  // for the capacity of one replica; URL and MODEL stand where the service file names no server
	Collect string `json:"collect"` // of what is missing
}

// File is the service file as it was read.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Text   string `json:"text"`
}

// Deployment is of one replica.
type Deployment struct {
	GPU             string `json:"gpu"`
	Model           string `json:"model"`            // of the catalogue
	ModelName       string `json:"model_name"`       // for people: Llama 3.1 70B
	Quantization    string `json:"quantization"`     // as used
	GPUsPerReplica  int    `json:"gpus_per_replica"` // degrees multiplied
	TensorParallel  int    `json:"tensor_parallel_size"`
	MaxNumSeqs      int    `json:"max_num_seqs"` // 0: the engine's default
	Engine          string `json:"engine"`
	EngineVersion   string `json:"engine_version"`
	InWords         string `json:"in_words"` // 2 x H100, Llama 3.1 70B fp8, vLLM 0.11.2
	IsSaidByTheFile bool   `json:"is_said_by_the_file"`
}

// Replicas are paid for from an instant on.
type Replicas struct {
	From     time.Time `json:"from"` // zero: since ever
	Replicas int       `json:"replicas"`
}

// SLO is what must hold.
type SLO struct {
	Name       string      `json:"name"`
	Objectives []Objective `json:"objectives"`
	Allowed    float64     `json:"allowed_ratio"` // the largest share of requests that one of them lets miss
}

// Objective is one bound.
type Objective struct {
	Name    string   `json:"name"`   // as marts.slo writes it: p99 ttft_from_due
	Metric  string   `json:"metric"` // ttft_from_due
	Percent float64  `json:"percentile"`
	AtMost  float64  `json:"at_most"` // seconds, or a share
	Class   string   `json:"class,omitempty"`
	_       struct{} // fields are named
}

// Price of one GPU for an hour.
type Price struct {
	USDPerGPUHour *float64 `json:"usd_per_gpu_hour"`
	Source        string   `json:"source"`
}

// Source is one that the page rests on.
type Source struct {
	Name        string     `json:"name"`
	Role        string     `json:"role"`   // traffic, metrics, capacity, replay
	Format      string     `json:"format"` // azure, csv, prometheus, ...
	SHA256      string     `json:"sha256"`
	Rows        int64      `json:"rows"`
	From        *time.Time `json:"from"` // first and last row
	Until       *time.Time `json:"until"`
	Covers      string     `json:"covers"`          // rows, day, or FROM/UNTIL as said
	Class       string     `json:"class,omitempty"` // only its requests of that class
	Model       string     `json:"model,omitempty"` // only those for that model
	DuplicateOf string     `json:"duplicate_of"`    // counted there; empty: counted here
	Note        string     `json:"note"`            // no zone given, read as UTC
}

// Hour is one hour of the service. Without data IsMissing is true and what was measured is nil.
type Hour struct {
	Start             time.Time `json:"hour_start"`
	Local             string    `json:"local_hour"` // 2026-10-25 02:00+02:00
	Day               int       `json:"day"`        // 0 Monday to 6 Sunday, local
	HourOfDay         int       `json:"hour_of_day"`
	LengthS           int       `json:"length_s,omitempty"` // of the last hour of a week whose clock is set by half an hour; 0: 3600
	IsMissing         bool      `json:"is_missing"`
	Requests          *int64    `json:"requests"`
	RatePerS          *float64  `json:"rate_per_s"`
	PeakRatePerS      *float64  `json:"peak_rate_per_s"` // of the busiest five minutes by the clock
	InputTokens       *int64    `json:"input_tokens"`
	OutputTokens      *int64    `json:"output_tokens"`
	P50InputTokens    *float64  `json:"p50_input_tokens"`
	P99InputTokens    *float64  `json:"p99_input_tokens"` // nil below 100 requests
	P50OutputTokens   *float64  `json:"p50_output_tokens"`
	P99OutputTokens   *float64  `json:"p99_output_tokens"`
	NeededReplicas    *int      `json:"needed_replicas"` // at the centre of the capacity's interval
	LowNeeded         *int      `json:"low_needed_replicas"`
	HighNeeded        *int      `json:"high_needed_replicas"`
	PaidReplicas      int       `json:"paid_replicas"`
	PaidRatio         *float64  `json:"paid_rate_ratio"`        // what one of these handles over ReplicaRatePerS: replicas that serve together handle more
	ReplicaRatePerS   *float64  `json:"replica_rate_per_s"`     // what one replica handles of this hour's shape, in a fleet as large as is paid for now
	LowReplicaRate    *float64  `json:"low_replica_rate_per_s"` // ends of its 90 % interval
	HighReplicaRate   *float64  `json:"high_replica_rate_per_s"`
	Correction        *float64  `json:"correction_ratio"` // capacity at this hour's shape over that at the basis' shape
	BurstRatio        *float64  `json:"burst_ratio"`      // variance of the five-minute counts over their mean; nil below two bins
	UsualRequests     *Usual    `json:"usual_requests"`   // of the same hour in the four weeks before
	UsualInputTokens  *Usual    `json:"usual_input_tokens"`
	UsualOutputTokens *Usual    `json:"usual_output_tokens"`
	CostUSD           *float64  `json:"cost_usd"` // paid, of this hour
}

// Usual is what the same hour was in the weeks before.
type Usual struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"` // least and most
	High   float64 `json:"high"`
	Weeks  int     `json:"weeks"`
}

// Sums are the headline figures of one week.
type Sums struct {
	Week             string     `json:"week"`
	Hours            int        `json:"hours"`
	MissingHours     int        `json:"missing_hours"`
	Requests         int64      `json:"requests"`
	InputTokens      int64      `json:"input_tokens"`
	OutputTokens     int64      `json:"output_tokens"`
	BusiestHourStart *time.Time `json:"busiest_hour_start"`
	PeakRatePerS     *float64   `json:"peak_rate_per_s"`
	HeadroomRatio    *float64   `json:"headroom_ratio"`
	LowHeadroom      *float64   `json:"low_headroom_ratio"`
	HighHeadroom     *float64   `json:"high_headroom_ratio"`
	GPUHoursNeeded   *float64   `json:"gpu_hours_needed"` // of the covered hours
	GPUHoursPaid     float64    `json:"gpu_hours_paid"`   // of the whole week
	GPUHoursCovered  float64    `json:"gpu_hours_paid_covered"`
	CostUSD          *float64   `json:"cost_usd"`
	AcceptedTokens   *float64   `json:"accepted_output_tokens"`
	USDPerMillion    *float64   `json:"usd_per_million_accepted"`
	LowUSDPerMillion *float64   `json:"low_usd_per_million_accepted"`
	HighUSDPerM      *float64   `json:"high_usd_per_million_accepted"`
	WithinSLO        *float64   `json:"within_slo_ratio"`
	LowWithinSLO     *float64   `json:"low_within_slo_ratio"`
	HighWithinSLO    *float64   `json:"high_within_slo_ratio"`
	IsPredicted      bool       `json:"is_accepted_predicted"` // no latencies from production: accepted is what the capacity would allow
	TPOTRatio        *float64   `json:"tpot_over_predicted_ratio"`
	LowTPOTRatio     *float64   `json:"low_tpot_over_predicted_ratio"`
	HighTPOTRatio    *float64   `json:"high_tpot_over_predicted_ratio"`
	BandRatio        *float64   `json:"predicted_band_ratio"` // a ratio up to 1 + this is within the band
	IsMet            *bool      `json:"is_met"`               // production's SLO; nil: not known
	BrokenHours      int        `json:"broken_hours"`         // hours in which production broke the SLO
	Sentence         string     `json:"sentence"`             // the headline
}

// Agents are the sessions of a week: calls that belong together, such as those of an agent with tools between them.
type Agents struct {
	Sessions int64    `json:"sessions"`
	Rounds   int64    `json:"rounds"`     // requests that name a session
	Waits    int64    `json:"waits"`      // of these, requests whose wait after the answer before them is known
	P50WaitS *float64 `json:"p50_wait_s"` // from an answer to the next round: tools and people
	P90WaitS *float64 `json:"p90_wait_s"`
}

// Change of a figure against the week before, over the hours that both cover.
type Change struct {
	Figure string   `json:"figure"` // a column of Sums, such as requests
	Before *float64 `json:"before"` // the figure last week
	Ratio  *float64 `json:"ratio"`  // this week's over last week's, minus 1
	Low    *float64 `json:"low"`    // ends of its 90 % interval
	High   *float64 `json:"high"`
	IsTold bool     `json:"is_told"` // the interval leaves out 0
}

// Basis is where the capacity of a replica comes from.
type Basis struct {
	Kind           string        `json:"kind"`   // measured, simulated or rehearsed: of a search; predicted: rehearsed for this page
	Search         string        `json:"search"` // its id in marts.capacities; empty: none fits
	SourceName     string        `json:"source_name"`
	EndedAt        *time.Time    `json:"ended_at"`
	AgeDays        *float64      `json:"age_days"` // at the week's end
	RatePerS       *float64      `json:"replica_rate_per_s"`
	LowRatePerS    *float64      `json:"low_replica_rate_per_s"`
	HighRatePerS   *float64      `json:"high_replica_rate_per_s"`
	IsImpossible   bool          `json:"is_impossible"` // at the busiest hour's lengths no rate is small enough for the SLO
	Binding        string        `json:"binding_objective"`
	ShapeDistance  *float64      `json:"shape_distance"` // largest KS distance of input or output tokens between the measured window and this week
	IsOtherShape   bool          `json:"is_other_shape"`
	Correction     *float64      `json:"correction_ratio"` // rehearsed at the week's shape over rehearsed at the measured one
	Model          *float64      `json:"model_band_ratio"` // of a prediction: how far it may be off, one side
	Rehearsals     int           `json:"rehearsals"`
	AnchorWeek     string        `json:"anchor_week"` // whose requests were rehearsed: this week, or an earlier one that its traffic looks like
	Curve          []Share       `json:"curve"`       // share of requests that miss, over the multiple of the basis' window
	Points         []Point       `json:"points"`
	AllowedRatio   *float64      `json:"allowed_ratio"`
	WindowRatePerS *float64      `json:"window_rate_per_s"` // mean rate of the window per replica at multiple 1
	Alone          float64       `json:"alone,omitempty"`   // what the binding objective comes to without load, in the unit of its bound, where that misses it already; 0: it does not
	Fleets         []fleet.Fleet `json:"fleets"`            // what a replica handles in fleets of other sizes, at the busiest hour
	Constants      string        `json:"constants"`         // a name of the step times that are rehearsed with
	Sentence       string        `json:"sentence"`          // what the page rests on
}

// Share of requests that miss the binding objective at a rate.
type Share struct {
	RatePerS float64 `json:"rate_per_s"` // of one replica
	Missed   float64 `json:"missed_ratio"`
	Low      float64 `json:"low_missed_ratio"`
	High     float64 `json:"high_missed_ratio"`
}

// Point is a run of the search.
type Point struct {
	Share
	IsValid bool   `json:"is_valid"`
	Run     string `json:"run"`
}

// Class of requests, or model asked for.
type Class struct {
	Name         string   `json:"name"`
	Requests     int64    `json:"requests"`
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	Growth       *float64 `json:"requests_growth_ratio"` // against last week
}

// Shape is how long prompts and answers were.
type Shape struct {
	Cells     []Cell     `json:"cells"`
	Quantiles []Quantile `json:"quantiles"`
	Input     *Distance  `json:"input"`
	Output    *Distance  `json:"output"`
	Slice     []Distance `json:"slices"` // of the replays of the week against the week
}

// Cell of the heat map. Bounds are powers of two over two.
type Cell struct {
	InputFrom  float64 `json:"input_from"`
	InputTo    float64 `json:"input_to"`
	OutputFrom float64 `json:"output_from"`
	OutputTo   float64 `json:"output_to"`
	Requests   int64   `json:"requests"`
	Tokens     int64   `json:"tokens"` // prompt and answer
}

// Quantile of a length this week and last.
type Quantile struct {
	Name   string   `json:"name"` // p50 input_tokens
	This   *float64 `json:"this"`
	Before *float64 `json:"before"`
	Ratio  *float64 `json:"ratio"` // this over last, minus 1
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
}

// Distance between two distributions of lengths.
type Distance struct {
	What        string  `json:"what"`
	KS          float64 `json:"ks"`          // largest difference of the two shares below any length
	Wasserstein float64 `json:"wasserstein"` // of ln tokens
	IsMoved     bool    `json:"is_moved"`
	IsUnknown   bool    `json:"is_unknown"` // may have moved: too few requests to tell
}

// Felt is a latency in production in one hour, from histograms: a quantile lies between two bucket bounds.
type Felt struct {
	Start    time.Time `json:"hour_start"`
	Metric   string    `json:"metric"` // ttft, tpot, queue, e2e
	Count    int64     `json:"count"`
	P50      *Bounds   `json:"p50"`
	P95      *Bounds   `json:"p95"`
	P99      *Bounds   `json:"p99"`             // nil below 100
	Within   *Bounds   `json:"within_ratio"`    // share within the SLO's bound; nil without one
	Errors   *float64  `json:"errors_per_s"`    // of the hour; on ttft only
	Rejected *float64  `json:"rejected_per_s"`  // likewise
	MeanS    *float64  `json:"mean_s"`          // sum over count
	Limit    *float64  `json:"limit_s"`         // of the SLO
	IsBroken bool      `json:"is_broken"`       // the objective's quantile lies above the limit for certain
	Waiting  *float64  `json:"waiting"`         // requests in the queue, mean; on queue only
	KVUsage  *float64  `json:"kv_usage_ratio"`  // mean; on queue only
	Preempt  *float64  `json:"preempted_per_s"` // likewise
}

// Bounds of a number that is known to lie between them.
type Bounds struct {
	Low  float64  `json:"low"`
	High *float64 `json:"high"` // nil: open
}

// StepTime is the time per token of one hour beside what memory bandwidth allows, seconds.
type StepTime struct {
	Start     time.Time `json:"hour_start"`
	Measured  float64   `json:"measured_tpot_s"`
	Floor     float64   `json:"floor_tpot_s"`
	Predicted float64   `json:"predicted_tpot_s"`
	Low       float64   `json:"low_predicted_tpot_s"` // ends of the prediction's band
	High      float64   `json:"high_predicted_tpot_s"`
	Terms     []Term    `json:"terms"`
	Running   float64   `json:"running"`        // sequences in a replica's batch, mean
	Context   float64   `json:"context_tokens"` // of each, mean
	IsOut     bool      `json:"is_out_of_band"`
}

// Term of a prediction.
type Term struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Symptom that fired.
type Symptom struct {
	Name      string     `json:"name"`
	First     *time.Time `json:"first_hour"`
	Last      *time.Time `json:"last_hour"`
	Hours     int        `json:"hours"`
	Found     string     `json:"found"`     // the figures that fired it
	Confirmed string     `json:"confirmed"` // what confirms it
	Try       string     `json:"try"`
	IsForGPUs bool       `json:"is_for_gpus"` // more GPUs would have helped
	Symptom   string     `json:"symptom"`     // name in marts.symptoms
	IsBroken  bool       `json:"is_broken"`   // production broke the SLO in one of its hours
}

// IsConfirmed says that what confirms the symptom was measured and agrees. What is not confirmed is no cause.
func (s Symptom) IsConfirmed() bool { return strings.HasPrefix(s.Confirmed, "confirmed: ") }

// Alternative is another way to serve this week.
type Alternative struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"` // today, measured, rehearsed, predicted
	GPUs        int      `json:"gpus"`
	Replicas    int      `json:"replicas"`
	Headroom    *float64 `json:"headroom_ratio"` // at the low end
	USDPerWeek  *float64 `json:"usd_per_week"`
	USDPerM     *float64 `json:"usd_per_million_accepted"`
	IsDominated bool     `json:"is_dominated"`
	Why         string   `json:"why"`             // it loses, or what it rests on
	IsOther     bool     `json:"is_other_format"` // the answers may differ from today's: weights in another format
}

// Forecast of the weekly peak.
type Forecast struct {
	Why             string          `json:"why"`    // there is none; empty: there is one
	Method          string          `json:"method"` // the one used: seasonal with a damped trend, or naive
	Weeks           int             `json:"weeks"`  // of history used
	History         []ForecastWeek  `json:"history"`
	Ahead           []ForecastWeek  `json:"ahead"`
	Naive           []ForecastWeek  `json:"naive"`
	GrowthRatio     *float64        `json:"growth_ratio"` // of the weekly peak, a week
	LowGrowth       *float64        `json:"low_growth_ratio"`
	HighGrowth      *float64        `json:"high_growth_ratio"`
	Needs           []forecast.Need `json:"needs"` // when each further replica is needed
	Error           *float64        `json:"error"` // of the back-test one to four weeks ahead, mean of |ln|
	NaiveError      *float64        `json:"naive_error"`
	Month           *forecast.Check `json:"month"` // how good last month's forecast of this week was
	RequestsAhead   *ForecastWeek   `json:"requests_ahead"`
	PeakAhead       *ForecastWeek   `json:"peak_ahead"`
	NaivePeakAhead  *ForecastWeek   `json:"naive_peak_ahead"`
	NextReplicaWeek string          `json:"next_replica_week"` // empty: not within a year
	EarliestReplica string          `json:"earliest_replica_week"`
	HoldsUntilWeeks int             `json:"weeks_ahead"`
}

// ForecastWeek is the peak rate of a week: measured, or with a 90 % band.
type ForecastWeek struct {
	Week   string   `json:"week"`
	Monday string   `json:"monday"`
	Peak   float64  `json:"peak_rate_per_s"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
}

// Run is a replay of the week.
type Run struct {
	ID      string   `json:"run_id"`
	Traffic string   `json:"traffic"`
	Origin  string   `json:"origin"`
	P99TTFT *float64 `json:"p99_ttft_s"`
	P99TPOT *float64 `json:"p99_tpot_s"`
	Ratio   *float64 `json:"tpot_over_predicted_ratio"`
	IsValid bool     `json:"is_valid"`
	Why     string   `json:"why"` // not valid
	Met     *bool    `json:"is_met"`
	Checks  int      `json:"checks"` // of its certificate
	Broken  []string `json:"broken"`
}

// Gap is a stretch without data.
type Gap struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	Hours int       `json:"hours"`
	Why   string    `json:"why"`
}

// Scaling is a way to switch replicas on and off, and what it costs.
type Scaling struct {
	Name     string   `json:"name"`
	GPUHours float64  `json:"gpu_hours"`
	USD      *float64 `json:"cost_usd"`
	Saved    *float64 `json:"saved_ratio"`
	Note     string   `json:"note"`
}

// Nine is what one more nine of requests within the SLO costs.
type Nine struct {
	Share    float64  `json:"within_slo_ratio"`
	Replicas *int     `json:"replicas"` // at peak; nil: no number reaches it
	USD      *float64 `json:"usd_per_week"`
	More     *float64 `json:"usd_per_week_more"`
}

// Minute with its count.
type Minute struct {
	Start    time.Time `json:"start"`
	Requests int64     `json:"requests"`
}

// Do is the one recommendation.
type Do struct {
	Verb    string   `json:"verb"` // buy, scale, fix, move, measure, nothing
	Text    string   `json:"text"` // one or two sentences
	SavesUS *float64 `json:"saves_usd"`
	Rule    string   `json:"rule"`
	Command string   `json:"command,omitempty"` // that does it
}

// Drift says why the time per token changed against the same hours of the weeks before: measured = traffic times hardware.
type Drift struct {
	Weeks    int       `json:"weeks"`
	Hours    int       `json:"hours"`    // that have an hour to be compared with
	Measured DriftPart `json:"measured"` // the time per token
	Traffic  DriftPart `json:"traffic"`  // its prediction at each hour's batch and context
	Hardware DriftPart `json:"hardware"` // measured over prediction: what the traffic does not explain
	Sentence string    `json:"sentence"`
}

// WhatChanged is the answer of "tidemark drift" for the week and the three before.
type WhatChanged struct {
	Verdict  string `json:"verdict"` // as Changed's
	Sentence string `json:"sentence"`
}

// DriftPart is now over then, minus 1, with a 90 % interval over days.
type DriftPart struct {
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Zone is the service's zone with its offset from UTC, such as Europe/Berlin (+01:00); both where the clock changes within the week.
func (r *Report) Zone() string {
	if len(r.Hours) == 0 {
		return r.TimeZone
	}
	const width = len("+01:00") // the end of an hour's local time
	first, last := r.Hours[0].Local, r.Hours[len(r.Hours)-1].Local
	first, last = first[max(len(first)-width, 0):], last[max(len(last)-width, 0):]
	if first != last {
		return fmt.Sprintf("%s (%s, from the change of the clock %s)", r.TimeZone, first, last)
	}
	return fmt.Sprintf("%s (%s)", r.TimeZone, first)
}
