package results

import (
	"bytes"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/lazy"
	"tidemark/internal/maybe"
)

// VLLMBenchLog reads what "vllm bench serve" prints at its end, as auto_tune keeps
// it in bm_log_*.txt and people in their notes. Figures have the names of the
// tool's own JSON. Several reports in one file are several points. SGLang prints
// under the same title, but also its backend, by which it is told apart.
var VLLMBenchLog = read.Format{
	Name: "vllm-bench-log",
	Sees: func(h *read.Head) string {
		return read.If(bytes.Contains(h.Data, []byte(benchTitle)) && bytes.Contains(h.Data, []byte("Benchmark duration (s):")) && !bytes.Contains(h.Data, []byte("\nBackend:")), "what vllm bench serve prints: "+benchTitle)
	},
	Read:    readBenchLog,
	Wants:   "the text that vllm bench serve prints, with " + benchTitle,
	IsGuess: true,
}

// benchTitle stands above each report, between equals signs.
const benchTitle = "Serving Benchmark Result"

var (
	benchLine  = lazy.Regexp(`^([A-Za-z][A-Za-z0-9 ./()%-]*):\s+(\S+)\s*$`)
	benchTimes = lazy.Regexp(`^(Mean|Median|Std|P\d+(?:\.\d+)?) (TTFT|TPOT|ITL|E2EL) \(ms\)$`)
	benchAsked = lazy.Regexp(`\b(num_prompts|request_rate|max_concurrency|random_input_len|random_output_len|burstiness|seed)=([0-9.]+|inf)\b`)
	benchModel = lazy.Regexp(`\bmodel='([^']{1,128})'`)
	nameOfLog  = lazy.Regexp(`^bm_log_(\d+)_(\d+)_`)
)

// benchWords are the lines that are figures: the JSON's name and its unit. Versions
// differ in the capitals of "Total Token".
var benchWords = map[string][2]string{
	"Request throughput (req/s)":           {"request_throughput", "requests/s"},
	"Request goodput (req/s)":              {"request_goodput", "requests/s"},
	"Output token throughput (tok/s)":      {"output_throughput", "tokens/s"},
	"Peak output token throughput (tok/s)": {"max_output_tokens_per_s", "tokens/s"},
	"Peak concurrent requests":             {"max_concurrent_requests", "requests"},
	"Total Token throughput (tok/s)":       {"total_token_throughput", "tokens/s"},
	"Total token throughput (tok/s)":       {"total_token_throughput", "tokens/s"},
	"Total input tokens":                   {"total_input_tokens", "tokens"},
	"Total generated tokens":               {"total_output_tokens", "tokens"},
}

// benchLog is one report on its way.
type benchLog struct {
	row     Point
	flat    map[string]any
	figures []Figure
}

// readBenchLog goes through a log: settings that the tool prints at its start, then
// a report, up to the next report's title.
func readBenchLog(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "ms"
	asked, model := map[string]string{}, ""
	var log *benchLog
	end := func() {
		if log != nil {
			log.add(out, d.Base())
			log = nil
		}
	}
	err := d.Lines(out, func(_ int64, line []byte) (*read.Reject, error) {
		text := strings.TrimSpace(string(line))
		if strings.Contains(text, benchTitle) {
			end()
			log = newBenchLog(asked, model)
			return nil, nil
		}
		if log != nil {
			log.take(text)
			return nil, nil
		}
		for _, pair := range benchAsked().FindAllStringSubmatch(text, 32) {
			asked[pair[1]] = pair[2]
		}
		if found := benchModel().FindStringSubmatch(text); found != nil {
			model = found[1]
		}
		return nil, nil
	})
	if err == nil {
		end()
	}
	return err
}

// newBenchLog starts a report with what the log said before it.
func newBenchLog(asked map[string]string, model string) *benchLog {
	number := func(key string) read.Number { return read.ParseNumber(asked[key]) }
	return &benchLog{
		row: Point{
			Tool: "vllm-bench-serve", Model: read.ModelName(model), RequestRatePerS: number("request_rate").Float(), MaxConcurrency: number("max_concurrency").Count(),
			InputTokensAsked: number("random_input_len").Float(), OutputTokensAsked: number("random_output_len").Float(), Requests: number("num_prompts").Count(),
		},
		flat: map[string]any{"is_from_log": true, "asked_rate": asked["request_rate"]},
	}
}

// take reads one line of the report; lines between the figures are passed over.
func (l *benchLog) take(text string) {
	found := benchLine().FindStringSubmatch(text)
	if found == nil {
		return
	}
	name, value := found[1], read.ParseNumber(found[2])
	times := benchTimes().FindStringSubmatch(name)
	words, isFigure := benchWords[name]
	switch {
	case len(l.figures) > 200: // one report has some 40
	case times != nil && value.Known:
		l.figures = append(l.figures, Figure{Name: strings.ToLower(times[2]), Statistic: statistic(strings.ToLower(times[1])), Unit: new("ms"), Value: value.Value})
	case isFigure && value.Known:
		l.figures = append(l.figures, Figure{Name: words[0], Statistic: "value", Unit: maybe.Known(words[1]), Value: value.Value})
	case name == "Successful requests":
		l.row.Completed = value.Count()
	case name == "Failed requests":
		l.row.Failed = value.Count()
	case name == "Benchmark duration (s)":
		l.row.DurationS = value.Float()
	case name == "Maximum request concurrency":
		l.row.MaxConcurrency = value.Count()
	case name == "Request rate configured (RPS)":
		l.row.RequestRatePerS = value.Float()
	}
}

// add writes the report as a point. In the name of an auto_tune log are the two
// settings that it tried.
func (l *benchLog) add(out *read.Rows, name string) {
	switch {
	case l.row.MaxConcurrency != nil && l.row.RequestRatePerS == nil:
		l.row.Load = new("closed")
	case l.row.RequestRatePerS != nil:
		l.row.Load = new("open")
	case l.flat["asked_rate"] == "inf":
		l.row.Load = new("at once")
	}
	if l.row.Completed != nil && l.row.Failed != nil {
		l.row.Requests = new(*l.row.Completed + *l.row.Failed)
	}
	if found := nameOfLog().FindStringSubmatch(name); found != nil {
		l.flat["max_num_seqs"], l.flat["max_num_batched_tokens"] = read.ParseNumber(found[1]).Value, read.ParseNumber(found[2]).Value
		l.row.Label = new("max_num_seqs=" + found[1] + " max_num_batched_tokens=" + found[2])
	}
	l.row.Settings = read.Settings(l.flat)
	out.Add(l.row)
	seen := map[string]bool{} // the median is printed twice where p50 was asked for
	for _, figure := range l.figures {
		if key := figure.Name + " " + figure.Statistic; !seen[key] {
			seen[key] = true
			out.Add(figure)
		}
	}
}
