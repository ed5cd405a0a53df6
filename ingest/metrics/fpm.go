package metrics

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/maybe"
)

// FPM reads forward pass metrics: JSON lines, a record per step and data-parallel rank of a
// vLLM, SGLang or TensorRT-LLM worker under NVIDIA Dynamo (--fpm-trace), and of SGLang alone,
// whose records have the same keys. A record stands in an envelope {"timestamp", "event"},
// without it, or is the bare payload, which has no instant.
//
// wall_time is from scheduling a step to having its output. It is 0, with nothing scheduled, in
// the heartbeat of a rank without work. Mode "sampled" keeps the newest record of each rank every
// few seconds.
var FPM = read.Format{
	Name:  "fpm",
	Sees:  seesFPM,
	Read:  readFPM,
	Wants: `JSON lines with "schema": "dynamo.fpm.trace.v1", or with "wall_time" and "scheduled_requests"`,
}

func seesFPM(h *read.Head) string {
	switch {
	case !h.IsLines():
		return ""
	case (h.Has("event") || h.Has("schema", "fpm")) && bytes.Contains(h.Line, []byte(`"dynamo.fpm.trace.v1"`)):
		return "records of dynamo.fpm.trace.v1"
	}
	return read.If(h.Has("wall_time", "scheduled_requests"), "forward pass metrics, one record a line")
}

// fpmRecord is one line, or what is in its envelope.
type fpmRecord struct {
	Event      *fpmRecord  `json:"event"`
	Mode       string      `json:"capture_mode"`
	ObservedMs json.Number `json:"observed_at_unix_ms"`
	Payload    *fpmPayload `json:"fpm"`
	fpmPayload
}

type fpmPayload struct {
	Version   json.Number  `json:"version"`
	Worker    string       `json:"worker_id"`
	Rank      int32        `json:"dp_rank"`
	Counter   int64        `json:"counter_id"`
	WallTimeS float64      `json:"wall_time"`
	Scheduled *fpmRequests `json:"scheduled_requests"`
	Queued    *fpmRequests `json:"queued_requests"`
}

type fpmRequests struct {
	Prefills        int64 `json:"num_prefill_requests"`
	PrefillTokens   int64 `json:"sum_prefill_tokens"`
	PrefillKVTokens int64 `json:"sum_prefill_kv_tokens"`
	Decodes         int64 `json:"num_decode_requests"`
	DecodeKVTokens  int64 `json:"sum_decode_kv_tokens"`
}

// areTrue says that no count is negative or beyond what a step can hold.
func (r *fpmRequests) areTrue() bool {
	return !slices.ContainsFunc([]int64{r.Prefills, r.PrefillTokens, r.PrefillKVTokens, r.Decodes, r.DecodeKVTokens}, func(count int64) bool {
		return count < 0 || count > mostOfStep
	})
}

// fpm is one file of records.
type fpm struct {
	out     *read.Rows
	source  stepSource
	series  stepSeries
	workers read.Numbered
	begun   bool
	firstMs int64
	sumNs   map[stepSeriesKey]int64 // of records without an instant: steps follow each other
}

func readFPM(d *read.Document, out *read.Rows) error {
	f := &fpm{out: out, series: stepSeries{}, workers: read.Numbered{Prefix: "worker-"}, sumNs: map[stepSeriesKey]int64{}}
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		var record fpmRecord
		if json.Unmarshal(line, &record) != nil {
			return &read.Reject{Line: number, Reason: read.NotJSON}, nil
		}
		return f.record(number, &record), nil
	})
	if err != nil || len(f.series) == 0 {
		return err
	}
	if f.source.IsSampled {
		out.Note("the trace is a sample, of one step every few seconds: it says how long steps take, and not where the time went")
	} else if f.source.LostSteps = f.series.lost(); f.source.LostSteps > 0 {
		out.Note("%d records are missing between those that are there, by their counters", f.source.LostSteps)
	}
	if len(f.sumNs) > 0 {
		out.Note("records have no instants: each rank's steps are taken to follow each other, and cannot be joined to a run")
	}
	return out.Add(f.source)
}

// Instants of 2001 to 2286, as everywhere: their differences fit into nanoseconds.
const firstUnixMs, lastUnixMs = 1_000_000_000_000, 9_999_999_999_999

// record takes one record in.
func (f *fpm) record(number int64, r *fpmRecord) *read.Reject {
	if r.Event != nil {
		r = r.Event
	}
	p := r.Payload
	if p == nil {
		p = &r.fpmPayload
	}
	scheduled := p.Scheduled
	switch {
	case scheduled == nil:
		return &read.Reject{Line: number, Column: "scheduled_requests", Reason: read.Missing}
	case p.Version != "" && p.Version != "1":
		return &read.Reject{Line: number, Column: "version", Reason: read.NotAKnownWord}
	case p.Counter < 0 || p.Rank < 0 || !scheduled.areTrue() || p.Queued != nil && !p.Queued.areTrue():
		return &read.Reject{Line: number, Column: "counter_id", Reason: read.OutOfRange}
	case !(p.WallTimeS >= 0 && p.WallTimeS < 1e6):
		return &read.Reject{Line: number, Column: "wall_time", Reason: read.OutOfRange}
	}
	engine := p.Worker
	if engine != "" && (len(engine) > 64 || !read.PlainID().MatchString(engine)) {
		engine, _ = f.workers.Of(engine)
	}
	f.source.IsSampled = f.source.IsSampled || r.Mode == "sampled"
	f.series.saw(engine, p.Rank, p.Counter)
	if scheduled.Prefills+scheduled.Decodes == 0 {
		return nil // a heartbeat
	}
	step := Step{
		Engine: engine, Rank: p.Rank, Seq: p.Counter, ElapsedS: maybe.Known(p.WallTimeS),
		PrefillRequests: scheduled.Prefills, PrefillTokens: scheduled.PrefillTokens, PrefillKVTokens: &scheduled.PrefillKVTokens,
		DecodeRequests: scheduled.Decodes, DecodeTokens: scheduled.Decodes, DecodeKVTokens: &scheduled.DecodeKVTokens,
	}
	if p.Queued != nil {
		step.QueuedRequests = new(p.Queued.Prefills + p.Queued.Decodes)
	}
	if r.ObservedMs == "" {
		key := stepSeriesKey{engine, p.Rank}
		f.sumNs[key] = min(f.sumNs[key]+int64(p.WallTimeS*1e9), 1<<62)
		step.AtNs = f.sumNs[key]
		f.out.Add(step)
		return nil
	}
	atMs, err := r.ObservedMs.Int64()
	if err != nil || atMs < firstUnixMs || atMs > lastUnixMs {
		return &read.Reject{Line: number, Column: "observed_at_unix_ms", Reason: read.NotATime}
	}
	if !f.begun {
		f.begun, f.firstMs = true, atMs
		f.out.About.OriginAt, f.out.About.TimeUnit = new(time.UnixMilli(atMs).UTC()), "ms"
	}
	step.AtNs = (atMs - f.firstMs) * 1e6
	f.out.Add(step)
	return nil
}
