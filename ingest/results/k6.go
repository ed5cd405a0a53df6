package results

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/lazy"
)

// K6 reads k6's summary at the end of a test: what handleSummary gets, what
// --summary-export writes, and the machine-readable summary of k6 1.5 and later. With
// the extension xk6-llm it has TTFT, TPOT and gaps under names that begin with llm_.
//
// The traps: http_req_duration holds failed requests as well, and its part
// {expected_response:true} does not; http_req_waiting is the time to the first byte,
// which without a stream is the whole answer and no TTFT. Of http_req_failed "passes"
// counts the requests that failed. A threshold is written as {"ok": true} by
// handleSummary and as a bare false, "not crossed", by --summary-export, which also
// says neither units nor the duration. Nothing says whether virtual users or a rate
// drove the load, so load stays unknown.
//
// Another extension, xk6-llm-perf, has some of the same names with other meanings:
// its figures have "other." in front.
var K6 = read.Format{
	Name:  "k6",
	Sees:  seesK6,
	Read:  readK6,
	Wants: `a JSON object with "metrics" and "root_group" (k6's --summary-export or handleSummary), or with "results" and k6Version`,
}

// seesK6 also recognises k6's stream of samples, to say what to give instead of it.
func seesK6(h *read.Head) string {
	switch {
	case h.Has("root_group") && (h.Has("metrics") || bytes.Contains(h.Data, []byte(k6Root))),
		h.Has("metrics", "state") && bytes.Contains(h.Data, []byte(`"testRunDurationMs"`)):
		return "k6's summary, with metrics and root_group"
	case h.Has("config", "metadata", "results") && bytes.Contains(h.Data, []byte(`"k6Version"`)):
		return "k6's machine-readable summary, with results and k6Version"
	case h.Has("type", "data", "metric") && k6Sample().Match(h.Line):
		return "k6's samples, with type, data and metric"
	}
	return ""
}

// k6Root is the id of the root group in every summary: the MD5 of nothing. Where many
// checks stand before the metrics, it is in the head and they are not.
const k6Root = "d41d8cd98f00b204e9800998ecf8427e"

var k6Sample = lazy.Regexp(`"type":\s*"(Metric|Point)"`)

// k6Metric is one metric of any of the three shapes.
type k6Metric struct {
	name, kind, contains string
	values               read.Object
}

// readK6 reads a summary as one point.
func readK6(d *read.Document, out *read.Rows) error {
	if k6Sample().Match(d.First.Data[:min(len(d.First.Data), 256)]) {
		return hint.Errorf("k6's samples (--out json), one line each").
			Hint("run k6 with --summary-export summary.json, or return {'summary.json': JSON.stringify(data)} from handleSummary, and give that file")
	}
	report, err := d.Tree()
	if err != nil {
		return err
	}
	metrics := k6Metrics(report)
	if len(metrics) == 0 {
		return hint.Errorf("a summary of k6 without a metric").Hint("the test ended before its first request, or handleSummary wrote a part of its data: write all of it")
	}
	out.About.TimeUnit = "ms"
	out.Add(k6Point(report, metrics, out))
	isOther := k6IsOther(metrics)
	for _, metric := range metrics {
		metric.add(out, isOther)
	}
	return out.Err()
}

// k6Metrics brings the three shapes to one, in the order of their names.
func k6Metrics(report read.Object) (metrics []k6Metric) {
	for _, one := range report.Objects("results", "metrics") {
		metrics = append(metrics, k6Metric{one.Text("name"), one.Text("type"), one.Text("contains"), one.Object("values")})
	}
	old := report.Object("metrics")
	for name := range old {
		one := old.Object(name)
		values := one.Object("values")
		if values == nil { // --summary-export has the numbers beside the thresholds
			values = one
		}
		metrics = append(metrics, k6Metric{name, one.Text("type"), one.Text("contains"), values})
	}
	slices.SortStableFunc(metrics, func(a, b k6Metric) int { return strings.Compare(a.name, b.name) })
	return slices.DeleteFunc(metrics, func(m k6Metric) bool { return m.name == "" || len(m.values) == 0 })
}

// k6IsOther recognises xk6-llm-perf by the metrics that xk6-llm does not have.
func k6IsOther(metrics []k6Metric) bool {
	return slices.ContainsFunc(metrics, func(m k6Metric) bool {
		return slices.Contains([]string{"llm_token_latency", "llm_tokens_per_second", "llm_total_tokens", "llm_completion_time"}, m.name)
	})
}

// k6Point counts the calls of xk6-llm where there are any: with it, http_reqs has
// none of them.
func k6Point(report read.Object, metrics []k6Metric, out *read.Rows) Point {
	number := func(name string, keys ...string) read.Number {
		for _, m := range metrics {
			if m.name == name {
				for _, key := range keys {
					if value := m.values.Number(key); value.Known {
						return value
					}
				}
			}
		}
		return read.Number{}
	}
	row := Point{
		Tool: "k6", ToolVersion: report.Word("metadata", "k6Version"), MaxConcurrency: number("vus", "max").Count(),
		DurationS: report.Float("config", "duration"),
		Requests:  number("http_reqs", "count").Count(), Failed: number("http_req_failed", "passes", "matches").Count(),
	}
	if ms := report.Number("state", "testRunDurationMs"); ms.Known {
		row.DurationS = ms.Times(1e-3)
	}
	if row.Requests != nil && row.Failed != nil && *row.Failed <= *row.Requests {
		row.Completed = new(*row.Requests - *row.Failed)
	}
	answered, failed := number("llm_requests", "count").Count(), number("llm_errors", "count").Count()
	if answered != nil || failed != nil {
		row.Completed, row.Failed = answered, failed
		if answered == nil {
			row.Completed = new(int64(0))
		}
		if failed == nil { // a counter that never counted is not in the file
			row.Failed = new(int64(0))
		}
		row.Requests = new(*row.Completed + *row.Failed)
	}
	flat := map[string]any{}
	old := report.Object("metrics")
	for _, name := range read.SortedKeys(old) {
		k6Thresholds(flat, name, old.Object(name, "thresholds"))
	}
	if len(flat) > 0 {
		out.Note("k6's thresholds are kept as settings; whether an SLO is met is judged from what was measured")
	}
	row.Settings = read.Settings(flat)
	return row
}

// k6Thresholds keeps whether each was met. The bare truth value of --summary-export
// says that it was crossed.
func k6Thresholds(into map[string]any, name string, thresholds read.Object) {
	for _, bound := range read.SortedKeys(thresholds) {
		switch said := thresholds[bound].(type) {
		case bool:
			into["threshold."+name+"."+bound] = !said
		case map[string]any:
			if ok, isBool := said["ok"].(bool); isBool {
				into["threshold."+name+"."+bound] = ok
			}
		}
	}
}

// k6Percentile matches p(99) and p(99.9), as k6 is asked for them.
var k6Percentile = lazy.Regexp(`^p\((\d{1,2}(?:\.\d{1,6})?)\)$`)

// k6Statistic is the name that raw.figures has; "" for a count or a share.
func k6Statistic(key string) string {
	switch key {
	case "avg":
		return "mean"
	case "med":
		return "p50"
	case "min", "max", "value":
		return key
	}
	if parts := k6Percentile().FindStringSubmatch(key); parts != nil {
		return "p" + parts[1]
	}
	return ""
}

// add writes a metric. The count and the rate of a counter, and the share of a rate,
// have names of their own: http_reqs.count, http_reqs.rate.
func (m *k6Metric) add(out *read.Rows, isOther bool) {
	name := m.name
	if !read.IsNoPlace(name) || strings.Contains(name, "/") {
		out.Note("passed over: parts of metrics that name a place")
		return
	}
	if isOther && strings.HasPrefix(name, "llm_") {
		name = "other." + name
	}
	unit := m.unit()
	isShare := m.isShare()
	if isShare && m.hasNoSamples() {
		return
	}
	for _, key := range read.SortedKeys(m.values) {
		value := m.values.Number(key)
		switch is := k6Statistic(key); {
		case isShare && (key == "rate" || key == "value"):
			addFigure(out, name+".rate", "value", "ratio", value)
		case isShare && (key == "passes" || key == "fails" || key == "matches" || key == "total"):
			addFigure(out, name+"."+key, "value", "count", value)
		case is != "":
			addFigure(out, name, is, unit, value)
		case key == "count" && m.isTrend():
			addFigure(out, name, key, "", value) // of samples
		case key == "count":
			addFigure(out, name+".count", "value", k6Counted(m.name, unit), value)
		case key == "rate":
			addFigure(out, name+".rate", "value", k6PerSecond(k6Counted(m.name, unit)), value)
		}
	}
}

// isShare is true for what k6 calls a rate: how many of its samples were true.
func (m *k6Metric) isShare() bool {
	return m.kind == "rate" || m.values.HasAny("passes", "matches")
}

// isTrend is true for a distribution: "count" may be asked of it as of a counter, and
// means its samples there.
func (m *k6Metric) isTrend() bool {
	return m.kind == "trend" || m.values.HasAny("avg", "med")
}

// hasNoSamples is true for a share of nothing, which k6 writes as 0.
func (m *k6Metric) hasNoSamples() bool {
	passes, fails, total := m.values.Number("passes"), m.values.Number("fails"), m.values.Number("total")
	return passes.Known && fails.Known && passes.Value+fails.Value == 0 || total.Known && total.Value == 0
}

// k6Times are the metrics that are milliseconds by their names, for a file that does
// not say what its metrics contain.
var k6Times = regexp.MustCompile(`^(http_req_(duration|waiting|blocked|connecting|tls_handshaking|sending|receiving)|iteration_duration|group_duration|` +
	`grpc_req_duration|ws_(connecting|session_duration|ping)|llm_(ttft|itl|tpot|request_duration|response_headers|embed_duration))(\{|$)|_ms$`)

// unit is that of the metric's values; "" where nothing says it.
func (m *k6Metric) unit() string {
	switch {
	case m.contains == "time", m.contains == "" && k6Times.MatchString(m.name):
		return "ms"
	case m.contains == "data", m.contains == "" && (m.name == "data_sent" || m.name == "data_received"):
		return "bytes"
	}
	return ""
}

// k6PerSecond is the unit of a counter's rate; "" where it counts nobody knows what.
func k6PerSecond(counted string) string {
	return read.If(counted != "count", counted+"/s")
}

// k6Counted is what a counter counts.
func k6Counted(name, unit string) string {
	name, _, _ = strings.Cut(name, "{")
	switch {
	case unit != "":
		return unit
	case strings.HasSuffix(name, "_tokens"):
		return "tokens"
	case name == "http_reqs", name == "llm_requests", name == "llm_errors":
		return "requests"
	}
	return "count"
}
