//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/ingest"
)

// Spans that say nothing of lengths are refused, and told what is missing.
func TestSpansWithoutTokens(t *testing.T) {
	span := `{"trace_id":"t","span_count":1,"spans":[{"trace_id":"t","span_id":"a","name":"chat m","start_time":"2026-02-25T10:00:00","end_time":"2026-02-25T10:00:01",
		"attributes":{"gen_ai.operation.name":"chat","gen_ai.input.messages":"a canary sings"}}]}`
	err := refused(t, open(t), write(t, "a.json", []byte(span)), ingest.Options{}, "1 spans, 1 of them calls of a model", "how many tokens")
	if !strings.Contains(hint(err), "record the usage") || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v, hint %q", err, hint(err))
	}
	refused(t, open(t), write(t, "a.json", []byte(span)), ingest.Options{RefuseText: true}, "it holds text (gen_ai.input.messages)")
	for _, name := range []string{"multi_agent_research.json", "simple_chain.json"} {
		t.Run(name, func(t *testing.T) {
			refused(t, open(t), shared(t, "traces/otel/"+name), ingest.Options{}, "how many tokens")
		})
	}
}

// A call without token counts among others is a reject, not a silence.
func TestSpanWithoutTokens(t *testing.T) {
	content := `{"data":[{"traceID":"t","spans":[
		{"traceID":"t","spanID":"a","operationName":"chat m","startTime":1753694362340138,"duration":1500000,"references":[],
			"tags":[{"key":"gen_ai.usage.input_tokens","type":"int64","value":5},{"key":"gen_ai.usage.output_tokens","type":"int64","value":6}]},
		{"traceID":"t","spanID":"b","operationName":"chat m","startTime":1753694363340138,"duration":1,"references":[{"refType":"CHILD_OF","spanID":"a"}],"tags":[]},
		{"traceID":"t","spanID":"c","operationName":"chat m","startTime":1753694363340138,"duration":1,"references":[],
			"tags":[{"key":"gen_ai.usage.input_tokens","type":"string","value":"secret"}]}]}]}`
	w := open(t)
	result := load(t, w, write(t, "a.json", []byte(content)), ingest.Options{MaxRejectedRatio: 1})
	if got := table(t, w, "select line, column_name, reason from raw.rejects order by line"); fmt.Sprint(got) != "[[2 gen_ai.usage.input_tokens missing] [3 gen_ai.usage.input_tokens not a number]]" {
		t.Errorf("rejects: %v", got)
	}
	if got := table(t, w, "select arrival_ns, input_tokens, output_tokens, e2e_s from raw.arrivals join raw.arrival_details using (source_id, line)"); fmt.Sprint(got) != "[[0 5 6 1.5]]" || result.RowsRead != 3 {
		t.Errorf("got %v of %+v", got, result)
	}
}

// A document of one line may be longer than any line of a table.
func TestDocumentOfOneLongLine(t *testing.T) {
	var content strings.Builder
	content.WriteString(`{"resourceSpans":[{"scopeSpans":[{"spans":[`)
	const spans = 20_000
	for i := range spans {
		fmt.Fprintf(&content, `{"traceId":"%d","startTimeUnixNano":"%d","attributes":[{"key":"gen_ai.usage.input_tokens","value":{"intValue":"%d"}},{"key":"gen_ai.usage.output_tokens","value":{"intValue":"1"}},{"key":"k","value":{"stringValue":"%s"}}]},`,
			i, 1753694362340138614+int64(i), i, strings.Repeat("x", 300))
	}
	text := strings.TrimSuffix(content.String(), ",") + "]}]}]}"
	w := open(t)
	result := load(t, w, write(t, "a.json", []byte(text)), ingest.Options{})
	if sum := number(t, w, "select sum(input_tokens)::bigint from raw.arrivals"); len(text) < 8<<20 || result.RowsKept != spans || sum != spans*(spans-1)/2 {
		t.Errorf("got %+v, sum %d of %d bytes", result, sum, len(text))
	}
}
