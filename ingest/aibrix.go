package ingest

import (
	"bytes"
	"encoding/json"
)

// AIBrix's workloads: JSON lines, one per instant in milliseconds since the trace
// began, each with the requests that came then. The prompts themselves are in it;
// they are left out.
var _ = register(format{
	name:  "aibrix",
	sees:  seesAIBrix,
	read:  readAIBrix,
	wants: `JSON lines with "timestamp" (ms) and "requests", each with "Prompt Length" and "Output Length"`,
})

func seesAIBrix(h *head) string {
	if !h.isLines() || !h.has("timestamp", "requests") {
		return ""
	}
	if !bytes.Contains(h.data, []byte(`"Prompt Length"`)) && !bytes.Contains(h.data, []byte(`"prompt_length"`)) {
		return ""
	}
	return "JSON lines with " + listed(h.keys)
}

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

func readAIBrix(d *document, out *rows) error {
	out.about.timeUnit = "ms"
	requests := int64(0) // so far; several have one line
	turns := map[string]int32{}
	return d.lines(out, func(number int64, line []byte) (*reject, error) {
		var row aibrixLine
		if err := json.Unmarshal(line, &row); err != nil {
			return jsonReject(err), nil
		}
		var at int64
		if problem := instantOf("timestamp", row.Timestamp.String(), 6, &at); problem != nil {
			return problem, nil
		}
		for _, request := range row.Requests {
			requests++
			if len(request.Prompt) > 0 {
				if err := out.text("prompt"); err != nil {
					return nil, err
				}
			}
			arrival := arrivalRow{Line: requests, ArrivalNs: at}
			problem := jsonWhole("Prompt Length", either(request.Input, request.In), &arrival.InputTokens)
			if problem == nil {
				problem = jsonWhole("Output Length", either(request.Output, request.Out), &arrival.OutputTokens)
			}
			if problem != nil {
				if err := out.reject(number, problem.column, problem.reason); err != nil {
					return nil, err
				}
				continue
			}
			if session := named64(request.Session); session != "" {
				arrival.SessionID, arrival.Turn = &session, new(turns[session])
				turns[session]++
			}
			if err := out.addRequest(arrival, arrivalDetailRow{Model: orNil(word(request.Model))}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}

func either(one, other json.Number) json.Number {
	if one != "" {
		return one
	}
	return other
}
