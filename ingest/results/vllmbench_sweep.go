package results

import (
	"strings"

	"tidemark/ingest/read"
)

// VLLMBenchSweep reads the summary.csv of "vllm bench sweep": a table of the same
// runs as its summary.json files, with a column for each key. The first column is
// pandas' index and has no name.
var VLLMBenchSweep = read.Format{
	Name:  "vllm-bench-sweep",
	Sees:  seesVLLMSweep,
	Read:  readVLLMSweep,
	Wants: "columns as the keys of vllm bench serve, and run_number",
}

// seesVLLMSweep asks for the same keys as columns.
func seesVLLMSweep(h *read.Head) string {
	return read.If(isVLLMServe(h.Columns), "a summary of vllm bench sweep: columns date, model_id, num_prompts, request_rate, duration")
}

// readVLLMSweep turns each row into the object that it was made from.
func readVLLMSweep(d *read.Document, out *read.Rows) error {
	return d.Sheets(out, func(_ int64, s *read.Sheet) (*read.Reject, error) {
		o := read.Object{}
		for _, name := range s.Names() {
			// Arrays stand there as Python prints them, of no use and at times with
			// text.
			if text := s.Text(name); name != "" && text != "" && !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "{") {
				o[name] = cellValue(text)
			}
		}
		if o.Float("duration") == nil {
			return &read.Reject{Column: "duration", Reason: read.Missing}, nil
		}
		figures, used := vllmFigures(o, out, "ms")
		row := vllmPoint(o, out, "vllm-bench-serve")
		row.Settings = vllmSettings(o, out, append(used, vllmPointKeys...))
		return nil, addPoint(out, row, figures)
	})
}
