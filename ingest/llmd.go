package ingest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// llm-d's benchmark report, schema 0.1, 0.2 and 0.2.1, YAML or JSON: one report is
// one point. Each node says its own unit. What it reports was measured by another
// tool, its harness, which is in the settings; a name means what that tool means by
// it, so those of a harness that means something else have its name in front. Names of people, addresses and what stands in environment variables are left
// out, and so are series over time.
var _ = register(format{
	name:  "llm-d-report",
	sees:  seesLLMD,
	read:  readLLMD,
	kind:  "results",
	wants: `YAML or JSON with "version", "scenario" and "metrics" (0.1) or "results" (0.2): an llm-d benchmark report`,
})

var llmdVersion = regexp.MustCompile(`(?m)(?:^|[{,])\s*"?version"?:\s*['"]?(0\.\d+(?:\.\d+)?)`)

func seesLLMD(h *head) string {
	keys := h.keys
	if keys == nil {
		keys = yamlKeys(h.data)
	}
	if !hasKeys(keys, "version", "scenario") || !slices.Contains(keys, "metrics") && !slices.Contains(keys, "results") {
		return ""
	}
	found := llmdVersion.FindSubmatch(h.data)
	if found == nil {
		return ""
	}
	return "an llm-d benchmark report " + string(found[1])
}

func readLLMD(d *document, out *rows) error {
	report, err := d.tree()
	if err != nil {
		return err
	}
	out.about.timeUnit = "s"
	row, parts := llmd01(report), []string{"metrics"}
	if report["results"] != nil {
		row, parts = llmd02(report), []string{"results"}
	}
	row.Tool, row.ToolVersion = "llm-d-benchmark", shortWord(versionOf(report["version"]))
	if row.StartedAt == nil && (numberWithin(report, "metrics", "time", "start").is || textWithin(report, "run", "time", "start") != "") {
		out.nonsense("start", "no possible date", 1)
	}
	if row.DurationS == nil && textWithin(report, "run", "time", "duration") != "" {
		out.nonsense("duration", "no time", 1)
	}
	if err := out.add(row); err != nil {
		return err
	}
	names := llmdNames(report)
	for _, part := range parts {
		if err := llmdFigures(out, names, []string{part}, report[part]); err != nil {
			return err
		}
	}
	return nil
}

// llmdNames is what goes before each name: nothing where the harness means by the
// report's words what vLLM's client and inference-perf do.
func llmdNames(report map[string]any) string {
	harness := strings.ToLower(textWithin(report, "scenario", "load", "name"))
	if report["results"] != nil {
		harness = strings.ToLower(textWithin(report, "scenario", "load", "standardized", "tool"))
	}
	switch harness = word(harness); harness {
	case "", "inference-perf", "inference_perf", "vllm-benchmark", "vllm_benchmark", "vllm":
		return ""
	}
	if !isHarmless(harness) {
		return "other."
	}
	return harness + "."
}

// versionOf is a version that YAML may have taken for a number.
func versionOf(value any) string {
	if number, isNumber := value.(float64); isNumber {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	text, _ := value.(string)
	return text
}

func llmd01(report map[string]any) pointRow {
	scenario, metrics := within(report, "scenario"), within(report, "metrics")
	row := pointRow{
		Model: modelName(textWithin(scenario, "model", "name")), StartedAt: unixInstant(numberWithin(metrics, "time", "start")),
		DurationS: numberWithin(metrics, "time", "duration").number(),
	}
	row.requests(within(metrics, "requests"))
	flat := map[string]any{"harness": textWithin(scenario, "load", "name")}
	flatten(flat, "model", within(scenario, "model"))
	flatten(flat, "load", within(scenario, "load"))
	accelerators, engines := listWithin(scenario, "host", "accelerator"), listWithin(scenario, "platform", "engine")
	flatten(flat, "host.accelerator", accelerators)
	flatten(flat, "platform.engine", engines)
	if one, alike := onlyOne(accelerators, "model"); alike {
		row.Hardware = shortWord(one)
	}
	if one, alike := onlyOne(engines, "name"); alike {
		row.Engine = shortWord(one)
	}
	if one, alike := onlyOne(engines, "version"); alike {
		row.EngineVersion = shortWord(one)
	}
	if len(accelerators) == 1 {
		row.TensorParallelSize = int32Of(numberWithin(accelerators[0], "parallelism", "tp"))
	}
	row.RequestRatePerS = numberWithin(scenario, "load", "args", "qps_values").number()
	row.Settings = settings(flat)
	return row
}

func llmd02(report map[string]any) pointRow {
	load := within(report, "scenario", "load")
	asked := within(load, "standardized")
	row := pointRow{
		StartedAt:       isoTime(textWithin(report, "run", "time", "start")),
		RequestRatePerS: numberWithin(asked, "rate_qps").number(), MaxConcurrency: numberWithin(asked, "concurrency").count(),
		InputTokensAsked: numberWithin(asked, "input_seq_len", "value").number(), OutputTokensAsked: numberWithin(asked, "output_seq_len", "value").number(),
		DurationS: isoDuration(textWithin(report, "run", "time", "duration")),
	}
	switch {
	case row.MaxConcurrency != nil:
		row.Load = new("closed")
	case row.RequestRatePerS != nil:
		row.Load = new("open")
	}
	row.requests(within(report, "results", "request_performance", "aggregate", "requests"))
	flat := map[string]any{"harness": textWithin(asked, "tool"), "harness_version": textWithin(asked, "tool_version")}
	flatten(flat, "load", asked)
	flatten(flat, "native", within(load, "native", "config"))
	for i, component := range listWithin(report, "scenario", "stack") {
		flatten(flat, "stack."+strconv.Itoa(i), within(component, "standardized"))
		flatten(flat, "stack."+strconv.Itoa(i)+".args", within(component, "native", "args"))
		standard := within(component, "standardized")
		if textWithin(standard, "kind") == "inference_engine" && row.Engine == nil {
			row.Model, row.Hardware = modelName(textWithin(standard, "model", "name")), shortWord(textWithin(standard, "accelerator", "model"))
			row.Engine, row.EngineVersion = shortWord(textWithin(standard, "tool")), shortWord(textWithin(standard, "tool_version"))
			row.TensorParallelSize = int32Of(numberWithin(standard, "accelerator", "parallelism", "tp"))
		}
	}
	row.Settings = settings(flat)
	return row
}

// requests fills in how many there were, and of which lengths.
func (row *pointRow) requests(of any) {
	row.Requests, row.Failed = numberWithin(of, "total").count(), numberWithin(of, "failures").count()
	if row.Requests != nil && row.Failed != nil && *row.Failed <= *row.Requests {
		row.Completed = new(*row.Requests - *row.Failed)
		if open := numberWithin(of, "incomplete").count(); open != nil {
			row.Completed = new(max(*row.Completed-*open, 0))
		}
	}
}

func listWithin(value any, keys ...string) []any {
	list, _ := within(value, keys...).([]any)
	return list
}

// onlyOne is a text that all elements of a list agree on.
func onlyOne(list []any, key string) (string, bool) {
	first := ""
	for i, element := range list {
		text := versionOf(within(element, key))
		if i > 0 && text != first {
			return "", false
		}
		first = text
	}
	return first, len(list) > 0
}

func int32Of(m measure) *int32 {
	if count := m.count(); count != nil && *count < 1<<31 {
		return new(int32(*count))
	}
	return nil
}

var isoSpan = regexp.MustCompile(`^PT(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?$`)

// isoDuration reads PT1H2M3.5S as seconds.
func isoDuration(text string) *float64 {
	parts := isoSpan.FindStringSubmatch(text)
	if parts == nil || text == "PT" {
		return nil
	}
	return new(3600*measureOf(parts[1]).value + 60*measureOf(parts[2]).value + measureOf(parts[3]).value)
}

// llmdFigures walks down to the numbers. A node with "units" is a distribution, or
// one number of that unit; series over time are passed over.
func llmdFigures(out *rows, names string, way []string, node any) error {
	const deepest = 12
	if len(way) > deepest {
		return nil
	}
	if list, isList := node.([]any); isList {
		for i, element := range list {
			if err := llmdFigures(out, names, append(way[:len(way):len(way)], strconv.Itoa(i)), element); err != nil {
				return err
			}
		}
		return nil
	}
	object, isObject := node.(map[string]any)
	if !isObject {
		return nil
	}
	unit := textWithin(object, "units")
	for _, key := range sortedKeys(object) {
		value, isNumber := object[key].(float64)
		switch {
		case object[key] == "" && (unit != "" && statistic(key) != ""):
			out.nonsense(strings.Join(way, "."), "no finite number", 1)
		case isNumber:
			if err := llmdNumber(out, names, way, key, unit, value); err != nil {
				return err
			}
		case key != "series" && key != "time_series" && key != "time" && key != "replica_status" && key != "component_health":
			if err := llmdFigures(out, names, append(way[:len(way):len(way)], key), object[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func llmdNumber(out *rows, names string, way []string, key, unit string, value float64) error {
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
	return out.figure(0, names+name, is, unitFor(is, word(unit)), measure{value, true})
}
