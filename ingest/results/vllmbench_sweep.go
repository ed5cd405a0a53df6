package results

import (
	"encoding/json"
	"strings"

	"tidemark/ingest/read"
)

// The summary.csv of "vllm bench sweep" is a table of the same runs as its
// summary.json files: a column a key, the first the table's own index.
var VLLMBenchSweep = read.Format{
	Name:  "vllm-bench-sweep",
	Sees:  seesVLLMSweep,
	Read:  readVLLMSweep,
	Wants: "columns as the keys of vllm bench serve, and run_number",
	Kind:  "results",
}

func seesVLLMSweep(h *read.Head) string {
	if !isVLLMServe(h.Columns) {
		return ""
	}
	return "a summary of vllm bench sweep: columns date, model_id, num_prompts, request_rate, duration"
}

func readVLLMSweep(d *read.Document, out *read.Rows) error {
	var columns []string
	point := int32(0)
	return d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		fields, reason := read.CSVFields(line)
		switch {
		case reason != "":
			return &read.Reject{Reason: reason}, nil
		case columns == nil:
			columns = fields
			return nil, nil
		case len(fields) > len(columns):
			return &read.Reject{Reason: read.TooManyColumns}, nil
		}
		o := resultObject{}
		for i, field := range fields {
			// Arrays stand there as Python prints them, of no use and at times with text.
			if field == "" || columns[i] == "" || strings.HasPrefix(field, "[") || strings.HasPrefix(field, "{") {
				continue
			}
			o[columns[i]] = cell(field)
		}
		if o.number("duration") == nil {
			return &read.Reject{Column: "duration", Reason: read.Missing}, nil
		}
		figures, used := o.vllmFigures(out, point, "ms")
		row := o.vllmPoint(out, point, "vllm-bench-serve")
		row.Settings = o.settings(out, append(used, vllmPointKeys...))
		point++
		if err := out.Add(row); err != nil {
			return nil, err
		}
		return nil, addAll(out, figures)
	})
}

// cell is a CSV's cell as JSON: a number or truth value as it is, else a string.
func cell(field string) json.RawMessage {
	switch field {
	case "True":
		return json.RawMessage("true")
	case "False":
		return json.RawMessage("false")
	}
	if json.Valid([]byte(field)) && !strings.HasPrefix(field, `"`) {
		return json.RawMessage(field)
	}
	text, _ := json.Marshal(field)
	return text
}
