package results

import (
	"cmp"
	"encoding/json"
	"path"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/lazy"
)

// InferencePerf reads inference-perf's reports, stage_N_lifecycle_metrics and
// summary_lifecycle_metrics, as JSON or YAML. All times are seconds.
//
// Rates differ by what they divide: requests_per_sec is the completed requests over
// the time until the last answer, achieved_rate the sent requests over the time of
// sending. The summary has no rate that was asked for.
// normalized_time_per_output_token is the whole latency over all output tokens;
// time_per_output_token leaves the first token out.
//
// The share of goodput is one of the requests that succeeded, so failures do not lower
// it; and whatever was retried has the attempts that failed in its latencies.
// goodput_metrics counts a request without tokens' times as one that missed its bounds,
// the slo_metrics before it as one that met them.
var InferencePerf = read.Format{
	Name:  "inference-perf",
	Sees:  seesInferencePerf,
	Read:  readInferencePerf,
	Wants: `a JSON or YAML object with "load_summary", "successes" and "failures" (inference-perf's lifecycle metrics)`,
}

// seesInferencePerf reads YAML by the names at the start of lines.
func seesInferencePerf(h *read.Head) string {
	keys := h.Keys
	if keys == nil {
		keys = read.YAMLKeys(h.Data)
	}
	// Its reports of what Prometheus saw have the same keys and an empty load.
	return read.If(read.HasAll(keys, "load_summary", "successes", "failures") && !emptyLoad().Match(h.Data), "an inference-perf report with load_summary, successes and failures")
}

var emptyLoad = lazy.Regexp(`load_summary"?:\s*\{\s*\}`)

// stageOfName finds the number of a stage in the file's name; the report does not
// say it.
var stageOfName = lazy.Regexp(`stage_(\d{1,6})_`)

// readInferencePerf adds the report of one stage. Where the client itself sent
// late, a note warns: then the latencies are partly its own.
func readInferencePerf(d *read.Document, out *read.Rows) error {
	report, err := d.Tree()
	if err != nil {
		return err
	}
	out.About.TimeUnit = "s"
	row := inferencePerfPoint(report, d)
	out.Add(row)
	late, of := report.Number("load_summary", "schedule_delay", "p99"), "p99"
	if !late.Known { // 0.1 called it accuracy, and has no p99
		late, of = report.Number("load_summary", "schedule_accuracy", "p90"), "p90"
	}
	if late.Known && late.Value > 1 {
		out.Note("the client sent late, %s %.3g s: what is measured here is the client as well", of, late.Value)
	}
	if retried := report.Number("retries", "requests_retried"); retried.Value > 0 {
		out.Note("%.0f requests were tried again: the attempts that failed are in their latencies", retried.Value)
	}
	if failures := report.Object("failures"); failures["by_label"] != nil {
		out.Text("by_label") // what servers answered, with the ids of sessions
		delete(failures, "by_label")
	}
	for _, part := range []string{"load_summary", "successes", "failures", "retries"} {
		eachNumber([]string{part}, report.Object(part), func(of read.Object, way []string, key string) {
			is := statistic(key)
			if isDistribution := of.Number("mean").Known || of.Number("p50").Known; is == "" || !isDistribution {
				is, way = "value", append(way, key)
			}
			name, unit := inferencePerfWords(way)
			addFigure(out, name, is, unitFor(is, unit), of.Number(key))
		})
	}
	return nil
}

// inferencePerfPoint reads the run, and the model from config.yaml in the same folder.
func inferencePerfPoint(report read.Object, d *read.Document) Point {
	load := report.Object("load_summary")
	row := Point{
		Tool: "inference-perf", Label: read.WordOrNil(strings.TrimSuffix(strings.TrimSuffix(d.Base(), path.Ext(d.Base())), "_lifecycle_metrics")),
		Requests: load.Count("count"), Completed: report.Count("successes", "count"),
		Failed: report.Count("failures", "count"), DurationS: report.Float("benchmark_time_seconds"),
		RequestRatePerS: load.Float("requested_rate"), MaxConcurrency: load.Count("concurrency"),
	}
	row.Load = cmp.Or(row.closedLoad(), row.openLoad())
	flat := map[string]any{}
	if stage := stageOfName().FindStringSubmatch(d.Base()); stage != nil {
		flat["stage"] = read.ParseNumber(stage[1]).Value
	}
	const longestConfig = 1 << 20
	if config, err := read.ParseTree(d.Beside("config.yaml", longestConfig)); err == nil {
		row.Model, row.Engine = config.ModelName("server", "model_name"), config.Word("server", "type")
		read.Flatten(flat, "config", config)
	}
	row.Settings = read.Settings(flat)
	return row
}

// inferencePerfWords gives a leaf its name without the path to it, and its unit.
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
	return name, inferencePerfUnit(way)
}

// inferencePerfUnit tells the unit by the last words of the way.
func inferencePerfUnit(way []string) string {
	last := way[len(way)-1]
	if len(way) > 2 && strings.HasSuffix(way[len(way)-2], "_tokens") {
		last = way[len(way)-2] // total, cached and uncached lie within
	}
	switch {
	case read.HasAll(way, "latency"), read.HasAll(way, "slo_metrics") && strings.HasSuffix(last, "slo"), strings.HasSuffix(last, "latency"), last == "schedule_delay", last == "schedule_accuracy", last == "send_duration", last == "seconds", last == "wasted_sec", last == "wasted_sec_total":
		return "s"
	case strings.HasSuffix(last, "tokens_per_sec"), last == "token_goodput", last == "goodput_rate":
		return "tokens/s"
	case last == "requests_per_sec", last == "requested_rate", last == "achieved_rate", last == "request_goodput":
		return "requests/s"
	case strings.HasSuffix(last, "_percentage"), last == "attainment_pct":
		return "%"
	case strings.HasSuffix(last, "_len"), strings.HasSuffix(last, "_tokens"):
		return "tokens"
	case strings.HasSuffix(last, "bytes"):
		return "bytes"
	}
	return ""
}

// InferencePerfRequests reads per_request_lifecycle_metrics.json: a list of all
// requests, with their texts. Its times are of the client's perf_counter, a clock
// with an arbitrary zero.
var InferencePerfRequests = read.Format{
	Name: "inference-perf-requests",
	Sees: func(h *read.Head) string {
		return read.If(h.ElementHas("start_time", "end_time", "request", "info"), "a list of inference-perf requests with start_time, end_time, request and info")
	},
	Read:  readInferencePerfRequests,
	Wants: `a JSON array of objects with "start_time", "end_time", "request" and "info" (inference-perf's per_request_lifecycle_metrics)`,
}

// inferencePerfRequest is one request; newer versions have the counts in
// response_metrics and request_metrics.
type inferencePerfRequest struct {
	Start    read.Number   `json:"start_time"`
	End      read.Number   `json:"end_time"`
	Request  read.Presence `json:"request"`
	Response read.Presence `json:"response"`
	Error    *struct {
		Kind read.Text `json:"error_type"`
	} `json:"error"`
	Info struct {
		InputTokens     read.Number            `json:"input_tokens"`
		OutputTokens    read.Number            `json:"output_tokens"`
		TokenTimes      []read.Number          `json:"output_token_times"`
		LoraAdapter     read.Text              `json:"lora_adapter"`
		ResponseMetrics *inferencePerfResponse `json:"response_metrics"`
		RequestMetrics  struct {
			InputTokens read.Number `json:"input_tokens"`
			Text        struct {
				InputTokens read.Number `json:"input_tokens"`
			} `json:"text"`
		} `json:"request_metrics"`
	} `json:"info"`
}

// inferencePerfResponse has the times of chunks or, in some versions, of tokens.
type inferencePerfResponse struct {
	OutputTokens read.Number   `json:"output_tokens"`
	ChunkTimes   []read.Number `json:"chunk_times"`
	TokenTimes   []read.Number `json:"output_token_times"`
}

// readInferencePerfRequests reads the list an element at a time, because each has
// its prompt in it.
func readInferencePerfRequests(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "s"
	var zero read.Number
	var seen outcomes
	err := read.EachElement(d.Reader(), read.MaxElementBytes, func(number int64, element json.RawMessage) error {
		var request inferencePerfRequest
		if json.Unmarshal(element, &request) != nil {
			return out.Reject(number, "", read.NotJSON)
		}
		if !request.Start.Known || !request.End.Known {
			return out.Reject(number, "start_time", read.Missing)
		}
		tellTexts(out, textField{"request", request.Request}, textField{"response", request.Response})
		zero = firstOf(zero, request.Start)
		return seen.add(out, request.row(zero))
	})
	if err != nil {
		return err
	}
	return seen.addPoint(out, Point{Tool: "inference-perf", Label: new("per request")})
}

// row takes TTFT and the gaps from the times of the tokens: the first is the first
// token, the last one the end.
func (q *inferencePerfRequest) row(zero read.Number) Request {
	row := Request{StartedS: since(zero, q.Start), E2ES: since(q.Start, q.End)}
	row.InputTokens = firstOf(q.Info.InputTokens, q.Info.RequestMetrics.InputTokens, q.Info.RequestMetrics.Text.InputTokens).Count()
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
	row.OutputTokens = tokens.Count()
	if q.Error != nil {
		row.Failure = cmp.Or(read.WordOrNil(string(q.Error.Kind)), new("error"))
		return row
	}
	if len(times) > 0 {
		row.TTFTS = since(q.Start, times[0])
		row.ChunkGapsUs = gapsUs(times)
	}
	return row
}
