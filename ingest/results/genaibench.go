package results

import (
	"encoding/json"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// GenAIBench reads a folder of genai-bench: experiment_metadata.json, and one file
// for each scenario and load with the figures of all requests and each request's
// own. Times are seconds unless _time_unit says ms. Its tpot leaves the first token
// out, as ours does; its requests have no instants. The metadata come in with each
// of the other files.
var GenAIBench = read.Format{
	Name: "genai-bench",
	Sees: func(h *read.Head) string {
		switch {
		case h.Has("aggregated_metrics"):
			return "genai-bench's results, with aggregated_metrics"
		case h.Has("benchmark_version", "api_backend", "traffic_scenario"):
			return "genai-bench's metadata, with benchmark_version and traffic_scenario"
		}
		return ""
	},
	Read:  readGenAIBench,
	Wants: "a JSON object with aggregated_metrics and individual_request_metrics (genai-bench)",
}

// genaiReport is one scenario at one load.
type genaiReport struct {
	Aggregated read.Object    `json:"aggregated_metrics"`
	Requests   []genaiRequest `json:"individual_request_metrics"`
	TimeUnit   read.Text      `json:"_time_unit"`
}

// genaiRequest is one request; of its error only that there was one is kept.
type genaiRequest struct {
	TTFT         read.Number     `json:"ttft"`
	TPOT         read.Number     `json:"tpot"`
	E2E          read.Number     `json:"e2e_latency"`
	InputTokens  read.Number     `json:"num_input_tokens"`
	OutputTokens read.Number     `json:"num_output_tokens"`
	ErrorCode    json.RawMessage `json:"error_code"`
	ErrorMessage read.Presence   `json:"error_message"`
}

// genaiMetadata is read with every report of its folder.
const genaiMetadata = "experiment_metadata.json"

// readGenAIBench holds the whole report, whose requests are small: they have no gaps.
func readGenAIBench(d *read.Document, out *read.Rows) error {
	text, err := d.Whole()
	if err != nil {
		return err
	}
	var report genaiReport
	if json.Unmarshal(read.WithoutNaN(text), &report) != nil {
		return hint.Errorf("not a whole genai-bench report").Hint("it is cut or broken; take it from its source again")
	}
	if report.Aggregated == nil {
		return hint.Errorf("aggregated_metrics is missing or no object; genai-bench's metadata has none").
			Hint("take in the files next to metadata; it is read with them").Mark(read.ErrUnknownFormat)
	}
	unit := "s"
	if report.TimeUnit == "ms" {
		unit = "ms"
	}
	out.About.TimeUnit = unit
	toSeconds := map[string]float64{"s": 1, "ms": 1e-3}[unit]
	for i, request := range report.Requests {
		request.add(out, int32(i), toSeconds)
	}
	out.Add(genaiPoint(d, report.Aggregated))
	genaiFigures(out, report.Aggregated, unit)
	return nil
}

// genaiPoint reads the run. num_concurrency is the rate where iteration_type is
// request_rate.
func genaiPoint(d *read.Document, aggregated read.Object) Point {
	number := func(key string) read.Number { return aggregated.Number(key) }
	flat := map[string]any{"scenario": aggregated.Text("scenario"), "iteration_type": aggregated.Text("iteration_type"), "batch_size": read.Finite(number("batch_size"))}
	row := Point{
		Tool: "genai-bench", Label: aggregated.Word("scenario"), DurationS: number("run_duration").Float(),
		Requests: number("num_requests").Count(), Completed: number("num_completed_requests").Count(), Failed: number("num_error_requests").Count(),
	}
	switch aggregated.Text("iteration_type") {
	case "request_rate":
		row.Load, row.RequestRatePerS = new("open"), firstOf(number("request_rate"), number("num_concurrency")).Float()
	default:
		row.Load, row.MaxConcurrency = new("closed"), number("num_concurrency").Count()
	}
	if metadata, err := read.ParseTree(d.Beside(genaiMetadata, 1<<20)); err == nil {
		row.ToolVersion, row.Model = read.WordOrNil(metadata.Version("benchmark_version")), metadata.ModelName("model")
		row.Engine, row.EngineVersion = metadata.Word("server_engine"), read.WordOrNil(metadata.Version("server_version"))
		row.Hardware = metadata.Word("server_gpu_type")
		delete(metadata, "auth_config")
		delete(metadata, "experiment_folder_name")
		read.Flatten(flat, "experiment", metadata)
	}
	row.Settings = read.Settings(flat)
	return row
}

// genaiFigures reads the single numbers and the distributions under "stats".
func genaiFigures(out *read.Rows, aggregated read.Object, unit string) {
	for _, key := range read.SortedKeys(aggregated) {
		if key == "num_concurrency" || key == "batch_size" || key == "run_duration" {
			continue
		}
		addFigure(out, key, "value", genaiUnit(key, unit), aggregated.Number(key))
	}
	stats := aggregated.Object("stats")
	for _, name := range read.SortedKeys(stats) {
		of := stats.Object(name)
		for _, key := range read.SortedKeys(of) {
			if is := statistic(key); is != "" {
				addFigure(out, name, is, genaiUnit(name, unit), of.Number(key))
			}
		}
	}
}

// genaiUnit tells a unit by the end of a name, since the file does not write it.
func genaiUnit(name, unit string) string {
	if name == "ttft" || name == "tpot" {
		return unit
	}
	return unitByEnding(name, []unitEnding{{"_latency", unit}, {"_per_s", "tokens/s"}, {"_throughput", "tokens/s"}, {"_speed", "tokens/s"}, {"_tokens", "tokens"},
		{"requests_per_second", "requests/s"}})
}

// add writes one request; toSeconds is the factor of the file.
func (q *genaiRequest) add(out *read.Rows, seq int32, toSeconds float64) {
	row := Request{
		Seq: seq, TTFTS: q.TTFT.Times(toSeconds), TPOTS: q.TPOT.Times(toSeconds), E2ES: q.E2E.Times(toSeconds),
		InputTokens: q.InputTokens.Count(), OutputTokens: q.OutputTokens.Count(),
	}
	if code := string(q.ErrorCode); code != "" && code != "null" {
		row.Failure = new("error")
		if q.ErrorMessage {
			out.Text("error_message")
		}
	}
	out.Add(row)
}
