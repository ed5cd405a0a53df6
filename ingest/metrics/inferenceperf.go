package metrics

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"tidemark/ingest/read"
)

// InferencePerfPrometheus reads inference-perf's *_prometheus_metrics.json: what
// the tool read back from Prometheus about a stage, as means and quantiles. The
// window of its queries is not exactly the stage, so nothing is derived from these;
// each figure is kept under the tool's own word.
var InferencePerfPrometheus = read.Format{
	Name:  "inference-perf-prometheus",
	Sees:  seesInferencePerfMetrics,
	Read:  readInferencePerfMetrics,
	Wants: `"load_summary" and "successes" with queue_len and kv_cache_usage_percentage`,
}

// seesInferencePerfMetrics asks for two figures that only Prometheus has.
func seesInferencePerfMetrics(h *read.Head) string {
	return read.If(h.Has("load_summary", "successes") && bytes.Contains(h.Data, []byte(`"queue_len"`)) && bytes.Contains(h.Data, []byte(`"num_preemptions_total"`)), "inference-perf's figures from Prometheus: successes, queue_len")
}

// readInferencePerfMetrics keeps each figure as a series with its statistic as a label.
func readInferencePerfMetrics(d *read.Document, out *read.Rows) error {
	text, err := d.Whole()
	if err != nil {
		return err
	}
	var report struct {
		Successes map[string]json.RawMessage `json:"successes"`
	}
	if json.Unmarshal(text, &report) != nil {
		return read.ErrNotJSON
	}
	out.Note("read back from Prometheus over a window that is not exactly the stage: counts and lengths may be of other requests too")
	for number, name := range slices.Sorted(maps.Keys(report.Successes)) {
		figures := map[string]json.RawMessage{"value": report.Successes[name]}
		if bytes.HasPrefix(bytes.TrimSpace(report.Successes[name]), []byte("{")) {
			clear(figures)
			if json.Unmarshal(report.Successes[name], &figures) != nil {
				return read.ErrNotJSON
			}
		}
		for _, statistic := range slices.Sorted(maps.Keys(figures)) {
			if bytes.Equal(figures[statistic], []byte("null")) {
				continue
			}
			value, reason := read.MetricValue(figures[statistic])
			if reason != "" || !read.IsMetricName(name) || !read.IsMetricName(statistic) {
				out.Reject(int64(number+1), "successes", read.NotANumber)
				continue
			}
			out.Add(Sample{Name: name, Labels: `statistic="` + statistic + `"`, Value: value})
		}
	}
	return nil
}
