package ingest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"tidemark/internal/hint"
)

// evalscope perf writes a folder: benchmark_summary.json, benchmark_percentile.json
// and benchmark_args.json, whose names carry their units ("TTFT (ms)"; older ones
// have seconds), and an SQLite file of all requests. The summary comes in with the
// two others; of the SQLite file an export is read, without its pickled answers.
var _ = register(format{
	name: "evalscope",
	sees: func(h *head) string {
		switch {
		case h.has("Total Requests", "Success Requests"), h.has("Total requests", "Succeed requests"):
			return "evalscope's summary, with its counts of requests"
		case h.elementHas("Percentiles"):
			return "evalscope's percentiles"
		}
		return ""
	},
	read:  readEvalscope,
	kind:  "results",
	wants: `a JSON object with "Total Requests" and "Success Requests" (evalscope's benchmark_summary.json)`,
})

const evalscopeSummary = "benchmark_summary.json"

func readEvalscope(d *document, out *rows) error {
	if bytes.HasPrefix(firstLine(d.first.data), []byte("[")) {
		if d.beside(evalscopeSummary, 1) != nil {
			return hint.Errorf("%s", "its percentiles come in with "+evalscopeSummary).Hint("take in that file").Mark(errUnknownFormat)
		}
		text, err := d.whole()
		if err != nil {
			return err
		}
		if err := out.add(pointRow{Tool: "evalscope", Label: new("percentiles")}); err != nil {
			return err
		}
		return evalscopePercentiles(out, text)
	}
	summary, err := d.tree()
	if err != nil {
		return err
	}
	args, _ := treeOf(d.beside("benchmark_args.json", 1<<20))
	if err := out.add(evalscopePoint(summary, args)); err != nil {
		return err
	}
	for _, key := range sortedKeys(summary) {
		name, unit := nameAndUnit(key)
		is := "value"
		for _, average := range []string{"Average ", "Avg "} {
			if rest, cut := strings.CutPrefix(name, average); cut {
				name, is = rest, "mean"
			}
		}
		switch name {
		case "TTFT", "TPOT", "ITL":
			is = "mean"
		case "Concurrency", "Number of concurrency", "Request Rate", "Request rate":
			continue
		}
		out.oddNumber(name, summary, key)
		if err := out.figure(0, name, is, unit, numberWithin(summary, key)); err != nil {
			return err
		}
	}
	if percentiles := d.beside("benchmark_percentile.json", maxTreeBytes); percentiles != nil {
		return evalscopePercentiles(out, percentiles)
	}
	return nil
}

var unitBehind = regexp.MustCompile(`^(.*?) *\(([^()]*)\)$`)

// nameAndUnit takes "TTFT (ms)" apart.
func nameAndUnit(key string) (name, unit string) {
	parts := unitBehind.FindStringSubmatch(key)
	if parts == nil {
		return key, ""
	}
	return parts[1], strings.NewReplacer("tok/s", "tokens/s", "req/s", "requests/s").Replace(parts[2])
}

func evalscopePoint(summary, args map[string]any) pointRow {
	number := func(keys ...string) measure {
		for _, key := range keys {
			if m := numberWithin(summary, key); m.is {
				return m
			}
		}
		return measure{}
	}
	flat := map[string]any{}
	flatten(flat, "", args)
	row := pointRow{
		Tool: "evalscope", Model: modelName(textWithin(args, "model")), Settings: settings(flat),
		Requests:  number("Total Requests", "Total requests").count(),
		Completed: number("Success Requests", "Succeed requests").count(), Failed: number("Failed Requests", "Failed requests").count(),
		DurationS:      number("Test Duration (s)", "Time taken for tests (s)").number(),
		MaxConcurrency: number("Concurrency", "Number of concurrency").count(),
	}
	if rate := number("Request Rate (req/s)", "Request rate (req/s)"); rate.is && rate.value > 0 {
		row.RequestRatePerS = rate.number()
	}
	switch {
	case row.RequestRatePerS != nil:
		row.Load = new("open")
	case row.MaxConcurrency != nil:
		row.Load = new("closed")
	}
	return row
}

// evalscopePercentiles are nearest-rank: values that were measured.
func evalscopePercentiles(out *rows, text []byte) error {
	return eachOfArray(bytes.NewReader(withoutNaN(text)), func(number int64, element json.RawMessage) error {
		record, _ := treeOfRaw(element).(map[string]any)
		label := textWithin(record, "Percentiles")
		is := statistic(label)
		if digits, isPercentile := strings.CutSuffix(label, "%"); isPercentile {
			is = statistic("p" + digits)
		}
		if is == "" {
			return out.reject(number, "Percentiles", isMissing)
		}
		for _, key := range sortedKeys(record) {
			name, unit := nameAndUnit(key)
			out.oddNumber(name, record, key)
			if err := out.figure(0, name, is, unit, numberWithin(record, key)); err != nil {
				return err
			}
		}
		return nil
	})
}

// The export of evalscope's benchmark_data.db, CSV or JSON. Seconds.
var _ = register(format{
	name: "evalscope-requests",
	sees: func(h *head) string {
		wanted := []string{"start_time", "first_chunk_latency", "prompt_tokens", "completion_tokens"}
		if hasKeys(h.columns, wanted...) || hasKeys(h.element, wanted...) {
			return "evalscope's requests, with first_chunk_latency and completion_tokens"
		}
		return ""
	},
	read:  readEvalscopeRequests,
	kind:  "results",
	wants: "a CSV or JSON array with start_time, first_chunk_latency, prompt_tokens and completion_tokens (an export of evalscope's benchmark_data.db)",
})

type evalscopeRequest struct {
	Start     measure         `json:"start_time"`
	Latency   measure         `json:"latency"`
	First     measure         `json:"first_chunk_latency"`
	Input     measure         `json:"prompt_tokens"`
	Output    measure         `json:"completion_tokens"`
	PerToken  measure         `json:"time_per_output_token"`
	Gaps      json.RawMessage `json:"inter_token_latencies"`
	Success   json.RawMessage `json:"success"`
	Request   presence        `json:"request"`
	Responses presence        `json:"response_messages"`
}

func readEvalscopeRequests(d *document, out *rows) error {
	out.about.timeUnit = "s"
	var zero measure
	var all, failed int64
	use := func(q evalscopeRequest) error {
		for name, is := range map[string]presence{"request": q.Request, "response_messages": q.Responses} {
			if is {
				if err := out.text(name); err != nil {
					return err
				}
			}
		}
		zero = firstOf(zero, q.Start)
		row := q.row(int32(all), zero)
		all++
		if row.Failure != nil {
			failed++
		}
		return out.add(row)
	}
	var err error
	if bytes.HasPrefix(firstLine(d.first.data), []byte("[")) {
		err = eachOfArray(d.reader(), func(number int64, element json.RawMessage) error {
			var q evalscopeRequest
			if json.Unmarshal(element, &q) != nil {
				return out.reject(number, "", notJSON)
			}
			return use(q)
		})
	} else {
		err = d.sheets(out, func(line int64, s *sheet) (*reject, error) {
			if start := s.number("start_time"); !start.is {
				return &reject{line, "start_time", notANumber}, nil
			}
			return nil, use(evalscopeRequest{
				Start: s.number("start_time"), Latency: s.number("latency"), First: s.number("first_chunk_latency"),
				Input: s.number("prompt_tokens"), Output: s.number("completion_tokens"), PerToken: s.number("time_per_output_token"),
				Gaps: json.RawMessage(s.text("inter_token_latencies")), Success: json.RawMessage(s.text("success")),
				Request: s.text("request") != "", Responses: s.text("response_messages") != "",
			})
		})
	}
	if err != nil || all == 0 {
		return err
	}
	return out.add(pointRow{Tool: "evalscope", Label: new("requests"), Requests: &all, Completed: new(all - failed), Failed: &failed})
}

func (q *evalscopeRequest) row(seq int32, zero measure) resultRequestRow {
	row := resultRequestRow{Seq: seq, StartedS: since(zero, q.Start)}
	if success := strings.ToLower(string(q.Success)); success == "0" || success == "false" {
		row.Failure = new("error")
		return row
	}
	row.E2ES, row.TTFTS, row.TPOTS = q.Latency.number(), q.First.number(), q.PerToken.number()
	row.InputTokens, row.OutputTokens = q.Input.count(), q.Output.count()
	row.ChunkGapsUs = q.gaps()
	return row
}

// gaps are a list, or a text that holds one, as SQLite gives it out.
func (q *evalscopeRequest) gaps() []int32 {
	text := q.Gaps
	var inner string
	if json.Unmarshal(text, &inner) == nil {
		text = []byte(inner)
	}
	const enough = 1 << 20 // chunks of one answer
	if bytes.Count(text, []byte(",")) > enough {
		return nil
	}
	var gaps []measure
	if json.Unmarshal(text, &gaps) != nil || len(gaps) == 0 {
		return nil
	}
	made := make([]int32, 0, len(gaps))
	for _, gap := range gaps {
		us := gap.value * 1e6
		if !gap.is || us < 0 || us > 1<<31-1 {
			return nil
		}
		made = append(made, int32(us+0.5))
	}
	return made
}

// SQLite files are not read: what is known of them says how to export them.
var _ = register(format{
	name: "sqlite",
	sees: func(h *head) string {
		if !bytes.HasPrefix(h.data, []byte("SQLite format 3\x00")) {
			return ""
		}
		return "an SQLite file"
	},
	read: func(d *document, _ *rows) error {
		return hint.Errorf("an SQLite file: an export of it is read").Hint("%s", sqliteHint(d.first.data))
	},
	kind:  "results",
	wants: "nothing: an export of it is read",
})

func sqliteHint(head []byte) string {
	switch {
	case bytes.Contains(head, []byte("first_chunk_latency")):
		return `sqlite3 -csv -header benchmark_data.db "select start_time, latency, first_chunk_latency, prompt_tokens, completion_tokens, time_per_output_token, inter_token_latencies, success from result" > requests.csv`
	case bytes.Contains(head, []byte("trial_params")):
		return `optuna trials --storage sqlite:///FILE --study-name NAME --format json > trials.json`
	}
	return `sqlite3 -csv -header FILE "select * from TABLE" > requests.csv; where its columns have other names than ours, say which is which with --column`
}
