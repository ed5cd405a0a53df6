package ingest

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"strings"
)

// inference-perf's reports: stage_N_lifecycle_metrics and summary_lifecycle_metrics,
// as JSON or YAML. All times are seconds. requests_per_sec counts what was completed
// over the time until the last answer, achieved_rate what was sent over the time of
// sending: they are not the same, and the summary has no rate that was asked for.
// normalized_time_per_output_token is the whole latency over all output tokens;
// time_per_output_token leaves the first one out.
var _ = register(format{
	name:  "inference-perf",
	sees:  seesInferencePerf,
	read:  readInferencePerf,
	kind:  "results",
	wants: `a JSON or YAML object with "load_summary", "successes" and "failures" (inference-perf's lifecycle metrics)`,
})

func seesInferencePerf(h *head) string {
	keys := h.keys
	if keys == nil {
		keys = yamlKeys(h.data)
	}
	// Its reports of what Prometheus saw have the same keys and an empty load.
	if !hasKeys(keys, "load_summary", "successes", "failures") || !bytes.Contains(h.data, []byte("schedule_delay")) {
		return ""
	}
	return "an inference-perf report with load_summary, successes and failures"
}

var yamlKey = regexp.MustCompile(`(?m)^['"]?([A-Za-z_][A-Za-z0-9_]*)['"]?:`)

// yamlKeys are the names at the begin of lines, as far as the text goes.
func yamlKeys(text []byte) []string {
	var keys []string
	for _, found := range yamlKey.FindAllSubmatch(text, 200) {
		keys = append(keys, string(found[1]))
	}
	return keys
}

var stageOfName = regexp.MustCompile(`stage_(\d{1,6})_`)

func readInferencePerf(d *document, out *rows) error {
	report, err := d.tree()
	if err != nil {
		return err
	}
	out.about.timeUnit = "s"
	row := inferencePerfPoint(report, d)
	if err := out.add(row); err != nil {
		return err
	}
	if delay := numberWithin(report, "load_summary", "schedule_delay", "p99"); delay.is && delay.value > 1 {
		out.note("the client sent late, p99 %.3g s: what is measured here is the client as well", delay.value)
	}
	for _, part := range []string{"load_summary", "successes", "failures"} {
		if err := leaves(out, row.Point, part, report[part], inferencePerfWords); err != nil {
			return err
		}
	}
	return nil
}

func inferencePerfPoint(report map[string]any, d *document) pointRow {
	load := within(report, "load_summary")
	row := pointRow{
		Tool: "inference-perf", Label: shortWord(strings.TrimSuffix(strings.TrimSuffix(d.base(), path.Ext(d.base())), "_lifecycle_metrics")),
		Requests: numberWithin(load, "count").count(), Completed: numberWithin(report, "successes", "count").count(),
		Failed: numberWithin(report, "failures", "count").count(), DurationS: numberWithin(report, "benchmark_time_seconds").number(),
		RequestRatePerS: numberWithin(load, "requested_rate").number(), MaxConcurrency: numberWithin(load, "concurrency").count(),
	}
	switch {
	case row.MaxConcurrency != nil:
		row.Load = new("closed")
	case row.RequestRatePerS != nil:
		row.Load = new("open")
	}
	flat := map[string]any{}
	if stage := stageOfName.FindStringSubmatch(d.base()); stage != nil {
		flat["stage"] = measureOf(stage[1]).value
	}
	const longestConfig = 1 << 20
	if config, err := treeOf(d.beside("config.yaml", longestConfig)); err == nil {
		row.Model, row.Engine = modelName(textWithin(config, "server", "model_name")), shortWord(textWithin(config, "server", "type"))
		flatten(flat, "config", config)
	}
	row.Settings = settings(flat)
	return row
}

// inferencePerfWords gives a leaf its name, without the way to it, and its unit.
func inferencePerfWords(way []string) (name, unit string) {
	name = strings.Join(way, ".")
	if len(way) == 2 && way[1] == "count" {
		return name, "requests" // each part has one
	}
	for _, before := range []string{"load_summary.", "successes.latency.", "successes.throughput.", "successes."} {
		if rest, cut := strings.CutPrefix(name, before); cut {
			name = rest
			break
		}
	}
	last := way[len(way)-1]
	switch {
	case hasKeys(way, "latency"), strings.HasSuffix(last, "latency"), last == "schedule_delay", last == "send_duration", last == "seconds":
		unit = "s"
	case strings.HasSuffix(last, "tokens_per_sec"):
		unit = "tokens/s"
	case last == "requests_per_sec", last == "requested_rate", last == "achieved_rate":
		unit = "requests/s"
	case strings.HasSuffix(last, "_len"), strings.HasSuffix(last, "_tokens"):
		unit = "tokens"
	case last == "bytes":
		unit = "bytes"
	}
	return name, unit
}

// leaves puts every number of a tree into figures. words names the way to it: what
// is a statistic at the end of the way is left out of that.
func leaves(out *rows, point int32, key string, node any, words func(way []string) (name, unit string)) error {
	return leavesAt(out, point, []string{key}, node, words)
}

func leavesAt(out *rows, point int32, way []string, node any, words func([]string) (string, string)) error {
	const deepest = 10
	object, isObject := node.(map[string]any)
	if !isObject || len(way) > deepest {
		return nil
	}
	isDistribution := numberWithin(object, "mean").is || numberWithin(object, "p50").is
	for _, key := range sortedKeys(object) {
		value, isNumber := object[key].(float64)
		if !isNumber {
			if err := leavesAt(out, point, append(way[:len(way):len(way)], key), object[key], words); err != nil {
				return err
			}
			continue
		}
		is, at := statistic(key), way
		if is == "" || !isDistribution {
			is, at = "value", append(way[:len(way):len(way)], key)
		}
		name, unit := words(at)
		if err := out.figure(point, name, is, unitFor(is, unit), measure{value, true}); err != nil {
			return err
		}
	}
	return nil
}

// per_request_lifecycle_metrics.json is a list of all requests, with their texts.
// Its times are of the client's perf_counter: a clock with any zero.
var _ = register(format{
	name: "inference-perf-requests",
	sees: func(h *head) string {
		if !h.elementHas("start_time", "end_time", "request", "info") {
			return ""
		}
		return "a list of inference-perf requests with start_time, end_time, request and info"
	},
	read:  readInferencePerfRequests,
	kind:  "results",
	wants: `a JSON array of objects with "start_time", "end_time", "request" and "info" (inference-perf's per_request_lifecycle_metrics)`,
})

type inferencePerfRequest struct {
	Start    measure  `json:"start_time"`
	End      measure  `json:"end_time"`
	Request  presence `json:"request"`
	Response presence `json:"response"`
	Error    *struct {
		Kind term `json:"error_type"`
	} `json:"error"`
	Info struct {
		InputTokens     measure                `json:"input_tokens"`
		OutputTokens    measure                `json:"output_tokens"`
		TokenTimes      []measure              `json:"output_token_times"`
		LoraAdapter     term                   `json:"lora_adapter"`
		ResponseMetrics *inferencePerfResponse `json:"response_metrics"`
		RequestMetrics  struct {
			InputTokens measure `json:"input_tokens"`
			Text        struct {
				InputTokens measure `json:"input_tokens"`
			} `json:"text"`
		} `json:"request_metrics"`
	} `json:"info"`
}

type inferencePerfResponse struct {
	OutputTokens measure   `json:"output_tokens"`
	ChunkTimes   []measure `json:"chunk_times"`
	TokenTimes   []measure `json:"output_token_times"`
}

func readInferencePerfRequests(d *document, out *rows) error {
	out.about.timeUnit = "s"
	var zero measure
	var seen, failed int64
	err := eachOfArray(d.reader(), func(number int64, element json.RawMessage) error {
		var request inferencePerfRequest
		if json.Unmarshal(element, &request) != nil {
			return out.reject(number, "", notJSON)
		}
		if !request.Start.is || !request.End.is {
			return out.reject(number, "start_time", isMissing)
		}
		if !zero.is {
			zero = request.Start
		}
		for name, is := range map[string]presence{"request": request.Request, "response": request.Response} {
			if is {
				if err := out.text(name); err != nil {
					return err
				}
			}
		}
		row := request.row(int32(seen), zero)
		seen++
		if row.Failure != nil {
			failed++
		}
		return out.add(row)
	})
	if err != nil || seen == 0 {
		return err
	}
	return out.add(pointRow{Tool: "inference-perf", Label: new("per request"), Requests: new(seen), Completed: new(seen - failed), Failed: new(failed)})
}

// row computes what the times of the tokens say: with them, the first is the first
// token, and the last the end.
func (q *inferencePerfRequest) row(seq int32, zero measure) resultRequestRow {
	row := resultRequestRow{Seq: seq, StartedS: since(zero, q.Start), E2ES: since(q.Start, q.End)}
	row.InputTokens = firstOf(q.Info.InputTokens, q.Info.RequestMetrics.InputTokens, q.Info.RequestMetrics.Text.InputTokens).count()
	times, tokens := q.Info.TokenTimes, q.Info.OutputTokens
	if response := q.Info.ResponseMetrics; response != nil {
		if len(times) == 0 {
			times = response.TokenTimes
		}
		if len(times) == 0 {
			times = response.ChunkTimes
		}
		tokens = firstOf(tokens, response.OutputTokens)
	}
	row.OutputTokens = tokens.count()
	if q.Error != nil {
		row.Failure = new("error")
		if kind := shortWord(string(q.Error.Kind)); kind != nil {
			row.Failure = kind
		}
		return row
	}
	if len(times) > 0 {
		row.TTFTS = since(q.Start, times[0])
		row.ChunkGapsUs = gapsUs(times)
	}
	return row
}

// gapsUs are the gaps between successive instants of seconds, microseconds; nil
// where one is missing, or they go back.
func gapsUs(times []measure) []int32 {
	gaps := make([]int32, 0, len(times)-1)
	for i := 1; i < len(times); i++ {
		gap := (times[i].value - times[i-1].value) * 1e6
		if !times[i].is || !times[i-1].is || gap < 0 || gap > 1<<31-1 {
			return nil
		}
		gaps = append(gaps, int32(gap+0.5))
	}
	return gaps
}
