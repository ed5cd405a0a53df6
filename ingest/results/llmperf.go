package results

import (
	"bytes"
	"encoding/json"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// LLMPerf writes two files: NAME_summary.json, flat keys that begin with results_,
// and NAME_individual_responses.json, one object per request. The second comes in
// with the first where both are in one folder. All times are seconds.
//
// Its inter_token_latency_s is the sum of all gaps, the one before the first token
// included, over the output tokens: the whole latency per token, not a TPOT.
var LLMPerf = read.Format{
	Name: "llmperf",
	Sees: func(h *read.Head) string {
		switch {
		case h.Has("num_concurrent_requests", "mean_input_tokens", "results_ttft_s_mean"):
			return "LLMPerf's summary, with results_ttft_s_mean"
		case h.ElementHas("inter_token_latency_s", "ttft_s", "end_to_end_latency_s", "number_output_tokens"), h.ElementHas("error_code", "error_msg", "number_output_tokens", "end_to_end_latency_s"):
			return "LLMPerf's individual responses, with ttft_s and end_to_end_latency_s"
		}
		return ""
	},
	Read:  readLLMPerf,
	Wants: "a JSON object with results_ttft_s_mean, or a JSON array with ttft_s and end_to_end_latency_s (LLMPerf)",
}

const (
	llmperfSummary = "_summary.json"
	llmperfEach    = "_individual_responses.json"
	maxPartner     = 64 << 20 // bytes of a file that comes in with another
)

// readLLMPerf reads either file; the responses alone are read only if their summary
// is missing.
func readLLMPerf(d *read.Document, out *read.Rows) error {
	text, err := d.Whole()
	if err != nil {
		return err
	}
	out.About.TimeUnit = "s"
	name, isSummary := strings.CutSuffix(d.Base(), llmperfSummary)
	if strings.HasPrefix(strings.TrimSpace(string(text[:min(len(text), 64)])), "[") {
		name = strings.TrimSuffix(d.Base(), llmperfEach)
		if d.Beside(name+llmperfSummary, 1) != nil {
			return hint.Errorf("%s", "its requests come in with "+name+llmperfSummary).Hint("take in that file").Mark(read.ErrUnknownFormat)
		}
		seen, err := llmperfRequests(out, text)
		if err != nil {
			return err
		}
		return seen.addPoint(out, Point{Tool: "llmperf", Label: read.WordOrNil(name), Load: new("closed")})
	}
	summary, err := read.ParseTree(text)
	if err != nil {
		return err
	}
	if isSummary {
		partner := d.Beside(name+llmperfEach, maxPartner)
		if partner == nil {
			out.Note("no %s next to it: figures only, no requests", name+llmperfEach)
		} else if _, err := llmperfRequests(out, partner); err != nil {
			return err
		}
	}
	llmperfSummaryRow(out, summary, name)
	return nil
}

// llmperfSummaryRow reads the run. The file has no duration; the completed requests
// per minute give it.
func llmperfSummaryRow(out *read.Rows, summary read.Object, name string) {
	number := func(key string) read.Number { return summary.Number(key) }
	flat := map[string]any{}
	for key, value := range summary {
		if !strings.HasPrefix(key, "results_") {
			read.Flatten(flat, "", map[string]any{key: value})
		}
	}
	row := Point{
		Tool: "llmperf", ToolVersion: read.WordOrNil(summary.Version("version")), Label: read.WordOrNil(name), Model: summary.ModelName("model"),
		StartedAt: read.UnixInstant(number("timestamp")), Load: new("closed"), MaxConcurrency: number("num_concurrent_requests").Count(),
		InputTokensAsked: number("mean_input_tokens").Float(), OutputTokensAsked: number("mean_output_tokens").Float(),
		Requests: number("results_num_requests_started").Count(), Completed: number("results_num_completed_requests").Count(),
		Failed: number("results_number_errors").Count(), Settings: read.Settings(flat),
	}
	// The duration is not written; two of its quotients are.
	if perMinute := number("results_num_completed_requests_per_min"); row.Completed != nil && perMinute.Known && perMinute.Value > 0 {
		row.DurationS = new(60 * float64(*row.Completed) / perMinute.Value)
	}
	out.Add(row)
	for _, key := range read.SortedKeys(summary) {
		rest, isResult := strings.CutPrefix(key, "results_")
		if !isResult {
			continue
		}
		name, is := llmperfName(rest)
		addFigure(out, name, is, unitByEnding(name, llmperfUnits), number(key))
	}
}

// llmperfName takes the statistic from the end of ttft_s_quantiles_p99.
func llmperfName(key string) (name, is string) {
	if i := strings.LastIndexByte(key, '_'); i > 0 && !strings.HasPrefix(key, "mean_") && !strings.HasPrefix(key, "num_") {
		if is = statistic(key[i+1:]); is != "" {
			return strings.TrimSuffix(key[:i], "_quantiles"), is
		}
	}
	return key, "value"
}

// llmperfUnits are the units by the ends of names.
var llmperfUnits = []unitEnding{{"token_per_s", "tokens/s"}, {"_s", "s"}, {"_tokens", "tokens"}, {"_per_min", "requests/min"}}

// llmperfRequest is one response.
type llmperfRequest struct {
	ErrorCode    json.RawMessage `json:"error_code"`
	ErrorMessage read.Presence   `json:"error_msg"`
	TTFT         read.Number     `json:"ttft_s"`
	E2E          read.Number     `json:"end_to_end_latency_s"`
	InputTokens  read.Number     `json:"number_input_tokens"`
	OutputTokens read.Number     `json:"number_output_tokens"`
	Start        read.Number     `json:"request_start_time"`
}

// llmperfRequests reads the individual responses. The times of a failed one are
// zeros and are left out.
func llmperfRequests(out *read.Rows, text []byte) (seen outcomes, err error) {
	err = read.EachElement(bytes.NewReader(read.WithoutNaN(text)), read.MaxElementBytes, func(number int64, element json.RawMessage) error {
		var request llmperfRequest
		if json.Unmarshal(element, &request) != nil {
			return out.Reject(number, "", read.NotJSON)
		}
		row := Request{
			StartedS: request.Start.Float(), TTFTS: request.TTFT.Float(), E2ES: request.E2E.Float(),
			InputTokens: request.InputTokens.Count(), OutputTokens: request.OutputTokens.Count(),
		}
		if code := string(request.ErrorCode); code != "" && code != "null" && code != `""` {
			row.Failure, row.TTFTS, row.E2ES = new("error"), nil, nil // they are zeros
			if request.ErrorMessage {
				out.Text("error_msg")
			}
		}
		return seen.add(out, row)
	})
	return seen, err
}
