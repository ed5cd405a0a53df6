package ingest

import (
	"encoding/json"
	"strings"

	"tidemark/internal/hint"
)

// genai-bench writes a folder: experiment_metadata.json, and one file per scenario
// and load with the figures of all requests and each request's own. Times are
// seconds unless _time_unit says ms. Its tpot leaves the first token out; its
// requests have no instants. The metadata come in with each of the others.
var _ = register(format{
	name: "genai-bench",
	sees: func(h *head) string {
		switch {
		case h.has("aggregated_metrics"):
			return "genai-bench's results, with aggregated_metrics"
		case h.has("benchmark_version", "api_backend", "traffic_scenario"):
			return "genai-bench's metadata, with benchmark_version and traffic_scenario"
		}
		return ""
	},
	read:  readGenAIBench,
	kind:  "results",
	wants: "a JSON object with aggregated_metrics and individual_request_metrics (genai-bench)",
})

type genaiReport struct {
	Aggregated json.RawMessage `json:"aggregated_metrics"`
	Requests   []genaiRequest  `json:"individual_request_metrics"`
	TimeUnit   term            `json:"_time_unit"`
}

type genaiRequest struct {
	TTFT         measure         `json:"ttft"`
	TPOT         measure         `json:"tpot"`
	E2E          measure         `json:"e2e_latency"`
	InputTokens  measure         `json:"num_input_tokens"`
	OutputTokens measure         `json:"num_output_tokens"`
	ErrorCode    json.RawMessage `json:"error_code"`
	ErrorMessage presence        `json:"error_message"`
}

const genaiMetadata = "experiment_metadata.json"

func readGenAIBench(d *document, out *rows) error {
	text, err := d.whole()
	if err != nil {
		return err
	}
	var report genaiReport
	if json.Unmarshal(withoutNaN(text), &report) != nil {
		return hint.Errorf("not a whole genai-bench report").Hint("it is cut or broken; take it from its source again")
	}
	if report.Aggregated == nil {
		return hint.Errorf("genai-bench's metadata alone: no result in it").
			Hint("take in the files beside it; it is read with them").Mark(errUnknownFormat)
	}
	unit := "s"
	if report.TimeUnit == "ms" {
		unit = "ms"
	}
	out.about.timeUnit = unit
	aggregated, _ := treeOfRaw(report.Aggregated).(map[string]any)
	if aggregated == nil {
		return hint.Errorf("aggregated_metrics is not an object").Hint("take the file from its source again")
	}
	if err := out.add(genaiPoint(d, aggregated)); err != nil {
		return err
	}
	if err := genaiFigures(out, aggregated, unit); err != nil {
		return err
	}
	toSeconds := map[string]float64{"s": 1, "ms": 1e-3}[unit]
	for i, request := range report.Requests {
		if err := request.add(out, int32(i), toSeconds); err != nil {
			return err
		}
	}
	return nil
}

func genaiPoint(d *document, aggregated map[string]any) pointRow {
	number := func(key string) measure { return numberWithin(aggregated, key) }
	flat := map[string]any{"scenario": textWithin(aggregated, "scenario"), "iteration_type": textWithin(aggregated, "iteration_type"), "batch_size": finite(number("batch_size"))}
	row := pointRow{
		Tool: "genai-bench", Label: shortWord(textWithin(aggregated, "scenario")), DurationS: number("run_duration").number(),
		Requests: number("num_requests").count(), Completed: number("num_completed_requests").count(), Failed: number("num_error_requests").count(),
	}
	switch textWithin(aggregated, "iteration_type") {
	case "request_rate":
		row.Load, row.RequestRatePerS = new("open"), firstOf(number("request_rate"), number("num_concurrency")).number()
	default:
		row.Load, row.MaxConcurrency = new("closed"), number("num_concurrency").count()
	}
	if metadata, err := treeOf(d.beside(genaiMetadata, 1<<20)); err == nil {
		row.ToolVersion, row.Model = shortWord(versionOf(metadata["benchmark_version"])), modelName(textWithin(metadata, "model"))
		row.Engine, row.EngineVersion = shortWord(textWithin(metadata, "server_engine")), shortWord(versionOf(metadata["server_version"]))
		row.Hardware = shortWord(textWithin(metadata, "server_gpu_type"))
		delete(metadata, "auth_config")
		delete(metadata, "experiment_folder_name")
		flatten(flat, "experiment", metadata)
	}
	row.Settings = settings(flat)
	return row
}

func genaiFigures(out *rows, aggregated map[string]any, unit string) error {
	for _, key := range sortedKeys(aggregated) {
		if key == "num_concurrency" || key == "batch_size" || key == "run_duration" {
			continue
		}
		if err := out.figure(0, key, "value", genaiUnit(key, unit), numberWithin(aggregated, key)); err != nil {
			return err
		}
	}
	stats, _ := aggregated["stats"].(map[string]any)
	for _, name := range sortedKeys(stats) {
		of, _ := stats[name].(map[string]any)
		for _, key := range sortedKeys(of) {
			if is := statistic(key); is != "" {
				if err := out.figure(0, name, is, genaiUnit(name, unit), numberWithin(of, key)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func genaiUnit(name, unit string) string {
	switch {
	case name == "ttft", name == "tpot", strings.HasSuffix(name, "_latency"):
		return unit
	case strings.HasSuffix(name, "_per_s"), strings.HasSuffix(name, "_throughput"), strings.HasSuffix(name, "_speed"):
		return "tokens/s"
	case strings.HasSuffix(name, "_tokens"):
		return "tokens"
	case strings.HasSuffix(name, "requests_per_second"):
		return "requests/s"
	}
	return ""
}

func (q *genaiRequest) add(out *rows, seq int32, toSeconds float64) error {
	row := resultRequestRow{
		Seq: seq, TTFTS: q.TTFT.times(toSeconds), TPOTS: q.TPOT.times(toSeconds), E2ES: q.E2E.times(toSeconds),
		InputTokens: q.InputTokens.count(), OutputTokens: q.OutputTokens.count(),
	}
	if code := string(q.ErrorCode); code != "" && code != "null" {
		row.Failure = new("error")
		if q.ErrorMessage {
			if err := out.text("error_message"); err != nil {
				return err
			}
		}
	}
	return out.add(row)
}
