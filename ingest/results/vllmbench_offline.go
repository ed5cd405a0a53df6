package results

import (
	"strings"

	"tidemark/ingest/read"
)

// VLLMBenchThroughput reads what "vllm bench throughput" writes: one small object
// that does not say what was run. If anything does, it is the file's name.
var VLLMBenchThroughput = read.Format{
	Name:  "vllm-bench-throughput",
	Sees:  seesKeys("a result of vllm bench throughput", "elapsed_time", "num_requests", "total_num_tokens", "requests_per_second", "tokens_per_second"),
	Read:  readVLLMThroughput,
	Wants: "elapsed_time, num_requests, total_num_tokens, requests_per_second and tokens_per_second",
}

// VLLMBenchLatency reads what "vllm bench latency" writes. Each of its latencies is
// that of a whole batch, so a batch is one request.
var VLLMBenchLatency = read.Format{
	Name:  "vllm-bench-latency",
	Sees:  seesKeys("a result of vllm bench latency", "avg_latency", "latencies", "percentiles"),
	Read:  readVLLMLatency,
	Wants: "avg_latency, latencies and percentiles",
}

// seesKeys recognises an object by its keys.
func seesKeys(what string, keys ...string) func(*read.Head) string {
	return func(h *read.Head) string {
		return read.If(read.HasAll(resultKeys(h), keys...), what+": "+strings.Join(keys, ", "))
	}
}

// readVLLMThroughput makes a point of each object.
func readVLLMThroughput(d *read.Document, out *read.Rows) error {
	return resultObjects(d, out, func(number int64, o read.Object, _ *requestArrays) error {
		if o.Float("elapsed_time") == nil {
			return out.Reject(number, "elapsed_time", read.Missing)
		}
		row := Point{
			Tool: "vllm-bench-throughput", Model: o.ModelName("model_id"), Engine: new("vllm"), Load: new("offline"),
			Requests: o.Count("num_requests"), Completed: o.Count("num_requests"), DurationS: o.Float("elapsed_time"),
			Settings: vllmSettings(o, out, []string{"elapsed_time", "num_requests", "total_num_tokens", "requests_per_second", "tokens_per_second", "model_id"}),
		}
		var figures []Figure
		for _, figure := range []struct{ name, unit string }{
			{"requests_per_second", "requests/s"}, {"tokens_per_second", "tokens/s"}, {"total_num_tokens", "tokens"},
		} {
			figures = append(figures, valueFigure(figure.name, figure.unit, o.Float(figure.name))...)
		}
		return addPoint(out, row, figures)
	})
}

// readVLLMLatency makes a point of each object, with one request per batch.
func readVLLMLatency(d *read.Document, out *read.Rows) error {
	return resultObjects(d, out, func(number int64, o read.Object, r *requestArrays) error {
		mean := o.Float("avg_latency")
		if mean == nil {
			return out.Reject(number, "avg_latency", read.Missing)
		}
		row := Point{
			Tool: "vllm-bench-latency", Model: o.ModelName("model_id"), Engine: new("vllm"), Load: new("offline"),
			Settings: vllmSettings(o, out, []string{"avg_latency", "percentiles", "model_id"}),
		}
		if len(r.latencies) > 0 {
			row.Requests, row.Completed = new(int64(len(r.latencies))), new(int64(len(r.latencies)))
		}
		if err := r.addTo(out, number); err != nil {
			return err
		}
		figures := []Figure{{Name: "latency", Statistic: "mean", Unit: new("s"), Value: *mean}}
		percentiles := o.Object("percentiles")
		for _, key := range read.SortedKeys(percentiles) {
			if value := percentiles.Float(key); value != nil && percentileKey().MatchString(key) {
				figures = append(figures, Figure{Name: "latency", Statistic: "p" + key, Unit: new("s"), Value: *value})
			}
		}
		return addPoint(out, row, figures)
	})
}
