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
	Kind:  "results",
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
	row.Tool, row.ToolVersion = "llm-d-benchmark", read.WordOrNil(read.VersionOf(report["version"]))
	if row.StartedAt == nil && (read.NumberAt(report, "metrics", "time", "start").Known || read.TextAt(report, "run", "time", "start") != "") {
		out.Implausible("start", "no possible date", 1)
	}
	if row.DurationS == nil && read.TextAt(report, "run", "time", "duration") != "" {
		out.Implausible("duration", "no time", 1)
	}
	out.Add(row)
	llmdFigures(out, llmdNames(report), []string{part}, report[part])
	return nil
}

// llmdNames is the prefix of each name: nothing where the harness means by the
// report's words what vLLM's client and inference-perf mean.
func llmdNames(report map[string]any) string {
	harness := strings.ToLower(read.TextAt(report, "scenario", "load", "name"))
	if report["results"] != nil {
		harness = strings.ToLower(read.TextAt(report, "scenario", "load", "standardized", "tool"))
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
func llmd01(report map[string]any) Point {
	scenario, metrics := read.At(report, "scenario"), read.At(report, "metrics")
	row := Point{
		Model: read.ModelName(read.TextAt(scenario, "model", "name")), StartedAt: read.UnixInstant(read.NumberAt(metrics, "time", "start")),
		DurationS: read.NumberAt(metrics, "time", "duration").Float(),
	}
	row.requests(read.At(metrics, "requests"))
	flat := map[string]any{"harness": read.TextAt(scenario, "load", "name")}
	read.Flatten(flat, "model", read.At(scenario, "model"))
	read.Flatten(flat, "load", read.At(scenario, "load"))
	accelerators, engines := read.ListAt(scenario, "host", "accelerator"), read.ListAt(scenario, "platform", "engine")
	read.Flatten(flat, "host.accelerator", accelerators)
	read.Flatten(flat, "platform.engine", engines)
	if one, alike := read.OnlyOne(accelerators, "model"); alike {
		row.Hardware = read.WordOrNil(one)
	}
	if one, alike := read.OnlyOne(engines, "name"); alike {
		row.Engine = read.WordOrNil(one)
	}
	if one, alike := read.OnlyOne(engines, "version"); alike {
		row.EngineVersion = read.WordOrNil(one)
	}
	if len(accelerators) == 1 {
		row.TensorParallelSize = read.Int32Of(read.NumberAt(accelerators[0], "parallelism", "tp"))
	}
	row.RequestRatePerS = read.NumberAt(scenario, "load", "args", "qps_values").Float()
	row.Settings = read.Settings(flat)
	return row
}

// llmd02 reads the run of schema 0.2; the first inference engine of its stack is
// the engine.
func llmd02(report map[string]any) Point {
	load := read.At(report, "scenario", "load")
	asked := read.At(load, "standardized")
	row := Point{
		StartedAt:       read.ISOTime(read.TextAt(report, "run", "time", "start")),
		RequestRatePerS: read.NumberAt(asked, "rate_qps").Float(), MaxConcurrency: read.NumberAt(asked, "concurrency").Count(),
		InputTokensAsked: read.NumberAt(asked, "input_seq_len", "value").Float(), OutputTokensAsked: read.NumberAt(asked, "output_seq_len", "value").Float(),
		DurationS: isoDuration(read.TextAt(report, "run", "time", "duration")),
	}
	row.Load = cmp.Or(row.closedLoad(), row.openLoad())
	row.requests(read.At(report, "results", "request_performance", "aggregate", "requests"))
	flat := map[string]any{"harness": read.TextAt(asked, "tool"), "harness_version": read.TextAt(asked, "tool_version")}
	read.Flatten(flat, "load", asked)
	read.Flatten(flat, "native", read.At(load, "native", "config"))
	for i, component := range read.ListAt(report, "scenario", "stack") {
		read.Flatten(flat, "stack."+strconv.Itoa(i), read.At(component, "standardized"))
		read.Flatten(flat, "stack."+strconv.Itoa(i)+".args", read.At(component, "native", "args"))
		standard := read.At(component, "standardized")
		if read.TextAt(standard, "kind") == "inference_engine" && row.Engine == nil {
			row.Model, row.Hardware = read.ModelName(read.TextAt(standard, "model", "name")), read.WordOrNil(read.TextAt(standard, "accelerator", "model"))
			row.Engine, row.EngineVersion = read.WordOrNil(read.TextAt(standard, "tool")), read.WordOrNil(read.TextAt(standard, "tool_version"))
			row.TensorParallelSize = read.Int32Of(read.NumberAt(standard, "accelerator", "parallelism", "tp"))
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
	object, _ := node.(map[string]any)
	unit := read.TextAt(object, "units")
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
	addFigure(out, 0, names+name, is, unitFor(is, read.Word(unit)), read.Number{Value: value, Known: true})
}
