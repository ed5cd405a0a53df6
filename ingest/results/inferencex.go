package results

import (
	"cmp"
	"slices"
	"strconv"

	"tidemark/ingest/read"
	"tidemark/internal/lazy"
)

// InferenceX reads results of InferenceX (InferenceMAX before). It runs vLLM's
// client and changes what that writes: latencies are in seconds with no unit in
// their names, so median_ttft here and median_ttft_ms of vLLM differ by a factor of
// 1,000. Its raw files say parallelism and lengths only in the file's name; its
// agg_*.json say them in keys.
//
// An array may mix these with AgentX's aggregates (inferencex_agent.go), and the rows
// of its API and of its weekly dump have the same figures one level down
// (inferencex_api.go).
var InferenceX = read.Format{
	Name:  "inferencex",
	Sees:  seesInferenceX,
	Read:  readInferenceX,
	Wants: "latencies in seconds such as median_ttft, and num_prompts, or hw, tp, conc and tput_per_gpu; or hardware, conc and metrics; or hw, conc and request_metrics",
}

// seesInferenceX recognises a raw file by latencies without _ms, an aggregate by
// its own keys.
func seesInferenceX(h *read.Head) string {
	keys := resultKeys(h)
	switch {
	case isVLLMServe(keys) && slices.ContainsFunc(keys, isInferenceXKey):
		return "a result of InferenceX: num_prompts, and latencies without a unit in their names"
	case read.HasAll(keys, "hw", "conc", "framework", "precision", "tput_per_gpu"):
		return "an aggregate of InferenceX: hw, conc, framework, precision, tput_per_gpu"
	case read.HasAll(keys, "hw", "conc", "framework", "request_metrics"):
		return "an aggregate of AgentX: hw, conc, framework, request_metrics"
	case read.HasAll(keys, "hardware", "framework", "precision", "conc", "metrics"):
		return "rows of InferenceX's API: hardware, framework, precision, conc, metrics"
	case read.HasAll(keys, "config_id", "benchmark_type", "conc", "metrics"):
		return "InferenceX's dump of benchmark_results: config_id, benchmark_type, conc, metrics"
	}
	return ""
}

// isInferenceXKey tells median_ttft from median_ttft_ms.
func isInferenceXKey(key string) bool {
	parts := timedFigure().FindStringSubmatch(key)
	return parts != nil && parts[4] == "" && slices.Contains([]string{"ttft", "tpot", "e2el", "itl"}, parts[3])
}

// readInferenceX reads the same keys as vLLM, in seconds.
func readInferenceX(d *read.Document, out *read.Rows) error {
	configs := inferenceXConfigs{beside: d}
	return resultObjects(d, out, func(number int64, o read.Object, _ *requestArrays) error {
		if o["request_metrics"] != nil || o.Object("metrics") != nil {
			row, figures, missing := inferenceXRow(o, out, &configs)
			if missing != "" {
				return out.Reject(number, missing, read.Missing)
			}
			return addPoint(out, row, figures)
		}
		figures, used := vllmFigures(o, out, "s")
		if len(figures) == 0 {
			return out.Reject(number, "median_ttft", read.Missing)
		}
		row := vllmPoint(o, out, "inferencex")
		inferenceXKeys(o, &row)
		nameSays(d.Base(), &row)
		row.Settings = vllmSettings(o, out, append(used, append(vllmPointKeys, inferenceXPointKeys...)...))
		return addPoint(out, row, figures)
	})
}

// inferenceXRow reads a row that keeps its figures one level down.
func inferenceXRow(o read.Object, out *read.Rows, configs *inferenceXConfigs) (row Point, figures []Figure, missing string) {
	missing = "metrics"
	if o["request_metrics"] != nil {
		row, figures = agentXPoint(o)
		missing = "request_metrics"
	} else {
		row, figures = inferenceXAPI(o, out, configs)
	}
	if len(figures) > 0 {
		missing = ""
	}
	return row, figures, missing
}

// inferenceXPointKeys are the keys that have columns of their own.
var inferenceXPointKeys = []string{"hw", "conc", "model", "framework", "isl", "osl", "tp"}

// inferenceXKeys reads what the aggregates say next to the figures.
func inferenceXKeys(o read.Object, row *Point) {
	row.Hardware, row.Engine = cmp.Or(o.Word("hw"), row.Hardware), cmp.Or(o.Word("framework"), row.Engine)
	row.Model = cmp.Or(row.Model, o.ModelName("model"))
	if concurrency := o.Count("conc"); row.MaxConcurrency == nil && concurrency != nil {
		row.MaxConcurrency, row.Load = concurrency, new("closed")
	}
	row.InputTokensAsked, row.OutputTokensAsked = o.Float("isl"), o.Float("osl")
	row.TensorParallelSize = cmp.Or(o.Int32("tp"), row.TensorParallelSize)
}

// inferenceXName is the name of a raw file, MODEL_ENGINE_tp8_isl1024_osl1024_conc64...
var inferenceXName = lazy.Regexp(`_(vllm|sglang|trtllm|trt|atom)_(tp|tep|dep|dp|ep)(\d{1,4})_isl(\d{1,7})_osl(\d{1,7})_conc\d`)

// nameSays reads what a raw file's name says: tep is tensor-parallel attention with
// expert-parallel MLPs, dep data-parallel attention with the same.
func nameSays(name string, row *Point) {
	parts := inferenceXName().FindStringSubmatch(name)
	if parts == nil {
		return
	}
	size, _ := strconv.Atoi(parts[3])
	input, _ := strconv.ParseFloat(parts[4], 64)
	output, _ := strconv.ParseFloat(parts[5], 64)
	row.Engine, row.Label = cmp.Or(row.Engine, new(parts[1])), cmp.Or(row.Label, new(parts[2]+parts[3]))
	if row.InputTokensAsked == nil {
		row.InputTokensAsked, row.OutputTokensAsked = &input, &output
	}
	if row.TensorParallelSize == nil && (parts[2] == "tp" || parts[2] == "tep") {
		row.TensorParallelSize = new(int32(size))
	}
}
