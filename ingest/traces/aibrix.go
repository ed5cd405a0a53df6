package traces

import (
	"bytes"
	"cmp"
	"encoding/json"

	"tidemark/ingest/read"
	"tidemark/internal/maybe"
)

// AIBrix reads AIBrix's workloads: JSON lines, one per instant in milliseconds
// since the trace began, each with the requests that came then. The prompts are in
// the file; they are not kept.
var AIBrix = read.Format{
	Name:  "aibrix",
	Sees:  seesAIBrix,
	Read:  readAIBrix,
	Wants: `JSON lines with "timestamp" (ms) and "requests", each with "Prompt Length" and "Output Length"`,
}

// seesAIBrix looks for a request in the head, by either name of its length.
func seesAIBrix(h *read.Head) string {
	if !h.IsLines() || !h.Has("timestamp", "requests") {
		return ""
	}
	if !bytes.Contains(h.Data, []byte(`"Prompt Length"`)) && !bytes.Contains(h.Data, []byte(`"prompt_length"`)) {
		return ""
	}
	return "JSON lines with " + read.ListNames(h.Keys)
}

// aibrixLine is one instant, with the keys of older and newer versions.
type aibrixLine struct {
	Timestamp json.Number `json:"timestamp"`
	Requests  []struct {
		Input   json.Number     `json:"Prompt Length"`
		Output  json.Number     `json:"Output Length"`
		In      json.Number     `json:"prompt_length"` // newer
		Out     json.Number     `json:"output_length"`
		Model   string          `json:"model"`
		Session string          `json:"session_id"`
		Prompt  json.RawMessage `json:"prompt"`
	} `json:"requests"`
}

// readAIBrix counts requests, not lines: several share an instant.
func readAIBrix(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "ms"
	requests := int64(0) // so far; several have one line
	turns := map[string]int32{}
	return d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		var row aibrixLine
		if problem := read.JSONRow(line, &row); problem != nil {
			return problem, nil
		}
		var at int64
		if problem := read.NanosOf("timestamp", row.Timestamp.String(), 6, &at); problem != nil {
			return problem, nil
		}
		for _, request := range row.Requests {
			requests++
			if len(request.Prompt) > 0 {
				out.Text("prompt")
			}
			arrival := read.Arrival{Line: requests, ArrivalNs: at}
			problem := cmp.Or(
				read.JSONWhole("Prompt Length", cmp.Or(request.Input, request.In), &arrival.InputTokens),
				read.JSONWhole("Output Length", cmp.Or(request.Output, request.Out), &arrival.OutputTokens),
			)
			if problem != nil {
				out.Reject(number, problem.Column, problem.Reason)
				continue
			}
			if session := read.NamedOrHashed(request.Session); session != "" {
				arrival.SessionID, arrival.Turn = &session, new(turns[session])
				turns[session]++
			}
			out.AddRequest(arrival, read.ArrivalDetail{Model: maybe.Known(read.Word(request.Model))})
		}
		return nil, nil
	})
}
