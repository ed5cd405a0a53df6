package traces

import (
	"bytes"
	"cmp"
	"encoding/json"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/maybe"
)

// Dynamo reads NVIDIA Dynamo's request traces: JSON lines, each an event, bare or
// in an envelope {"timestamp": ..., "event": {...}}. A request is reported when it
// ends, so rows come in the order of their ends. Events of tools and payloads are
// passed over.
//
//	dynamo.request.trace.v1   agent_context.session_id, parent_session_id
//	dynamo.agent.trace.v1     trajectory_id or program_id in their place
var Dynamo = read.Format{
	Name:  "dynamo",
	Sees:  seesDynamo,
	Read:  readDynamo,
	Wants: `JSON lines with "schema": "dynamo.request.trace.v1", "event_type" and "request"`,
}

// seesDynamo looks for the name of a schema in the first line.
func seesDynamo(h *read.Head) string {
	if !h.IsLines() || !(h.Has("event") || h.Has("schema", "event_type")) {
		return ""
	}
	for _, schema := range []string{"dynamo.request.trace.v1", "dynamo.agent.trace.v1"} {
		if bytes.Contains(h.Line, []byte(`"`+schema+`"`)) {
			return "events of " + schema
		}
	}
	return ""
}

// dynamoEvent is one line, or what is in its envelope.
type dynamoEvent struct {
	Type    string         `json:"event_type"`
	EndedMs json.Number    `json:"event_time_unix_ms"`
	Event   *dynamoEvent   `json:"event"` // of an envelope
	Agent   dynamoAgent    `json:"agent_context"`
	Request *dynamoRequest `json:"request"`
}

// dynamoAgent is on whose behalf a request came, under the names of both schemas.
type dynamoAgent struct {
	Session          string `json:"session_id"`
	Trajectory       string `json:"trajectory_id"`
	Program          string `json:"program_id"`
	ParentSession    string `json:"parent_session_id"`
	ParentTrajectory string `json:"parent_trajectory_id"`
	ParentProgram    string `json:"parent_program_id"`
	SessionType      string `json:"session_type_id"`
	WorkflowType     string `json:"workflow_type_id"`
}

// dynamoRequest is what is known of a request when it has ended.
type dynamoRequest struct {
	Model      string      `json:"model"`
	Input      json.Number `json:"input_tokens"`
	Output     json.Number `json:"output_tokens"`
	Cached     json.Number `json:"cached_tokens"`
	ReceivedMs json.Number `json:"request_received_ms"`
	TTFTMs     json.Number `json:"ttft_ms"`
	TotalMs    json.Number `json:"total_time_ms"`
	Replay     *struct {
		BlockSize int         `json:"trace_block_size"`
		Input     json.Number `json:"input_length"`
		Hashes    []uint64    `json:"input_sequence_hashes"`
	} `json:"replay"`
}

// dynamo reads one file's events.
type dynamo struct {
	out      *read.Rows
	origin   int64 // Unix nanoseconds of arrival_ns = 0
	hasBegun bool
	sessions map[string]sessionSoFar
	other    int // events that are not requests
}

// readDynamo reads the events that end a request.
func readDynamo(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "ms"
	r := &dynamo{out: out, sessions: map[string]sessionSoFar{}}
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		var event dynamoEvent
		if problem := read.JSONRow(line, &event); problem != nil {
			return problem, nil
		}
		if event.Event != nil {
			event = *event.Event
		}
		switch {
		case event.Type == "request_payload":
			return nil, out.Text("request_payload")
		case event.Type != "request_end" || event.Request == nil:
			r.other++
			return nil, nil
		}
		return r.request(number, event)
	})
	if r.other > 0 {
		out.Note("%d events that are not requests were passed over", r.other)
	}
	return err
}

// request adds one request. The first one's arrival becomes the origin, although an
// earlier request may end later.
func (r *dynamo) request(number int64, event dynamoEvent) (*read.Reject, error) {
	request := event.Request
	arrival := read.Arrival{Line: number}
	if request.Replay != nil {
		request.Input = cmp.Or(request.Input, request.Replay.Input)
	}
	problem := cmp.Or(
		read.JSONWhole("input_tokens", request.Input, &arrival.InputTokens),
		read.JSONWhole("output_tokens", request.Output, &arrival.OutputTokens),
		r.received(event, &arrival.ArrivalNs),
	)
	if problem != nil {
		return problem, nil
	}
	if problem := r.blocks(request, &arrival); problem != nil {
		return problem, nil
	}
	if !r.hasBegun {
		r.hasBegun, r.origin = true, arrival.ArrivalNs
		r.out.About.OriginAt = new(time.Unix(0, r.origin).UTC())
	}
	arrival.ArrivalNs -= r.origin
	detail := read.ArrivalDetail{
		Model: maybe.Known(read.Word(request.Model)),
		TTFTS: read.Seconds(request.TTFTMs.String(), 1e-3),
		E2ES:  read.Seconds(request.TotalMs.String(), 1e-3),
	}
	var cached int64
	if read.JSONWhole("cached_tokens", request.Cached, &cached) == nil {
		detail.CachedTokens = &cached
	}
	r.session(event.Agent, &arrival, &detail)
	return nil, r.out.AddRequest(arrival, detail)
}

// received is when a request came. A trace that does not say so has when it ended,
// and how long it took.
func (r *dynamo) received(event dynamoEvent, into *int64) *read.Reject {
	if event.Request.ReceivedMs != "" {
		return read.NanosOf("request_received_ms", event.Request.ReceivedMs.String(), 6, into)
	}
	var ended, took int64
	if problem := read.NanosOf("event_time_unix_ms", event.EndedMs.String(), 6, &ended); problem != nil {
		return problem
	}
	if problem := read.NanosOf("total_time_ms", event.Request.TotalMs.String(), 6, &took); problem != nil {
		return problem
	}
	*into = ended - took
	return nil
}

// blocks of a source are of one size; the ids of a row with another size are left out.
func (r *dynamo) blocks(request *dynamoRequest, arrival *read.Arrival) *read.Reject {
	replay := request.Replay
	if replay == nil || len(replay.Hashes) == 0 || replay.BlockSize < 1 {
		return nil
	}
	r.out.About.BlockTokens = cmp.Or(r.out.About.BlockTokens, replay.BlockSize)
	if replay.BlockSize != r.out.About.BlockTokens {
		r.out.Note("block ids of another size than the first row's were left out")
		return nil
	}
	if !covers(replay.Hashes, replay.BlockSize, arrival.InputTokens) {
		return &read.Reject{Column: "input_sequence_hashes", Reason: read.TooFewBlocks}
	}
	arrival.Blocks = replay.Hashes
	return nil
}

// session places a request after those of its session that have ended.
func (r *dynamo) session(agent dynamoAgent, arrival *read.Arrival, detail *read.ArrivalDetail) {
	arrival.Class = maybe.Known(read.Word(cmp.Or(agent.SessionType, agent.WorkflowType)))
	id := read.NamedOrHashed(cmp.Or(agent.Trajectory, agent.Program, agent.Session))
	if id == "" {
		return
	}
	before := r.sessions[id]
	arrival.SessionID, arrival.Turn = &id, new(before.turns)
	if before.turns > 0 {
		detail.ThinkS = read.SinceNs(before.endNs, arrival.ArrivalNs)
	} else if parent := read.NamedOrHashed(cmp.Or(agent.ParentTrajectory, agent.ParentProgram, agent.ParentSession)); parent != "" && parent != id {
		detail.ParentSessionID = &parent
		if turns := r.sessions[parent].turns; turns > 0 {
			detail.ParentTurn = new(turns - 1)
		}
	}
	endNs := arrival.ArrivalNs
	if detail.E2ES != nil {
		endNs += int64(min(*detail.E2ES, 1e9) * 1e9)
	}
	r.sessions[id] = sessionSoFar{turns: before.turns + 1, endNs: endNs}
}
