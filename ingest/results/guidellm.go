package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/maybe"
)

// GuideLLM reads GuideLLM's benchmarks.json: one benchmark is one point. Version 2
// of its report (0.6 and later) and the shape before it differ in where the
// settings lie; both are read.
//
// Three traps. "p001" is the 0.1th percentile and "p01" the first. A distribution
// of no samples is written as zeros, so it is not a figure.
// time_per_output_token_ms is the whole latency over all tokens, the first
// included; what others call TPOT is inter_token_latency_ms, and only that becomes
// a request's tpot_s.
//
// What GuideLLM calls an objective on tpot_ms is one on inter_token_latency_ms. Its
// attainment counts errors as missed, leaves out what the end of the run cancelled, and
// is null, not 0, where no request could be judged. guidellm_goodput.go reads its search
// for the largest load that attains.
var GuideLLM = read.Format{
	Name:  "guidellm",
	Sees:  seesGuideLLM,
	Read:  readGuideLLM,
	Wants: `a JSON object with "benchmarks", each with "metrics" and a strategy (GuideLLM's benchmarks.json)`,
}

// seesGuideLLM asks for a key that only GuideLLM has, because "benchmarks" is a
// common word.
func seesGuideLLM(h *read.Head) string {
	if !h.Has("benchmarks") {
		return ""
	}
	for _, sign := range []string{`"guidellm_version"`, `"scheduler_metrics"`, `"run_stats"`, `"generative_benchmark"`} {
		if bytes.Contains(h.Data, []byte(sign)) {
			return "a GuideLLM report: " + sign
		}
	}
	return ""
}

// guideReport is the file. Benchmarks are read one at a time, because each may hold
// a million requests.
type guideReport struct {
	Metadata struct {
		Version read.Text `json:"guidellm_version"`
	} `json:"metadata"`
	Args       read.Object     `json:"args"`
	Config     read.Object     `json:"config"`
	Search     guideSearch     `json:"profile_result"`
	Benchmarks json.RawMessage `json:"benchmarks"` // read one at a time: they may be many
}

// guideBenchmark is one step of the sweep, with the keys of both shapes.
type guideBenchmark struct {
	Config           read.Object `json:"config"`
	Args             read.Object `json:"args"`
	Worker           read.Object `json:"worker"`
	RequestLoader    read.Object `json:"request_loader"`
	RunStats         read.Object `json:"run_stats"`
	SchedulerMetrics read.Object `json:"scheduler_metrics"`
	Metrics          read.Object `json:"metrics"`
	RequestTotals    read.Object `json:"request_totals"`
	Requests         struct {
		Successful json.RawMessage `json:"successful"`
		Errored    json.RawMessage `json:"errored"`
		Incomplete json.RawMessage `json:"incomplete"`
	} `json:"requests"`
	StartTime read.Number `json:"start_time"`
	EndTime   read.Number `json:"end_time"`
	Duration  read.Number `json:"duration"`
}

// guideRequest is one request, with the keys of both shapes.
type guideRequest struct {
	Args   read.Presence `json:"request_args"`
	Prompt read.Presence `json:"prompt"`
	Output read.Presence `json:"output"`
	Info   struct {
		Conversation read.Text   `json:"conversation_id"`
		Turn         read.Number `json:"turn_index"`
		Timings      struct {
			Targeted read.Number `json:"targeted_start"`
			Start    read.Number `json:"request_start"`
			End      read.Number `json:"request_end"`
		} `json:"timings"`
	} `json:"info"`
	InputMetrics struct {
		Cached read.Number `json:"cached_tokens"`
	} `json:"input_metrics"`
	RequestStart read.Number `json:"request_start_time"`
	RequestEnd   read.Number `json:"request_end_time"`
	Start        read.Number `json:"start_time"`
	End          read.Number `json:"end_time"`
	FirstToken   read.Number `json:"first_token_time"`
	Latency      read.Number `json:"request_latency"`
	TTFT         read.Number `json:"time_to_first_token_ms"`
	InterToken   read.Number `json:"inter_token_latency_ms"`
	PromptTokens read.Number `json:"prompt_tokens"`
	OutputTokens read.Number `json:"output_tokens"`
}

// readGuideLLM reads benchmark after benchmark. The file is held once: its text is
// dropped as soon as the parts are cut out.
func readGuideLLM(d *read.Document, out *read.Rows) error {
	text, err := d.Whole()
	if err != nil {
		return err
	}
	var report guideReport
	if json.Unmarshal(read.WithoutNaN(text), &report) != nil {
		return hint.Errorf("not a whole GuideLLM report").Hint("it is cut or broken; take it from its source again")
	}
	text = nil // the report has its own copy
	out.About.TimeUnit = "s"
	benchmarks := int64(0)
	if read.IsList(report.Benchmarks) {
		err = read.EachElement(bytes.NewReader(report.Benchmarks), read.MaxElementBytes, func(number int64, raw json.RawMessage) error {
			benchmarks = number
			return report.benchmark(out, number, raw)
		})
	}
	if err == nil && benchmarks == 0 {
		return hint.Errorf("a GuideLLM report without a benchmark").Hint("the run was stopped before its first one ended")
	}
	if err == nil {
		err = report.goodput(out)
	}
	return err
}

// benchmark adds one step of the sweep: its requests, its point, its figures.
func (r *guideReport) benchmark(out *read.Rows, number int64, raw json.RawMessage) error {
	var b guideBenchmark
	if json.Unmarshal(raw, &b) != nil {
		return out.Reject(number, "benchmarks", read.NotJSON)
	}
	if err := b.requests(out, number); err != nil {
		return err
	}
	settings := b.settings(r)
	row := b.point(r, number, settings)
	if row.StartedAt == nil && (b.StartTime.Known || b.RunStats.Number("start_time").Known) {
		out.Implausible("start_time", "no possible date", 1)
	}
	out.Add(row)
	guideFigures(out, "", b.Metrics)
	guideAttainment(out, b.Metrics)
	for _, key := range read.SortedKeys(b.SchedulerMetrics) {
		if name, isMean := strings.CutSuffix(key, "_avg"); isMean {
			addFigure(out, name, "mean", "s", b.SchedulerMetrics.Number(key))
		}
	}
	return out.Err()
}

// settings gathers the places where the versions say how a benchmark was made.
func (b *guideBenchmark) settings(r *guideReport) read.Object {
	spec := firstObject(r.Config.Object("spec"), r.Args)
	return read.Object{"config": b.Config, "args": b.Args, "worker": b.Worker, "loader": b.RequestLoader, "spec": spec}
}

// point reads what was asked and how many requests there were. Totals moved twice
// between versions.
func (b *guideBenchmark) point(r *guideReport, number int64, from read.Object) Point {
	flat := map[string]any{}
	for _, part := range []string{"spec", "worker", "loader", "args", "config"} { // a benchmark's own say comes last
		read.Flatten(flat, "", from[part])
	}
	r.Search.tell(flat, number)
	row := Point{Tool: "guidellm", ToolVersion: read.WordOrNil(string(r.Metadata.Version)), DurationS: b.Duration.Float(), Settings: read.Settings(flat)}
	totals := firstObject(b.RequestTotals, b.Metrics.Object("request_totals"), b.RunStats.Object("requests_made"))
	row.Requests, row.Completed = totals.Count("total"), totals.Count("successful")
	row.Failed = totals.Count("errored")
	row.StartedAt = cmp.Or(read.UnixInstant(b.StartTime), read.UnixInstant(b.RunStats.Number("start_time")))
	if row.DurationS == nil && b.StartTime.Known && b.EndTime.Known {
		row.DurationS = new(b.EndTime.Value - b.StartTime.Value)
	}
	b.load(&row, from)
	row.Model = cmp.Or(from.ModelName("config", "backend", "model"), from.ModelName("spec", "backend", "model"), from.ModelName("worker", "backend_model"), from.ModelName("spec", "model"))
	return row
}

// load reads the strategy: what was asked of the client.
func (b *guideBenchmark) load(row *Point, from read.Object) {
	strategy := firstObject(from.Object("config", "strategy"), from.Object("args", "strategy"))
	kind := strategy.Text("type_")
	row.Label = read.WordOrNil(kind)
	streams := firstOf(strategy.Number("streams"), strategy.Number("max_concurrency"))
	switch kind {
	case "synchronous":
		row.Load, row.MaxConcurrency = new("closed"), new(int64(1))
	case "concurrent":
		row.Load, row.MaxConcurrency = new("closed"), streams.Count()
	case "throughput":
		row.Load, row.MaxConcurrency = new("at once"), streams.Count()
	case "constant", "poisson", "async", "trace", "replay":
		row.Load, row.RequestRatePerS = new("open"), strategy.Float("rate")
	}
	row.InputTokensAsked, row.OutputTokensAsked = guideTokens(from, "prompt_tokens"), guideTokens(from, "output_tokens")
}

// firstObject is the first part that a version has.
func firstObject(parts ...read.Object) read.Object {
	for _, part := range parts {
		if part != nil {
			return part
		}
	}
	return nil
}

// guideData finds a number in the text form of the synthetic data's settings.
var guideData = map[string]*regexp.Regexp{
	"prompt_tokens": regexp.MustCompile(`\bprompt_tokens["']?\s*[=:]\s*(\d+)`),
	"output_tokens": regexp.MustCompile(`\boutput_tokens["']?\s*[=:]\s*(\d+)`),
}

// guideTokens is what synthetic data were asked to have: a key of the first data
// set, or a piece of "prompt_tokens=256,output_tokens=128".
func guideTokens(from read.Object, key string) *float64 {
	data := cmp.Or(from.At("spec", "data"), from.At("loader", "data"))
	if list, isList := data.([]any); isList && len(list) > 0 {
		data = list[0]
	}
	if text, isText := data.(string); isText {
		if found := guideData[key].FindStringSubmatch(text); found != nil {
			return read.ParseNumber(found[1]).Float()
		}
		return nil
	}
	return read.ObjectOf(data).Float(key)
}

// guideStatuses divide each metric by what became of its requests.
var guideStatuses = []string{"successful", "errored", "incomplete", "total"}

// guideFigures walks the metrics down to the distributions. Those of successful
// requests have the metric's name; others have their status after it.
func guideFigures(out *read.Rows, path string, node read.Object) {
	for _, key := range read.SortedKeys(node) {
		inner := node.Object(key)
		name := strings.TrimPrefix(path+"."+key, ".")
		if inner == nil || key == "request_totals" || strings.Count(name, ".") > 6 {
			continue
		}
		if !slices.Contains(guideStatuses, key) {
			guideFigures(out, name, inner)
			continue
		}
		if count := inner.Number("count"); path == "" || !count.Known || count.Value == 0 {
			continue
		}
		name = path
		if key != "successful" {
			name += "." + key
		}
		guideDistribution(out, name, guideUnit(path), inner)
	}
}

// guideDistribution reads one distribution. Its median is left out: p50 is the same
// number.
func guideDistribution(out *read.Rows, name, unit string, of read.Object) {
	for _, key := range read.SortedKeys(of) {
		if is := statistic(key); is != "" && key != "median" { // p50 is the same number
			out.OddNumber(name, of, key)
			addFigure(out, name, is, unitFor(is, unit), of.Number(key))
		}
	}
	percentiles := of.Object("percentiles")
	for _, key := range read.SortedKeys(percentiles) {
		if is := guidePercentiles[key]; is != "" {
			out.OddNumber(name, percentiles, key)
			addFigure(out, name, is, unit, percentiles.Number(key))
		}
	}
}

// guidePercentiles are GuideLLM's names: p001 is the 0.1th percentile.
var guidePercentiles = map[string]string{
	"p001": "p0.1", "p01": "p1", "p05": "p5", "p10": "p10", "p25": "p25", "p50": "p50",
	"p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99.9",
}

// guideUnit tells the unit by the metric's name.
func guideUnit(name string) string {
	switch name {
	case "request_latency", "request_dispatch_delay", "request_scheduled_latency":
		return "s"
	case "requests_per_second", "request_goodput":
		return "requests/s"
	case "request_concurrency":
		return "requests"
	}
	return unitByEnding(name, []unitEnding{{"_ms", "ms"}, {"tokens_per_second", "tokens/s"}, {"token_goodput", "tokens/s"}, {"_token_count", "tokens"}})
}

// requests adds those of all three outcomes, numbered through. Incomplete ones were
// cut off at the end of the step.
func (b *guideBenchmark) requests(out *read.Rows, number int64) error {
	seq := int32(0)
	for _, part := range []struct {
		failure  string
		requests json.RawMessage
	}{{"", b.Requests.Successful}, {"error", b.Requests.Errored}, {"incomplete", b.Requests.Incomplete}} {
		if !read.IsList(part.requests) {
			continue
		}
		err := read.EachElement(bytes.NewReader(part.requests), read.MaxElementBytes, func(_ int64, raw json.RawMessage) error {
			var request guideRequest
			if json.Unmarshal(raw, &request) != nil {
				return out.Reject(number, "requests", read.NotJSON)
			}
			tellTexts(out, textField{"request_args", request.Args}, textField{"prompt", request.Prompt}, textField{"output", request.Output})
			if seq++; seq > maxGuideRequests {
				return hint.Errorf("more than %d requests in one benchmark", maxGuideRequests).Hint("check where the file came from")
			}
			return out.Add(request.row(seq-1, part.failure, b.StartTime))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// maxGuideRequests bounds the requests of one benchmark.
const maxGuideRequests = 2 << 20

// row gives seconds since the benchmark began. The file overwrites scheduled_at
// with the target, so targeted_start is when a request was due.
func (q *guideRequest) row(seq int32, failure string, zero read.Number) Request {
	start := firstOf(q.Info.Timings.Start, q.RequestStart, q.Start)
	end := firstOf(q.Info.Timings.End, q.RequestEnd, q.End)
	row := Request{
		Seq: seq, InputTokens: q.PromptTokens.Count(), OutputTokens: q.OutputTokens.Count(),
		TTFTS: cmp.Or(q.TTFT.Times(1e-3), since(start, q.FirstToken)), TPOTS: q.InterToken.Times(1e-3), E2ES: cmp.Or(q.Latency.Float(), since(start, end)),
		DueS: since(zero, q.Info.Timings.Targeted), StartedS: since(zero, start), CachedTokens: q.InputMetrics.Cached.Count(),
		SessionID: read.WordOrNil(string(q.Info.Conversation)), Failure: maybe.Known(failure),
	}
	if row.SessionID != nil {
		row.Turn = read.Int32Of(q.Info.Turn)
	}
	return row
}
