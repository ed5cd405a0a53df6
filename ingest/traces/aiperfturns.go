package traces

import (
	"bytes"
	"cmp"
	"encoding/json"

	"tidemark/ingest/read"
)

// AIPerfTurns reads sessions in Mooncake's keys, as aiperf's mooncake_trace has
// them: the first turn has a timestamp, every later one a delay instead, in
// milliseconds since the answer before it. When a later turn came is not known,
// only its think time; it is placed as if answers took no time.
var AIPerfTurns = read.Format{
	Name:  "aiperf-turns",
	Sees:  seesTurns,
	Read:  readTurns,
	Wants: `JSON lines with "session_id", "input_length", "output_length", and "timestamp" or "delay" (ms)`,
}

// seesTurns searches the first megabyte for a delay, because the first lines of a
// file may all be first turns.
func seesTurns(h *read.Head) string {
	if !h.IsLines() || !h.Has("session_id", "input_length", "output_length") || h.Has("chat_id") ||
		!bytes.Contains(h.Data[:min(len(h.Data), 1<<20)], []byte(`"delay"`)) {
		return ""
	}
	return "JSON lines with " + read.ListNames(h.Keys) + " and delay"
}

// turnRow is one turn. Numbers stay text until their column is known, for the reject.
type turnRow struct {
	Session   json.RawMessage `json:"session_id"`
	Timestamp json.Number     `json:"timestamp"`
	Delay     json.Number     `json:"delay"`
	Input     json.Number     `json:"input_length"`
	Output    json.Number     `json:"output_length"`
	HashIDs   []uint64        `json:"hash_ids"`
	Text      json.RawMessage `json:"text_input"`
	Messages  json.RawMessage `json:"messages"`
}

// readTurns reads the turns in the order of the file, which is that of each session.
func readTurns(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "ms"
	sessions := map[string]sessionSoFar{}
	return d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		var row turnRow
		if problem := read.JSONRow(line, &row); problem != nil {
			return problem, nil
		}
		if len(row.Text) > 0 || len(row.Messages) > 0 {
			out.Text("text_input, messages")
		}
		arrival := read.Arrival{Line: number, Blocks: row.HashIDs}
		problem := cmp.Or(
			read.JSONWhole("input_length", row.Input, &arrival.InputTokens),
			read.JSONWhole("output_length", row.Output, &arrival.OutputTokens),
		)
		if problem != nil {
			return problem, nil
		}
		if !covers(row.HashIDs, mooncakeBlock, arrival.InputTokens) {
			return &read.Reject{Column: "hash_ids", Reason: read.TooFewBlocks}, nil
		}
		detail, problem := row.place(sessions, &arrival)
		if problem != nil {
			return problem, nil
		}
		if len(row.HashIDs) > 0 {
			out.About.BlockTokens = mooncakeBlock
		}
		return nil, out.AddRequest(arrival, detail)
	})
}

// place puts a turn after the turn before it in its session.
func (row turnRow) place(sessions map[string]sessionSoFar, arrival *read.Arrival) (detail read.ArrivalDetail, problem *read.Reject) {
	session := read.NamedOrHashed(string(read.JSONText(row.Session)))
	before := sessions[session]
	if row.Delay != "" && before.turns > 0 {
		var delay int64
		if problem := read.NanosOf("delay", row.Delay.String(), 6, &delay); problem != nil {
			return detail, problem
		}
		if delay > 1e18 || before.endNs > 1e18 {
			return detail, &read.Reject{Column: "delay", Reason: read.OutOfRange}
		}
		detail.ThinkS, arrival.ArrivalNs = read.SinceNs(0, delay), before.endNs+delay
	}
	if row.Timestamp != "" || detail.ThinkS == nil {
		if problem := read.NanosOf("timestamp", row.Timestamp.String(), 6, &arrival.ArrivalNs); problem != nil {
			return detail, problem
		}
	}
	if session != "" {
		arrival.SessionID, arrival.Turn = &session, new(before.turns)
		sessions[session] = sessionSoFar{turns: before.turns + 1, endNs: arrival.ArrivalNs}
	}
	return detail, nil
}
