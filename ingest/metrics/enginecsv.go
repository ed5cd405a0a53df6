package metrics

import (
	"slices"
	"strings"

	"tidemark/ingest/read"
)

// EngineCSV reads a sampler's CSV of a vLLM server's gauges and counters: "time
// [s]" since the sampler began, then the metrics by their names, without the prefix
// vllm:.
var EngineCSV = read.Format{
	Name:  "engine-csv",
	Sees:  seesEngineCSV,
	Read:  readEngineCSV,
	Wants: `the columns "time [s]" and vLLM's metrics (num_requests_running, ...)`,
}

// engineColumns are names by which such a table is recognised; all its other
// columns are read, too.
var engineColumns = []string{"num_requests_running", "num_requests_waiting", "gpu_cache_usage_perc", "kv_cache_usage_perc", "prompt_tokens_total",
	"generation_tokens_total", "request_success_total", "num_preemptions_total"}

// isEngineColumn says that a column is one of vLLM's.
func isEngineColumn(name string) bool {
	return slices.Contains(engineColumns, strings.TrimPrefix(name, "vllm:"))
}

// isTimeColumn says that a first column is the time.
func isTimeColumn(name string) bool {
	return slices.Contains([]string{"time [s]", "time", "timestamp", "time_s"}, strings.ToLower(name))
}

// seesEngineCSV asks for a time first and for one name that only vLLM has.
func seesEngineCSV(h *read.Head) string {
	if len(h.Columns) < 2 || !isTimeColumn(h.Columns[0]) {
		return ""
	}
	for _, name := range h.Columns {
		if isEngineColumn(name) {
			return "a server's metrics by their names: " + name
		}
	}
	return ""
}

// readEngineCSV reads a scrape per line.
func readEngineCSV(d *read.Document, out *read.Rows) error {
	var table *wideTable
	return d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		fields, reason := read.CSVFields(line)
		if reason != "" {
			return &read.Reject{Reason: reason}, nil
		}
		if table == nil {
			table = newWideTable(out, engineTable(fields))
			return nil, nil
		}
		at, reason := table.instant(fields[0])
		if reason != "" {
			return &read.Reject{Column: "time", Reason: reason}, nil
		}
		return nil, table.row(number, at, "", fields)
	})
}

// engineTable makes a series of each column but the first.
func engineTable(names []string) []wideColumn {
	columns := make([]wideColumn, len(names))
	for i, name := range names[1:] {
		if read.IsMetricName(name) {
			columns[i+1].name = name
		}
	}
	return columns
}
