package ingest

import (
	"bytes"
	"encoding/json"
)

// Sessions in Mooncake's keys, as aiperf's mooncake_trace has them: the first turn
// has a timestamp, every later one a delay instead, in milliseconds since the
// answer before it. When a later turn came is not known: its think time is, and it
// is placed as if answers took no time.
var _ = register(format{
	name:  "aiperf-turns",
	sees:  seesTurns,
	read:  readTurns,
	wants: `JSON lines with "session_id", "input_length", "output_length", and "timestamp" or "delay" (ms)`,
})

func seesTurns(h *head) string {
	if !h.isLines() || !h.has("session_id", "input_length", "output_length") || h.has("chat_id") ||
		!bytes.Contains(h.data[:min(len(h.data), 1<<20)], []byte(`"delay"`)) {
		return ""
	}
	return "JSON lines with " + listed(h.keys) + " and delay"
}

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

func readTurns(d *document, out *rows) error {
	out.about.timeUnit = "ms"
	chats := map[string]chat{}
	return d.lines(out, func(number int64, line []byte) (*reject, error) {
		var row turnRow
		if err := json.Unmarshal(line, &row); err != nil {
			return jsonReject(err), nil
		}
		if len(row.Text) > 0 || len(row.Messages) > 0 {
			if err := out.text("text_input, messages"); err != nil {
				return nil, err
			}
		}
		arrival := arrivalRow{Line: number, Blocks: row.HashIDs}
		for _, problem := range []*reject{
			jsonWhole("input_length", row.Input, &arrival.InputTokens),
			jsonWhole("output_length", row.Output, &arrival.OutputTokens),
		} {
			if problem != nil {
				return problem, nil
			}
		}
		if !covers(row.HashIDs, mooncakeBlock, arrival.InputTokens) {
			return &reject{column: "hash_ids", reason: tooFewBlocks}, nil
		}
		detail, problem := row.place(chats, &arrival)
		if problem != nil {
			return problem, nil
		}
		if len(row.HashIDs) > 0 {
			out.about.blockTokens = mooncakeBlock
		}
		return nil, out.addRequest(arrival, detail)
	})
}

// place puts a turn behind the one before it in its session.
func (row turnRow) place(chats map[string]chat, arrival *arrivalRow) (detail arrivalDetailRow, problem *reject) {
	session := named64(string(jsonText(row.Session)))
	before := chats[session]
	if row.Delay != "" && before.turns > 0 {
		var delay int64
		if problem := instantOf("delay", row.Delay.String(), 6, &delay); problem != nil {
			return detail, problem
		}
		if delay > 1e18 || before.endNs > 1e18 {
			return detail, &reject{column: "delay", reason: outOfRange}
		}
		detail.ThinkS, arrival.ArrivalNs = sinceNs(0, delay), before.endNs+delay
	}
	if row.Timestamp != "" || detail.ThinkS == nil {
		if problem := instantOf("timestamp", row.Timestamp.String(), 6, &arrival.ArrivalNs); problem != nil {
			return detail, problem
		}
	}
	if session != "" {
		arrival.SessionID, arrival.Turn = &session, new(before.turns)
		chats[session] = chat{turns: before.turns + 1, endNs: arrival.ArrivalNs}
	}
	return detail, nil
}
