package ingest

import (
	"bytes"
	"encoding/json"
	"strings"

	"tidemark/internal/hint"
)

// LLMPerf writes two files: NAME_summary.json, flat keys that begin with results_,
// and NAME_individual_responses.json, one object a request. The second comes in
// with the first where both lie together. All times are seconds.
//
// Its inter_token_latency_s is the sum of all gaps, the one before the first token
// included, over the output tokens: the whole latency per token, and no TPOT.
var _ = register(format{
	name: "llmperf",
	sees: func(h *head) string {
		switch {
		case h.has("num_concurrent_requests", "mean_input_tokens", "results_ttft_s_mean"):
			return "LLMPerf's summary, with results_ttft_s_mean"
		case h.elementHas("inter_token_latency_s", "ttft_s", "end_to_end_latency_s", "number_output_tokens"), h.elementHas("error_code", "error_msg", "number_output_tokens", "end_to_end_latency_s"):
			return "LLMPerf's individual responses, with ttft_s and end_to_end_latency_s"
		}
		return ""
	},
	read:  readLLMPerf,
	kind:  "results",
	wants: "a JSON object with results_ttft_s_mean, or a JSON array with ttft_s and end_to_end_latency_s (LLMPerf)",
})

const (
	llmperfSummary = "_summary.json"
	llmperfEach    = "_individual_responses.json"
	maxPartner     = 64 << 20 // bytes of a file that comes in with another
)

func readLLMPerf(d *document, out *rows) error {
	text, err := d.whole()
	if err != nil {
		return err
	}
	out.about.timeUnit = "s"
	name, isSummary := strings.CutSuffix(d.base(), llmperfSummary)
	if strings.HasPrefix(strings.TrimSpace(string(text[:min(len(text), 64)])), "[") {
		name = strings.TrimSuffix(d.base(), llmperfEach)
		if d.beside(name+llmperfSummary, 1) != nil {
			return hint.Errorf("%s", "its requests come in with "+name+llmperfSummary).Hint("take in that file").Mark(errUnknownFormat)
		}
		all, failed, err := llmperfRequests(out, text)
		if err != nil || all == 0 {
			return err
		}
		return out.add(pointRow{Tool: "llmperf", Label: shortWord(name), Load: new("closed"), Requests: &all, Completed: new(all - failed), Failed: &failed})
	}
	summary, err := treeOf(text)
	if err != nil {
		return err
	}
	if err := llmperfSummaryRow(out, summary, name); err != nil {
		return err
	}
	if !isSummary {
		return nil
	}
	partner := d.beside(name+llmperfEach, maxPartner)
	if partner == nil {
		out.note("no %s beside it: figures alone, no requests", name+llmperfEach)
		return nil
	}
	_, _, err = llmperfRequests(out, partner)
	return err
}

func llmperfSummaryRow(out *rows, summary map[string]any, name string) error {
	number := func(key string) measure { return numberWithin(summary, key) }
	flat := map[string]any{}
	for key, value := range summary {
		if !strings.HasPrefix(key, "results_") {
			flatten(flat, "", map[string]any{key: value})
		}
	}
	row := pointRow{
		Tool: "llmperf", ToolVersion: shortWord(versionOf(summary["version"])), Label: shortWord(name), Model: modelName(textWithin(summary, "model")),
		StartedAt: unixInstant(number("timestamp")), Load: new("closed"), MaxConcurrency: number("num_concurrent_requests").count(),
		InputTokensAsked: number("mean_input_tokens").number(), OutputTokensAsked: number("mean_output_tokens").number(),
		Requests: number("results_num_requests_started").count(), Completed: number("results_num_completed_requests").count(),
		Failed: number("results_number_errors").count(), Settings: settings(flat),
	}
	// The duration is not written; two of its quotients are.
	if perMinute := number("results_num_completed_requests_per_min"); row.Completed != nil && perMinute.is && perMinute.value > 0 {
		row.DurationS = new(60 * float64(*row.Completed) / perMinute.value)
	}
	if err := out.add(row); err != nil {
		return err
	}
	for _, key := range sortedKeys(summary) {
		rest, isResult := strings.CutPrefix(key, "results_")
		if !isResult {
			continue
		}
		name, is := llmperfName(rest)
		if err := out.figure(0, name, is, llmperfUnit(name), number(key)); err != nil {
			return err
		}
	}
	return nil
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

func llmperfUnit(name string) string {
	switch {
	case strings.HasSuffix(name, "token_per_s"):
		return "tokens/s"
	case strings.HasSuffix(name, "_s"):
		return "s"
	case strings.HasSuffix(name, "_tokens"):
		return "tokens"
	case strings.HasSuffix(name, "_per_min"):
		return "requests/min"
	}
	return ""
}

type llmperfRequest struct {
	ErrorCode    json.RawMessage `json:"error_code"`
	ErrorMessage presence        `json:"error_msg"`
	TTFT         measure         `json:"ttft_s"`
	E2E          measure         `json:"end_to_end_latency_s"`
	InputTokens  measure         `json:"number_input_tokens"`
	OutputTokens measure         `json:"number_output_tokens"`
	Start        measure         `json:"request_start_time"`
}

func llmperfRequests(out *rows, text []byte) (all, failed int64, err error) {
	err = eachOfArray(bytes.NewReader(withoutNaN(text)), func(number int64, element json.RawMessage) error {
		var request llmperfRequest
		if json.Unmarshal(element, &request) != nil {
			return out.reject(number, "", notJSON)
		}
		row := resultRequestRow{
			Seq: int32(all), StartedS: request.Start.number(), TTFTS: request.TTFT.number(), E2ES: request.E2E.number(),
			InputTokens: request.InputTokens.count(), OutputTokens: request.OutputTokens.count(),
		}
		all++
		if code := string(request.ErrorCode); code != "" && code != "null" && code != `""` {
			failed++
			row.Failure, row.TTFTS, row.E2ES = new("error"), nil, nil // they are zeros
			if request.ErrorMessage {
				if err := out.text("error_msg"); err != nil {
					return err
				}
			}
		}
		return out.add(row)
	})
	return all, failed, err
}
