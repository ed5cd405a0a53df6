package ingest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"tidemark/internal/hint"
)

// GuideLLM's benchmarks.json: one benchmark is one point. Version 2 of its report
// (0.6 and later) and the shape before it differ in where the settings lie; both
// are read.
//
// Three traps. "p001" is the 0.1th percentile, "p01" the first. A distribution of
// nothing is written as zeros: it is no figure. time_per_output_token_ms is the
// whole latency over all tokens, the first included; what others call TPOT is
// inter_token_latency_ms, and that alone is taken as a request's tpot_s.
var _ = register(format{
	name:  "guidellm",
	sees:  seesGuideLLM,
	read:  readGuideLLM,
	kind:  "results",
	wants: `a JSON object with "benchmarks", each with "metrics" and a strategy (GuideLLM's benchmarks.json)`,
})

func seesGuideLLM(h *head) string {
	if !h.has("benchmarks") {
		return ""
	}
	for _, sign := range []string{`"guidellm_version"`, `"scheduler_metrics"`, `"run_stats"`, `"generative_benchmark"`} {
		if bytes.Contains(h.data, []byte(sign)) {
			return "a GuideLLM report: " + sign
		}
	}
	return ""
}

type guideReport struct {
	Metadata struct {
		Version term `json:"guidellm_version"`
	} `json:"metadata"`
	Args       json.RawMessage `json:"args"`
	Config     json.RawMessage `json:"config"`
	Benchmarks json.RawMessage `json:"benchmarks"` // read one at a time: they may be many
}

type guideBenchmark struct {
	Config           json.RawMessage `json:"config"`
	Args             json.RawMessage `json:"args"`
	Worker           json.RawMessage `json:"worker"`
	RequestLoader    json.RawMessage `json:"request_loader"`
	RunStats         json.RawMessage `json:"run_stats"`
	SchedulerMetrics json.RawMessage `json:"scheduler_metrics"`
	Metrics          json.RawMessage `json:"metrics"`
	RequestTotals    json.RawMessage `json:"request_totals"`
	Requests         struct {
		Successful json.RawMessage `json:"successful"`
		Errored    json.RawMessage `json:"errored"`
		Incomplete json.RawMessage `json:"incomplete"`
	} `json:"requests"`
	StartTime measure `json:"start_time"`
	EndTime   measure `json:"end_time"`
	Duration  measure `json:"duration"`
}

type guideRequest struct {
	Args   presence `json:"request_args"`
	Prompt presence `json:"prompt"`
	Output presence `json:"output"`
	Info   struct {
		Conversation term    `json:"conversation_id"`
		Turn         measure `json:"turn_index"`
		Timings      struct {
			Targeted measure `json:"targeted_start"`
			Start    measure `json:"request_start"`
			End      measure `json:"request_end"`
		} `json:"timings"`
	} `json:"info"`
	InputMetrics struct {
		Cached measure `json:"cached_tokens"`
	} `json:"input_metrics"`
	RequestStart measure `json:"request_start_time"`
	RequestEnd   measure `json:"request_end_time"`
	Start        measure `json:"start_time"`
	End          measure `json:"end_time"`
	FirstToken   measure `json:"first_token_time"`
	Latency      measure `json:"request_latency"`
	TTFT         measure `json:"time_to_first_token_ms"`
	InterToken   measure `json:"inter_token_latency_ms"`
	PromptTokens measure `json:"prompt_tokens"`
	OutputTokens measure `json:"output_tokens"`
}

func readGuideLLM(d *document, out *rows) error {
	text, err := d.whole()
	if err != nil {
		return err
	}
	var report guideReport
	if json.Unmarshal(withoutNaN(text), &report) != nil {
		return hint.Errorf("not a whole GuideLLM report").Hint("it is cut or broken; take it from its source again")
	}
	text = nil // the report has its own copy
	out.about.timeUnit = "s"
	point := int32(0)
	if isList(report.Benchmarks) {
		err = eachOfArray(bytes.NewReader(report.Benchmarks), func(_ int64, raw json.RawMessage) error {
			point++
			return report.benchmark(out, point-1, raw)
		})
	}
	if err == nil && point == 0 {
		return hint.Errorf("a GuideLLM report without a benchmark").Hint("the run was stopped before its first one ended")
	}
	return err
}

func isList(text json.RawMessage) bool { return bytes.HasPrefix(text, []byte("[")) }

func (r *guideReport) benchmark(out *rows, point int32, raw json.RawMessage) error {
	var b guideBenchmark
	if json.Unmarshal(raw, &b) != nil {
		return out.reject(int64(point)+1, "benchmarks", notJSON)
	}
	settings := b.settings(r)
	row := b.point(r, point, settings)
	if row.StartedAt == nil && (b.StartTime.is || numberWithin(treeOfRaw(b.RunStats), "start_time").is) {
		out.nonsense("start_time", "no possible date", 1)
	}
	if err := out.add(row); err != nil {
		return err
	}
	metrics, _ := treeOfRaw(b.Metrics).(map[string]any)
	if err := guideFigures(out, point, "", metrics); err != nil {
		return err
	}
	scheduler, _ := treeOfRaw(b.SchedulerMetrics).(map[string]any)
	for _, key := range sortedKeys(scheduler) {
		if name, isMean := strings.CutSuffix(key, "_avg"); isMean {
			if err := out.figure(point, name, "mean", "s", numberWithin(scheduler, key)); err != nil {
				return err
			}
		}
	}
	return b.requests(out, point)
}

// settings gathers where a benchmark says how it was made, by version.
func (b *guideBenchmark) settings(r *guideReport) map[string]any {
	spec := within(treeOfRaw(r.Config), "spec")
	if spec == nil {
		spec = treeOfRaw(r.Args)
	}
	return map[string]any{
		"config": treeOfRaw(b.Config), "args": treeOfRaw(b.Args), "worker": treeOfRaw(b.Worker),
		"loader": treeOfRaw(b.RequestLoader), "spec": spec,
	}
}

func (b *guideBenchmark) point(r *guideReport, point int32, from map[string]any) pointRow {
	flat := map[string]any{}
	for _, part := range []string{"spec", "worker", "loader", "args", "config"} { // a benchmark's own say comes last
		if text, isText := from[part].(string); !isText || isHarmless(text) {
			flatten(flat, "", from[part])
		}
	}
	delete(flat, "")
	row := pointRow{Point: point, Tool: "guidellm", ToolVersion: shortWord(string(r.Metadata.Version)), DurationS: b.Duration.number(), Settings: settings(flat)}
	stats, totals := treeOfRaw(b.RunStats), treeOfRaw(b.RequestTotals)
	if totals == nil {
		totals = within(treeOfRaw(b.Metrics), "request_totals")
	}
	if totals == nil {
		totals = within(stats, "requests_made")
	}
	row.Requests, row.Completed = numberWithin(totals, "total").count(), numberWithin(totals, "successful").count()
	row.Failed = numberWithin(totals, "errored").count()
	if row.StartedAt = unixInstant(b.StartTime); row.StartedAt == nil {
		row.StartedAt = unixInstant(numberWithin(stats, "start_time"))
	}
	if row.DurationS == nil && b.StartTime.is && b.EndTime.is {
		row.DurationS = new(b.EndTime.value - b.StartTime.value)
	}
	b.load(&row, from)
	for _, model := range []string{
		textWithin(from["config"], "backend", "model"), textWithin(from["spec"], "backend", "model"),
		textWithin(from["worker"], "backend_model"), textWithin(from["spec"], "model"),
	} {
		if row.Model == nil {
			row.Model = modelName(model)
		}
	}
	return row
}

// load reads the strategy: what was asked of the client.
func (b *guideBenchmark) load(row *pointRow, from map[string]any) {
	strategy := within(from["config"], "strategy")
	if strategy == nil {
		strategy = within(from["args"], "strategy")
	}
	kind := textWithin(strategy, "type_")
	row.Label = shortWord(kind)
	streams := numberWithin(strategy, "streams")
	if !streams.is {
		streams = numberWithin(strategy, "max_concurrency")
	}
	switch kind {
	case "synchronous":
		row.Load, row.MaxConcurrency = new("closed"), new(int64(1))
	case "concurrent":
		row.Load, row.MaxConcurrency = new("closed"), streams.count()
	case "throughput":
		row.Load, row.MaxConcurrency = new("at once"), streams.count()
	case "constant", "poisson", "async", "trace", "replay":
		row.Load, row.RequestRatePerS = new("open"), numberWithin(strategy, "rate").number()
	}
	row.InputTokensAsked, row.OutputTokensAsked = guideTokens(from, "prompt_tokens"), guideTokens(from, "output_tokens")
}

var guideData = map[string]*regexp.Regexp{
	"prompt_tokens": regexp.MustCompile(`\bprompt_tokens["']?\s*[=:]\s*(\d+)`),
	"output_tokens": regexp.MustCompile(`\boutput_tokens["']?\s*[=:]\s*(\d+)`),
}

// guideTokens is what synthetic data were asked to have: a key of the first data
// set, or a piece of "prompt_tokens=256,output_tokens=128".
func guideTokens(from map[string]any, key string) *float64 {
	data := within(from["spec"], "data")
	if data == nil {
		data = within(from["loader"], "data")
	}
	if list, isList := data.([]any); isList && len(list) > 0 {
		data = list[0]
	}
	if text, isText := data.(string); isText {
		if found := guideData[key].FindStringSubmatch(text); found != nil {
			return measureOf(found[1]).number()
		}
		return nil
	}
	return numberWithin(data, key).number()
}

var guideStatuses = []string{"successful", "errored", "incomplete", "total"}

// guideFigures walks the metrics down to the distributions. Those of successful
// requests have the metric's name; others have their status behind it.
func guideFigures(out *rows, point int32, path string, node map[string]any) error {
	for _, key := range sortedKeys(node) {
		inner, isObject := node[key].(map[string]any)
		name := strings.TrimPrefix(path+"."+key, ".")
		if !isObject || key == "request_totals" || strings.Count(name, ".") > 6 {
			continue
		}
		if !slices.Contains(guideStatuses, key) {
			if err := guideFigures(out, point, name, inner); err != nil {
				return err
			}
			continue
		}
		if count := numberWithin(inner, "count"); path == "" || !count.is || count.value == 0 {
			continue
		}
		name = path
		if key != "successful" {
			name += "." + key
		}
		if err := guideDistribution(out, point, name, guideUnit(path), inner); err != nil {
			return err
		}
	}
	return nil
}

func guideDistribution(out *rows, point int32, name, unit string, of map[string]any) error {
	for _, key := range sortedKeys(of) {
		if is := statistic(key); is != "" && key != "median" { // p50 is the same number
			out.oddNumber(name, of, key)
			if err := out.figure(point, name, is, unitFor(is, unit), numberWithin(of, key)); err != nil {
				return err
			}
		}
	}
	percentiles, _ := of["percentiles"].(map[string]any)
	for _, key := range sortedKeys(percentiles) {
		if is := guidePercentiles[key]; is != "" {
			out.oddNumber(name, percentiles, key)
			if err := out.figure(point, name, is, unit, numberWithin(percentiles, key)); err != nil {
				return err
			}
		}
	}
	return nil
}

var guidePercentiles = map[string]string{
	"p001": "p0.1", "p01": "p1", "p05": "p5", "p10": "p10", "p25": "p25", "p50": "p50",
	"p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99.9",
}

func guideUnit(name string) string {
	switch {
	case strings.HasSuffix(name, "_ms"):
		return "ms"
	case name == "request_latency":
		return "s"
	case name == "requests_per_second":
		return "requests/s"
	case strings.HasSuffix(name, "tokens_per_second"):
		return "tokens/s"
	case strings.HasSuffix(name, "_token_count"):
		return "tokens"
	case name == "request_concurrency":
		return "requests"
	}
	return ""
}

// unitFor leaves the unit out of statistics that do not have it.
func unitFor(statistic, unit string) string {
	switch statistic {
	case "count", "variance":
		return ""
	}
	return unit
}

func (b *guideBenchmark) requests(out *rows, point int32) error {
	seq := int32(0)
	for _, part := range []struct {
		failure  string
		requests json.RawMessage
	}{{"", b.Requests.Successful}, {"error", b.Requests.Errored}, {"incomplete", b.Requests.Incomplete}} {
		if !isList(part.requests) {
			continue
		}
		err := eachOfArray(bytes.NewReader(part.requests), func(_ int64, raw json.RawMessage) error {
			var request guideRequest
			if json.Unmarshal(raw, &request) != nil {
				return out.reject(int64(point)+1, "requests", notJSON)
			}
			if err := request.texts(out); err != nil {
				return err
			}
			if seq++; seq > maxGuideRequests {
				return hint.Errorf("more than %d requests in one benchmark", maxGuideRequests).Hint("check where the file came from")
			}
			return out.add(request.row(point, seq-1, part.failure, b.StartTime))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const maxGuideRequests = 2 << 20

func (q *guideRequest) texts(out *rows) error {
	for _, field := range []struct {
		name string
		is   presence
	}{{"request_args", q.Args}, {"prompt", q.Prompt}, {"output", q.Output}} {
		if field.is {
			if err := out.text(field.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// row gives seconds since the benchmark began. scheduled_at of the file is
// overwritten with the target: targeted_start is when a request was due.
func (q *guideRequest) row(point, seq int32, failure string, zero measure) resultRequestRow {
	start := firstOf(q.Info.Timings.Start, q.RequestStart, q.Start)
	end := firstOf(q.Info.Timings.End, q.RequestEnd, q.End)
	row := resultRequestRow{
		Point: point, Seq: seq, InputTokens: q.PromptTokens.count(), OutputTokens: q.OutputTokens.count(),
		TTFTS: q.TTFT.times(1e-3), TPOTS: q.InterToken.times(1e-3), E2ES: q.Latency.number(),
		DueS: since(zero, q.Info.Timings.Targeted), StartedS: since(zero, start), CachedTokens: q.InputMetrics.Cached.count(),
		SessionID: shortWord(string(q.Info.Conversation)), Failure: orNil(failure),
	}
	if row.E2ES == nil {
		row.E2ES = since(start, end)
	}
	if row.TTFTS == nil {
		row.TTFTS = since(start, q.FirstToken)
	}
	if turn := q.Info.Turn.count(); turn != nil && row.SessionID != nil && *turn < 1<<31 {
		row.Turn = new(int32(*turn))
	}
	return row
}

func firstOf(measures ...measure) measure {
	for _, m := range measures {
		if m.is {
			return m
		}
	}
	return measure{}
}

// since is the time from one instant to another, where both are known.
func since(from, to measure) *float64 {
	if !from.is || !to.is {
		return nil
	}
	return new(to.value - from.value)
}
