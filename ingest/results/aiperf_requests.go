package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"tidemark/ingest/read"
)

// AIPerfRequests reads AIPerf's profile_export.jsonl: one line per request,
// instants in Unix nanoseconds, and every number with its unit. Requests of the
// warm-up are marked and not counted among the run's.
var AIPerfRequests = read.Format{
	Name:  "aiperf-requests",
	Sees:  seesAIPerfRequests,
	Read:  readAIPerfRequests,
	Wants: "a line a request: metadata with request_start_ns and benchmark_phase, metrics with their units",
}

// seesAIPerfRequests looks into the first line, because metadata and metrics alone
// are keys of an aggregate, too.
func seesAIPerfRequests(h *read.Head) string {
	return read.If(h.Has("metadata", "metrics") && bytes.Contains(h.Line, []byte(`"request_start_ns"`)), "requests of AIPerf: metadata.request_start_ns, metrics")
}

// aiperfLine is one request. credit_issued_ns is when the client's scheduler let it
// go: that is when it was due.
type aiperfLine struct {
	Metadata struct {
		Session    read.Text `json:"conversation_id"`
		Other      read.Text `json:"x_correlation_id"`
		Turn       *int32    `json:"turn_index"`
		Issued     *int64    `json:"credit_issued_ns"`
		Start      *int64    `json:"request_start_ns"`
		End        *int64    `json:"request_end_ns"`
		Phase      read.Text `json:"benchmark_phase"`
		IsCanceled bool      `json:"was_cancelled"`
	} `json:"metadata"`
	Metrics read.Object `json:"metrics"`
	Error   *struct {
		Code    *int64    `json:"code"`
		Type    read.Text `json:"type"`
		Message *string   `json:"message"`
	} `json:"error"`
}

// readAIPerfRequests counts the run while it reads its requests: the file has no
// totals.
func readAIPerfRequests(d *read.Document, out *read.Rows) error {
	point := Point{Tool: "aiperf", Completed: new(int64(0)), Failed: new(int64(0)), Requests: new(int64(0))}
	var origin, first int64 // Unix ns: of the first line, and the earliest
	seq := int32(0)
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		var request aiperfLine
		if json.Unmarshal(line, &request) != nil {
			return &read.Reject{Reason: read.NotJSON}, nil
		}
		start := request.Metadata.Start
		switch {
		case start == nil:
			return &read.Reject{Column: "request_start_ns", Reason: read.Missing}, nil
		case *start <= 0 || *start > math.MaxInt64/2:
			return &read.Reject{Column: "request_start_ns", Reason: read.OutOfRange}, nil
		}
		if origin == 0 {
			origin, first = *start, *start
		}
		first = min(first, *start)
		if request.Error != nil && request.Error.Message != nil && *request.Error.Message != "" {
			out.Text("error.message")
		}
		row := request.row(origin)
		row.Seq = seq
		seq++
		for name, value := range map[string]*float64{"time_to_first_token": row.TTFTS, "request_latency": row.E2ES, "inter_token_latency": row.TPOTS} {
			if value == nil && request.Metrics.Object(name) != nil {
				out.Implausible(name, "no number in a known unit", 1)
			}
		}
		if row.IsWarmUp == nil || !*row.IsWarmUp {
			*point.Requests++
			if row.Failure == nil {
				*point.Completed++
			} else {
				*point.Failed++
			}
		}
		return nil, out.Add(row)
	})
	if err != nil || seq == 0 {
		return err
	}
	point.StartedAt = new(time.Unix(0, first).UTC())
	out.About.OriginAt = new(time.Unix(0, origin).UTC())
	out.About.TimeUnit = "ns"
	return out.Add(point)
}

// row is the request, with instants in seconds since the first line's start.
func (l *aiperfLine) row(origin int64) Request {
	seconds := func(name string) *float64 { return metricSeconds(l.Metrics.Object(name)) }
	tokens := func(name string) *int64 { return l.Metrics.Object(name).Count("value") }
	row := Request{
		StartedS:    new(float64(*l.Metadata.Start-origin) * 1e-9),
		InputTokens: tokens("input_sequence_length"), OutputTokens: tokens("output_sequence_length"),
		TTFTS: seconds("time_to_first_token"), E2ES: seconds("request_latency"), TPOTS: seconds("inter_token_latency"),
		CachedTokens: tokens("usage_prompt_cache_read_tokens"), Turn: l.Metadata.Turn,
		ChunkGapsUs: l.gaps(), IsWarmUp: new(l.Metadata.Phase == "warmup"), Failure: l.failure(),
		SessionID: cmp.Or(read.WordOrNil(string(l.Metadata.Session)), read.WordOrNil(string(l.Metadata.Other))),
	}
	if l.Metadata.Issued != nil {
		row.DueS = new(float64(*l.Metadata.Issued-origin) * 1e-9)
	}
	return row
}

// gaps are the times between chunks, where the file has them in a unit that is known.
func (l *aiperfLine) gaps() []int32 {
	metric := l.Metrics.Object("inter_chunk_latency")
	values, unit := metric.List("value"), metric.Word("unit")
	if len(values) == 0 || unit == nil || secondsIn[*unit] == 0 {
		return nil
	}
	gaps := make([]int32, len(values))
	for i, value := range values {
		seconds, isNumber := value.(float64)
		if !isNumber && value != nil {
			return nil
		}
		gaps[i] = microseconds(seconds * secondsIn[*unit])
	}
	return gaps
}

// failure prefers the HTTP status to the words of the client.
func (l *aiperfLine) failure() *string {
	switch {
	case l.Metadata.IsCanceled:
		return new("cancelled")
	case l.Error == nil:
		return nil
	case l.Error.Code != nil && *l.Error.Code >= 400 && *l.Error.Code < 600:
		return new("http_" + strconv.FormatInt(*l.Error.Code, 10))
	case l.Error.Type == "":
		return new("other")
	}
	return failureOf(string(l.Error.Type))
}

// earliestStart is the first instant at which a request of the lines was sent; nil
// where none says so. It searches the text instead of parsing it, because the file
// may be cut in the middle of a line.
func earliestStart(lines []byte) *time.Time {
	key := []byte(`"request_start_ns":`)
	earliest := int64(0)
	for {
		_, after, found := bytes.Cut(lines, key)
		if !found {
			break
		}
		lines = bytes.TrimLeft(after, " ")
		ns, used, reason := read.Integer(lines)
		if reason == "" && ns > 0 && used < len(lines) && (earliest == 0 || ns < earliest) {
			earliest = ns
		}
	}
	if earliest == 0 {
		return nil
	}
	return new(time.Unix(0, earliest).UTC())
}
