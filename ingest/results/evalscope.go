package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/lazy"
)

// Evalscope reads the summary of "evalscope perf". The tool writes a folder:
// benchmark_summary.json, benchmark_percentile.json and benchmark_args.json, whose
// names carry their units ("TTFT (ms)"; older versions have seconds), and an SQLite
// file of all requests. The summary brings the two other JSON files with it.
var Evalscope = read.Format{
	Name: "evalscope",
	Sees: func(h *read.Head) string {
		switch {
		case h.Has("Total Requests", "Success Requests"), h.Has("Total requests", "Succeed requests"):
			return "evalscope's summary, with its counts of requests"
		case h.ElementHas("Percentiles"):
			return "evalscope's percentiles"
		}
		return ""
	},
	Read:  readEvalscope,
	Wants: `a JSON object with "Total Requests" and "Success Requests" (evalscope's benchmark_summary.json)`,
}

// evalscopeSummary brings the other files of its folder with it, which are then
// passed over by themselves.
const evalscopeSummary = "benchmark_summary.json"

// readEvalscope reads the summary with the files next to it. Percentiles alone,
// without their summary, become a point of their own.
func readEvalscope(d *read.Document, out *read.Rows) error {
	if bytes.HasPrefix(read.FirstLine(d.First.Data), []byte("[")) {
		if d.Beside(evalscopeSummary, 1) != nil {
			return hint.Errorf("%s", "its percentiles come in with "+evalscopeSummary).Hint("take in that file").Mark(read.ErrUnknownFormat)
		}
		text, err := d.Whole()
		if err != nil {
			return err
		}
		out.Add(Point{Tool: "evalscope", Label: new("percentiles")})
		return evalscopePercentiles(out, text)
	}
	summary, err := d.Tree()
	if err != nil {
		return err
	}
	args, _ := read.ParseTree(d.Beside("benchmark_args.json", 1<<20))
	out.Add(evalscopePoint(summary, args))
	for _, key := range read.SortedKeys(summary) {
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
		out.OddNumber(name, summary, key)
		addFigure(out, name, is, unit, summary.Number(key))
	}
	if percentiles := d.Beside("benchmark_percentile.json", read.MaxTreeBytes); percentiles != nil {
		return evalscopePercentiles(out, percentiles)
	}
	return nil
}

// unitBehind matches a name with its unit in parentheses.
var unitBehind = lazy.Regexp(`^(.*?) *\(([^()]*)\)$`)

// nameAndUnit takes "TTFT (ms)" apart.
func nameAndUnit(key string) (name, unit string) {
	parts := unitBehind().FindStringSubmatch(key)
	if parts == nil {
		return key, ""
	}
	return parts[1], strings.NewReplacer("tok/s", "tokens/s", "req/s", "requests/s").Replace(parts[2])
}

// evalscopePoint reads the run; the names of its counts differ between versions.
func evalscopePoint(summary, args read.Object) Point {
	number := func(key, older string) read.Number {
		return firstOf(summary.Number(key), summary.Number(older))
	}
	flat := map[string]any{}
	read.Flatten(flat, "", args)
	row := Point{
		Tool: "evalscope", Model: args.ModelName("model"), Settings: read.Settings(flat),
		Requests:  number("Total Requests", "Total requests").Count(),
		Completed: number("Success Requests", "Succeed requests").Count(), Failed: number("Failed Requests", "Failed requests").Count(),
		DurationS:      number("Test Duration (s)", "Time taken for tests (s)").Float(),
		MaxConcurrency: number("Concurrency", "Number of concurrency").Count(),
	}
	if rate := number("Request Rate (req/s)", "Request rate (req/s)"); rate.Known && rate.Value > 0 {
		row.RequestRatePerS = rate.Float()
	}
	row.Load = cmp.Or(row.openLoad(), row.closedLoad())
	return row
}

// evalscopePercentiles reads a list of records, one per percentile. They are
// nearest-rank percentiles: values that were measured.
func evalscopePercentiles(out *read.Rows, text []byte) error {
	return read.EachElement(bytes.NewReader(read.WithoutNaN(text)), read.MaxElementBytes, func(number int64, element json.RawMessage) error {
		record := read.ObjectOf(read.TreeOfPart(element))
		label := record.Text("Percentiles")
		is := statistic(label)
		if digits, isPercentile := strings.CutSuffix(label, "%"); isPercentile {
			is = statistic("p" + digits)
		}
		if is == "" {
			return out.Reject(number, "Percentiles", read.Missing)
		}
		for _, key := range read.SortedKeys(record) {
			name, unit := nameAndUnit(key)
			out.OddNumber(name, record, key)
			addFigure(out, name, is, unit, record.Number(key))
		}
		return nil
	})
}

// EvalscopeRequests reads an export of evalscope's benchmark_data.db, as CSV or
// JSON, in seconds. The answers in it are pickled Python objects and are never
// opened.
var EvalscopeRequests = read.Format{
	Name: "evalscope-requests",
	Sees: func(h *read.Head) string {
		wanted := []string{"start_time", "first_chunk_latency", "prompt_tokens", "completion_tokens"}
		return read.If(read.HasAll(h.Columns, wanted...) || read.HasAll(h.Element, wanted...), "evalscope's requests, with first_chunk_latency and completion_tokens")
	},
	Read:  readEvalscopeRequests,
	Wants: "a CSV or JSON array with start_time, first_chunk_latency, prompt_tokens and completion_tokens (an export of evalscope's benchmark_data.db)",
}

// evalscopeRequest is a row of the table "result".
type evalscopeRequest struct {
	Start     read.Number     `json:"start_time"`
	Latency   read.Number     `json:"latency"`
	First     read.Number     `json:"first_chunk_latency"`
	Input     read.Number     `json:"prompt_tokens"`
	Output    read.Number     `json:"completion_tokens"`
	PerToken  read.Number     `json:"time_per_output_token"`
	Gaps      json.RawMessage `json:"inter_token_latencies"`
	Success   json.RawMessage `json:"success"`
	Request   read.Presence   `json:"request"`
	Responses read.Presence   `json:"response_messages"`
}

// readEvalscopeRequests reads either form of the export.
func readEvalscopeRequests(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "s"
	var zero read.Number
	var seen outcomes
	use := func(q evalscopeRequest) error {
		tellTexts(out, textField{"request", q.Request}, textField{"response_messages", q.Responses})
		zero = firstOf(zero, q.Start)
		return seen.add(out, q.row(zero))
	}
	var err error
	if bytes.HasPrefix(read.FirstLine(d.First.Data), []byte("[")) {
		err = read.EachElement(d.Reader(), read.MaxElementBytes, func(number int64, element json.RawMessage) error {
			var q evalscopeRequest
			if json.Unmarshal(element, &q) != nil {
				return out.Reject(number, "", read.NotJSON)
			}
			return use(q)
		})
	} else {
		err = d.Sheets(out, func(line int64, s *read.Sheet) (*read.Reject, error) {
			if start := s.Number("start_time"); !start.Known {
				return &read.Reject{Column: "start_time", Reason: read.NotANumber}, nil
			}
			return nil, use(evalscopeRequest{
				Start: s.Number("start_time"), Latency: s.Number("latency"), First: s.Number("first_chunk_latency"),
				Input: s.Number("prompt_tokens"), Output: s.Number("completion_tokens"), PerToken: s.Number("time_per_output_token"),
				Gaps: json.RawMessage(s.Text("inter_token_latencies")), Success: json.RawMessage(s.Text("success")),
				Request: s.Text("request") != "", Responses: s.Text("response_messages") != "",
			})
		})
	}
	if err != nil {
		return err
	}
	return seen.addPoint(out, Point{Tool: "evalscope", Label: new("requests")})
}

// row leaves the times of a failed request out: they are zeros.
func (q *evalscopeRequest) row(zero read.Number) Request {
	row := Request{StartedS: since(zero, q.Start)}
	if success := strings.ToLower(string(q.Success)); success == "0" || success == "false" {
		row.Failure = new("error")
		return row
	}
	row.E2ES, row.TTFTS, row.TPOTS = q.Latency.Float(), q.First.Float(), q.PerToken.Float()
	row.InputTokens, row.OutputTokens = q.Input.Count(), q.Output.Count()
	row.ChunkGapsUs = q.gaps()
	return row
}

// gaps are a list, or a text that holds a list, as SQLite gives it out.
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
	var gaps []read.Number
	if json.Unmarshal(text, &gaps) != nil || len(gaps) == 0 {
		return nil
	}
	made := make([]int32, 0, len(gaps))
	for _, gap := range gaps {
		us := gap.Value * 1e6
		if !gap.Known || us < 0 || us > 1<<31-1 {
			return nil
		}
		made = append(made, int32(us+0.5))
	}
	return made
}
