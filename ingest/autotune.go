package ingest

import (
	"bytes"
	"regexp"
	"strings"

	"tidemark/internal/hint"
)

// The result.txt of vLLM's auto_tune.sh: one line per pair of --max-num-seqs and
// --max-num-batched-tokens that was tried, and one with its choice. e2el is the
// p99 of the whole latency in milliseconds, throughput and goodput are requests per
// second. The tuner knows a bound on the whole latency alone; its choice is a
// setting of the point, never a verdict.
var _ = register(format{
	name: "auto-tune",
	sees: func(h *head) string {
		if !tunedLine.Match(h.line) && !(bytes.HasPrefix(h.line, []byte("hash:")) && tunedLine.Match(h.data[:min(len(h.data), 4096)])) {
			return ""
		}
		return "auto_tune's result.txt, with max_num_seqs and max_num_batched_tokens"
	},
	read:  readAutoTune,
	kind:  "results",
	wants: "lines with max_num_seqs: and max_num_batched_tokens: (auto_tune's result.txt)",
})

var (
	tunedLine = regexp.MustCompile(`(?m)^(?:best_)?max_num_seqs: *\d+, (?:max|best)_num_batched_tokens: *\d+`)
	tunedPair = regexp.MustCompile(`(?:^|, )([a-z_][a-z0-9_ ]*): *([^,]*)`)
	unmet     = regexp.MustCompile(`does not meet latency requirement *([0-9.eE+]+)`)
)

const maxTuned = 1 << 16

type tuned struct {
	pairs map[string]string
	limit measure // that it did not meet, milliseconds
}

func readAutoTune(d *document, out *rows) error {
	var found []tuned
	var hash string
	var best map[string]string
	err := d.lines(out, func(number int64, line []byte) (*reject, error) {
		text := strings.TrimSpace(string(line))
		switch {
		case strings.HasPrefix(text, "hash:"):
			hash = strings.TrimSpace(text[len("hash:"):])
		case !tunedLine.MatchString(text):
			if strings.Contains(text, "max_num_seqs") {
				return &reject{number, "", isMissing}, nil
			} // else it is talk of the script
		default:
			one := tuned{pairs: map[string]string{}}
			if limit := unmet.FindStringSubmatch(text); limit != nil {
				one.limit = measureOf(limit[1])
				text = strings.TrimSpace(text[:strings.Index(text, "does not")])
			}
			for _, pair := range tunedPair.FindAllStringSubmatch(text, 32) {
				one.pairs[strings.ReplaceAll(pair[1], " ", "")] = strings.TrimSpace(pair[2])
			}
			if strings.HasPrefix(text, "best_") {
				best = one.pairs
				return nil, nil
			}
			if found = append(found, one); len(found) > maxTuned {
				return nil, hint.Errorf("more than 65,536 lines of a tuner").Hint("split it")
			}
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	for i, one := range found {
		if err := one.add(out, int32(i), hash, best); err != nil {
			return err
		}
	}
	if best != nil {
		out.note("the tuner's choice is kept as a setting; whether an SLO is met is judged from what was measured")
	}
	return nil
}

func (t *tuned) add(out *rows, point int32, hash string, best map[string]string) error {
	number := func(key string) measure { return measureOf(t.pairs[key]) }
	seqs, tokens := number("max_num_seqs"), number("max_num_batched_tokens")
	isBest := best != nil && best["best_max_num_seqs"] == t.pairs["max_num_seqs"] && best["best_num_batched_tokens"] == t.pairs["max_num_batched_tokens"]
	flat := map[string]any{"max_num_seqs": finite(seqs), "max_num_batched_tokens": finite(tokens), "is_tuners_choice": isBest, "vllm_commit": hash}
	if t.limit.is {
		flat["unmet_e2el_limit_ms"] = t.limit.value
	}
	label := "max_num_seqs=" + t.pairs["max_num_seqs"] + " max_num_batched_tokens=" + t.pairs["max_num_batched_tokens"]
	row := pointRow{Point: point, Tool: "auto-tune", Label: shortWord(label), Engine: new("vllm"), RequestRatePerS: number("request_rate").number(), Settings: settings(flat)}
	switch rate := t.pairs["request_rate"]; {
	case rate == "inf":
		row.Load = new("at once")
	case rate != "":
		row.Load = new("open")
	}
	if err := out.add(row); err != nil {
		return err
	}
	e2el := number("e2el")
	if !e2el.is {
		e2el = number("e2e")
	}
	if err := out.figure(point, "e2el", "p99", "ms", e2el); err != nil {
		return err
	}
	for _, name := range []string{"throughput", "goodput"} {
		if err := out.figure(point, name, "value", "requests/s", number(name)); err != nil {
			return err
		}
	}
	return nil
}

// What "vllm bench serve" prints at its end, as auto_tune keeps it in bm_log_*.txt
// and people in their notes. It is called as in the tool's own JSON. Several in one
// file are several points.
var _ = register(format{
	name: "vllm-bench-log",
	sees: func(h *head) string {
		if !bytes.Contains(h.data, []byte(benchTitle)) || !bytes.Contains(h.data, []byte("Benchmark duration (s):")) || bytes.Contains(h.data, []byte("\nBackend:")) {
			return "" // SGLang prints its backend under the same title
		}
		return "what vllm bench serve prints: " + benchTitle
	},
	read:    readBenchLog,
	kind:    "results",
	wants:   "the text that vllm bench serve prints, with " + benchTitle,
	isGuess: true,
})

const benchTitle = "Serving Benchmark Result"

var (
	benchLine  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9 ./()%-]*):\s+(\S+)\s*$`)
	benchTimes = regexp.MustCompile(`^(Mean|Median|Std|P\d+(?:\.\d+)?) (TTFT|TPOT|ITL|E2EL) \(ms\)$`)
	benchAsked = regexp.MustCompile(`\b(num_prompts|request_rate|max_concurrency|random_input_len|random_output_len|burstiness|seed)=([0-9.]+|inf)\b`)
	benchModel = regexp.MustCompile(`\bmodel='([^']{1,128})'`)
	nameOfLog  = regexp.MustCompile(`^bm_log_(\d+)_(\d+)_`)
)

// benchWords are the lines that are figures: the JSON's name and its unit.
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
	row     pointRow
	flat    map[string]any
	figures []figureRow
}

func readBenchLog(d *document, out *rows) error {
	out.about.timeUnit = "ms"
	asked, model := map[string]string{}, ""
	var log *benchLog
	points := int32(0)
	end := func() error {
		if log == nil {
			return nil
		}
		err := log.add(out, points, d.base())
		log, points = nil, points+1
		return err
	}
	err := d.lines(out, func(_ int64, line []byte) (*reject, error) {
		text := strings.TrimSpace(string(line))
		if strings.Contains(text, benchTitle) {
			if err := end(); err != nil {
				return nil, err
			}
			log = newBenchLog(asked, model)
			return nil, nil
		}
		if log != nil {
			log.take(text)
			return nil, nil
		}
		for _, pair := range benchAsked.FindAllStringSubmatch(text, 32) {
			asked[pair[1]] = pair[2]
		}
		if found := benchModel.FindStringSubmatch(text); found != nil {
			model = found[1]
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	return end()
}

func newBenchLog(asked map[string]string, model string) *benchLog {
	number := func(key string) measure { return measureOf(asked[key]) }
	return &benchLog{
		row: pointRow{
			Tool: "vllm-bench-serve", Model: modelName(model), RequestRatePerS: number("request_rate").number(), MaxConcurrency: number("max_concurrency").count(),
			InputTokensAsked: number("random_input_len").number(), OutputTokensAsked: number("random_output_len").number(), Requests: number("num_prompts").count(),
		},
		flat: map[string]any{"is_from_log": true, "asked_rate": asked["request_rate"]},
	}
}

func (l *benchLog) take(text string) {
	found := benchLine.FindStringSubmatch(text)
	if found == nil {
		return
	}
	name, value := found[1], measureOf(found[2])
	times := benchTimes.FindStringSubmatch(name)
	words, isFigure := benchWords[name]
	switch {
	case len(l.figures) > 200: // one report has some 40
	case times != nil && value.is:
		l.figures = append(l.figures, figureRow{Name: strings.ToLower(times[2]), Statistic: statistic(strings.ToLower(times[1])), Unit: new("ms"), Value: value.value})
	case isFigure && value.is:
		l.figures = append(l.figures, figureRow{Name: words[0], Statistic: "value", Unit: orNil(words[1]), Value: value.value})
	case name == "Successful requests":
		l.row.Completed = value.count()
	case name == "Failed requests":
		l.row.Failed = value.count()
	case name == "Benchmark duration (s)":
		l.row.DurationS = value.number()
	case name == "Maximum request concurrency":
		l.row.MaxConcurrency = value.count()
	case name == "Request rate configured (RPS)":
		l.row.RequestRatePerS = value.number()
	}
}

func (l *benchLog) add(out *rows, point int32, name string) error {
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
	if found := nameOfLog.FindStringSubmatch(name); found != nil {
		l.flat["max_num_seqs"], l.flat["max_num_batched_tokens"] = measureOf(found[1]).value, measureOf(found[2]).value
		l.row.Label = new("max_num_seqs=" + found[1] + " max_num_batched_tokens=" + found[2])
	}
	l.row.Point, l.row.Settings = point, settings(l.flat)
	if err := out.add(l.row); err != nil {
		return err
	}
	seen := map[string]bool{} // the median is printed twice where p50 was asked for
	for _, figure := range l.figures {
		figure.Point = point
		if key := figure.Name + " " + figure.Statistic; !seen[key] {
			seen[key] = true
			if err := out.add(figure); err != nil {
				return err
			}
		}
	}
	return nil
}
