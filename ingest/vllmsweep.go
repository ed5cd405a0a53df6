package ingest

import (
	"encoding/json"
	"strings"
)

// The summary.csv of "vllm bench sweep" is a table of the same runs as its
// summary.json files: a column a key, the first the table's own index.
var _ = register(format{
	name:  "vllm-bench-sweep",
	sees:  seesVLLMSweep,
	read:  readVLLMSweep,
	wants: "columns as the keys of vllm bench serve, and run_number",
	kind:  "results",
})

func seesVLLMSweep(h *head) string {
	if !isVLLMServe(h.columns) {
		return ""
	}
	return "a summary of vllm bench sweep: columns date, model_id, num_prompts, request_rate, duration"
}

func readVLLMSweep(d *document, out *rows) error {
	var columns []string
	point := int32(0)
	return d.lines(out, func(number int64, line []byte) (*reject, error) {
		fields, reason := csvFields(line)
		switch {
		case reason != "":
			return &reject{reason: reason}, nil
		case columns == nil:
			columns = fields
			return nil, nil
		case len(fields) > len(columns):
			return &reject{reason: tooManyColumns}, nil
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
			return &reject{column: "duration", reason: isMissing}, nil
		}
		figures, used := o.vllmFigures(out, point, "ms")
		row := o.vllmPoint(out, point, "vllm-bench-serve")
		row.Settings = o.settings(out, append(used, vllmPointKeys...))
		point++
		if err := out.add(row); err != nil {
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
