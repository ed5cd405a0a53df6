package results

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/lazy"
)

// LLMDReport reads llm-d's benchmark report, schemas 0.1, 0.2 and 0.2.1, as YAML or
// JSON: one report is one point, and each node states its own unit.
//
// What it reports was measured by another tool, its harness, which is kept in the
// settings. A name means what that tool means by it, so the names of a harness that
// means something else have the harness in front. Names of people, addresses and
// values of environment variables are not kept; series over time are not read.
var LLMDReport = read.Format{
	Name:  "llm-d-report",
	Sees:  seesLLMD,
	Read:  readLLMD,
	Wants: `YAML or JSON with "version", "scenario" and "metrics" (0.1) or "results" (0.2): an llm-d benchmark report`,
}

// llmdVersion finds the schema's version in the head, quoted or not.
var llmdVersion = lazy.Regexp(`(?m)(?:^|[{,])\s*"?version"?:\s*['"]?(0\.\d+(?:\.\d+)?)`)

// seesLLMD asks for the keys of either schema and for a version that begins with 0.
func seesLLMD(h *read.Head) string {
	keys := h.Keys
	if keys == nil {
		keys = read.YAMLKeys(h.Data)
	}
	if !read.HasAll(keys, "version", "scenario") || !slices.Contains(keys, "metrics") && !slices.Contains(keys, "results") {
		return ""
	}
	found := llmdVersion().FindSubmatch(h.Data)
	if found == nil {
		return ""
	}
	return "an llm-d benchmark report " + string(found[1])
}

// readLLMD reads the run by its schema, then all numbers below metrics or results.
func readLLMD(d *read.Document, out *read.Rows) error {
	report, err := d.Tree()
	if err != nil {
		return err
	}
	out.About.TimeUnit = "s"
	row, part := llmd01(report), "metrics"
	if report["results"] != nil {
		row, part = llmd02(report), "results"
	}
	row.Tool, row.ToolVersion = "llm-d-benchmark", read.WordOrNil(report.Version("version"))
	if row.StartedAt == nil && (report.Number("metrics", "time", "start").Known || report.Text("run", "time", "start") != "") {
		out.Implausible("start", "no possible date", 1)
	}
	if row.DurationS == nil && report.Text("run", "time", "duration") != "" {
		out.Implausible("duration", "no time", 1)
	}
	out.Add(row)
	llmdFigures(out, llmdNames(report), []string{part}, report[part])
	return nil
}

// llmdNames is the prefix of each name: nothing where the harness means by the
// report's words what vLLM's client and inference-perf mean.
func llmdNames(report read.Object) string {
	harness := strings.ToLower(report.Text("scenario", "load", "name"))
	if report["results"] != nil {
		harness = strings.ToLower(report.Text("scenario", "load", "standardized", "tool"))
	}
	switch harness = read.Word(harness); harness {
	case "", "inference-perf", "inference_perf", "vllm-benchmark", "vllm_benchmark", "vllm":
		return ""
	}
	if !read.IsNoPlace(harness) {
		return "other."
	}
	return harness + "."
}

// llmd01 reads the run of schema 0.1. Several accelerators or engines are named
// only where all are the same.
func llmd01(report read.Object) Point {
	scenario, metrics := report.Object("scenario"), report.Object("metrics")
	row := Point{
		Model: scenario.ModelName("model", "name"), StartedAt: read.UnixInstant(metrics.Number("time", "start")),
		DurationS: metrics.Float("time", "duration"),
	}
	row.requests(metrics.Object("requests"))
	flat := map[string]any{"harness": scenario.Text("load", "name")}
	read.Flatten(flat, "model", scenario.At("model"))
	read.Flatten(flat, "load", scenario.At("load"))
	accelerators, engines := scenario.Objects("host", "accelerator"), scenario.Objects("platform", "engine")
	read.Flatten(flat, "host.accelerator", scenario.At("host", "accelerator"))
	read.Flatten(flat, "platform.engine", scenario.At("platform", "engine"))
	row.Hardware, row.Engine, row.EngineVersion = read.OnlyOne(accelerators, "model"), read.OnlyOne(engines, "name"), read.OnlyOne(engines, "version")
	if len(accelerators) == 1 {
		row.TensorParallelSize = accelerators[0].Int32("parallelism", "tp")
	}
	row.RequestRatePerS = scenario.Float("load", "args", "qps_values")
	row.Settings = read.Settings(flat)
	return row
}

// llmd02 reads the run of schema 0.2; the first inference engine of its stack is
// the engine.
func llmd02(report read.Object) Point {
	load := report.Object("scenario", "load")
	asked := load.Object("standardized")
	row := Point{
		StartedAt:       read.ISOTime(report.Text("run", "time", "start")),
		RequestRatePerS: asked.Float("rate_qps"), MaxConcurrency: asked.Count("concurrency"),
		InputTokensAsked: asked.Float("input_seq_len", "value"), OutputTokensAsked: asked.Float("output_seq_len", "value"),
		DurationS: isoDuration(report.Text("run", "time", "duration")),
	}
	row.Load = cmp.Or(row.closedLoad(), row.openLoad())
	row.requests(report.Object("results", "request_performance", "aggregate", "requests"))
	flat := map[string]any{"harness": asked.Text("tool"), "harness_version": asked.Text("tool_version")}
	read.Flatten(flat, "load", asked)
	read.Flatten(flat, "native", load.At("native", "config"))
	for i, component := range report.Objects("scenario", "stack") {
		standard := component.Object("standardized")
		read.Flatten(flat, "stack."+strconv.Itoa(i), standard)
		read.Flatten(flat, "stack."+strconv.Itoa(i)+".args", component.At("native", "args"))
		if standard.Text("kind") == "inference_engine" && row.Engine == nil {
			row.Model, row.Hardware = standard.ModelName("model", "name"), standard.Word("accelerator", "model")
			row.Engine, row.EngineVersion = standard.Word("tool"), standard.Word("tool_version")
			row.TensorParallelSize = standard.Int32("accelerator", "parallelism", "tp")
		}
	}
	row.Settings = read.Settings(flat)
	return row
}

// llmdFigures walks down to the numbers. A node with "units" is a distribution, or
// one number of that unit.
func llmdFigures(out *read.Rows, names string, way []string, node any) {
	const deepest = 12
	if len(way) > deepest {
		return
	}
	if list, isList := node.([]any); isList {
		for i, element := range list {
			llmdFigures(out, names, append(way[:len(way):len(way)], strconv.Itoa(i)), element)
		}
		return
	}
	object := read.ObjectOf(node)
	unit := object.Text("units")
	for _, key := range read.SortedKeys(object) {
		value, isNumber := object[key].(float64)
		switch {
		case object[key] == "" && (unit != "" && statistic(key) != ""):
			out.Implausible(strings.Join(way, "."), "no finite number", 1)
		case isNumber:
			llmdNumber(out, names, way, key, unit, value)
		case key != "series" && key != "time_series" && key != "time" && key != "replica_status" && key != "component_health":
			llmdFigures(out, names, append(way[:len(way):len(way)], key), object[key])
		}
	}
}

// llmdNumber adds one number. The path that all reports share is cut from its name.
// Schema 0.1 writes throughputs without a unit.
func llmdNumber(out *read.Rows, names string, way []string, key, unit string, value float64) {
	is, at := statistic(key), way
	if is == "" || unit == "" {
		is, at = "value", append(way[:len(way):len(way)], key)
	}
	name := strings.Join(at, ".")
	for _, before := range []string{
		"metrics.latency.", "metrics.throughput.", "metrics.requests.", "metrics.", "results.request_performance.aggregate.latency.",
		"results.request_performance.aggregate.throughput.", "results.request_performance.aggregate.requests.",
		"results.request_performance.aggregate.", "results.",
	} {
		if rest, cut := strings.CutPrefix(name, before); cut {
			name = rest
			break
		}
	}
	if unit == "" { // 0.1 writes its throughput without
		switch {
		case strings.HasSuffix(name, "tokens_per_sec"):
			unit = "tokens/s"
		case name == "requests_per_sec":
			unit = "requests/s"
		}
	}
	addFigure(out, names+name, is, unitFor(is, read.Word(unit)), read.Number{Value: value, Known: true})
}
