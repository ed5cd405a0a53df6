package results

import (
	"slices"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/maybe"
)

// AgentX is InferenceX's benchmark of coding agents: AIPerf replays recorded sessions,
// and one object says what became of all their requests (agg_*.json with
// request_metrics, schema of July 2026 and later). Latencies are seconds.
//
// The traps: itl is AIPerf's inter_token_latency, which is a TPOT, and tpot the same
// numbers again; conc counts sessions, not requests in flight; records_total holds
// warm-up requests; gpu_usage_pct is a share from 0 to 1; the rate qps is a
// distribution over windows of one second; tp of several nodes is the sum of the two
// roles' sizes, so it is no tensor-parallel size.

// agentXPoint reads the run and its figures, whose names have "agentic." in front.
func agentXPoint(o read.Object) (Point, []Figure) {
	requests, server := o.Object("request_metrics"), o.Object("server_metrics")
	row := Point{
		Tool: "inferencex", Hardware: o.Word("hw"), Model: o.ModelName("model"), Engine: o.Word("framework"),
		MaxConcurrency: o.Count("conc"), Load: new("sessions"), DurationS: requests.Float("throughput", "duration_seconds"),
	}
	if o["is_multinode"] != true {
		row.TensorParallelSize = o.Int32("tp")
	}
	agentXCounts(o, &row)
	flat := map[string]any{}
	for key := range o {
		if !slices.Contains([]string{"hw", "model", "framework", "conc", "tp", "request_metrics", "server_metrics", "request_accounting", "warnings"}, key) {
			if value := o.Scalar(key); value != nil {
				flat[key] = value
			}
		}
	}
	read.Flatten(flat, "dataset", o.Object("dataset"))
	row.Settings = read.Settings(flat)
	return row, append(agentXFigures(nil, requests), agentXFigures([]string{"server"}, server)...)
}

// agentXCounts leaves warm-up out.
func agentXCounts(o read.Object, row *Point) {
	counts := o.Object("request_accounting")
	row.Completed = counts.Count("records_profiled")
	if row.Completed == nil {
		row.Completed = o.Count("num_requests_successful")
	}
	all, warmUp := counts.Count("records_total"), counts.Count("records_warmup_dropped")
	if all == nil || warmUp == nil || row.Completed == nil || *all-*warmUp < *row.Completed {
		return
	}
	row.Requests = new(*all - *warmUp)
	row.Failed = new(*row.Requests - *row.Completed)
}

// agentXFigures are the numbers of a tree: latency.ttft.p50 is the p50 of "agentic.ttft".
func agentXFigures(way []string, node read.Object) (figures []Figure) {
	eachNumber(way, node, func(of read.Object, way []string, key string) {
		is := statistic(key)
		if is == "" || is == "value" {
			is, way = "value", append(way, key)
		}
		name := strings.TrimPrefix(strings.Join(way, "."), "latency.")
		isApart := slices.ContainsFunc(way, func(part string) bool { return part == "sources" || part == "stability" || part == "by_rank" })
		if unit, isKnown := agentXUnit(name); isKnown && !isApart && read.Word(name) != "" {
			figures = append(figures, Figure{Name: "agentic." + name, Statistic: is, Unit: maybe.Known(unit), Value: *of.Float(key)})
		}
	})
	return figures
}

// agentXUnit is a figure's unit by its name. It is false where the value measures nothing,
// such as how a window was cut or how many sources there were.
func agentXUnit(name string) (unit string, isFigure bool) {
	switch {
	case name == "ttft", name == "tpot", name == "itl", name == "e2el", name == "full_response_itl":
		return "s", true
	case strings.HasSuffix(name, "intvty"), strings.HasSuffix(name, "throughput_per_user"):
		return "tokens/s/user", true
	case name == "qps":
		return "requests/s", true
	case strings.HasPrefix(name, "throughput.per_gpu."):
		return "tokens/s/gpu", true
	case strings.HasSuffix(name, ".tokens_per_second"):
		return "tokens/s", true
	case strings.HasSuffix(name, "_hit_rate"), strings.HasSuffix(name, "_usage_pct"):
		return "ratio", true
	case name == "server.tokens.requests_completed":
		return "requests", true
	case strings.HasPrefix(name, "tokens."), strings.HasPrefix(name, "server.tokens."), strings.HasSuffix(name, "_tokens"):
		return "tokens", true
	case strings.HasPrefix(name, "server.kv_offload.bytes_"):
		return "bytes", true
	case strings.HasPrefix(name, "server.kv_offload.time_"):
		return "s", true
	}
	return "", false
}
