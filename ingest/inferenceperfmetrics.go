package ingest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// inference-perf's *_prometheus_metrics.json: what it read back from Prometheus
// about a stage, as means and quantiles. Its window is not exactly the stage, so
// nothing is derived from these; each figure is kept under the tool's own word.

var _ = register(format{
	name:  "inference-perf-prometheus",
	sees:  seesInferencePerfMetrics,
	read:  readInferencePerfMetrics,
	wants: `"load_summary" and "successes" with queue_len and kv_cache_usage_percentage`,
	kind:  "metrics",
})

func seesInferencePerfMetrics(h *head) string {
	if h.has("load_summary", "successes") && bytes.Contains(h.data, []byte(`"queue_len"`)) && bytes.Contains(h.data, []byte(`"num_preemptions_total"`)) {
		return "inference-perf's figures from Prometheus: successes, queue_len"
	}
	return ""
}

func readInferencePerfMetrics(d *document, out *rows) error {
	text, err := d.whole()
	if err != nil {
		return err
	}
	var report struct {
		Successes map[string]json.RawMessage `json:"successes"`
	}
	if json.Unmarshal(text, &report) != nil {
		return errNotJSON
	}
	out.note("read back from Prometheus over a window that is not exactly the stage: counts and lengths may be of other requests too")
	for number, name := range slices.Sorted(maps.Keys(report.Successes)) {
		figures := map[string]json.RawMessage{"value": report.Successes[name]}
		if bytes.HasPrefix(bytes.TrimSpace(report.Successes[name]), []byte("{")) {
			clear(figures)
			if json.Unmarshal(report.Successes[name], &figures) != nil {
				return errNotJSON
			}
		}
		for _, statistic := range slices.Sorted(maps.Keys(figures)) {
			if bytes.Equal(figures[statistic], []byte("null")) {
				continue
			}
			value, reason := metricValue(figures[statistic])
			if reason != "" || !isMetricName(name) || !isMetricName(statistic) {
				if err := out.reject(int64(number+1), "successes", notANumber); err != nil {
					return err
				}
				continue
			}
			if err := out.add(metricRow{Name: name, Labels: `statistic="` + statistic + `"`, Value: value}); err != nil {
				return err
			}
		}
	}
	return nil
}
