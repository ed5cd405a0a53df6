//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// Calls that say nothing of lengths still say when they came; what is no call of a
// model says nothing.
func TestSpansWithoutTokens(t *testing.T) {
	span := func(name, id, start string) string {
		return `{"trace_id":"t","span_id":"` + id + `","name":"` + name + `","start_time":"` + start + `","end_time":"2026-02-25T11:00:01",
		"attributes":{"gen_ai.input.messages":"a canary sings"}}`
	}
	content := `{"trace_id":"t","span_count":4,"spans":[` + strings.Join([]string{span("chat m", "a", "2026-02-25T10:00:00"),
		span("chat m", "b", "2026-02-25T10:02:30"), span("chat m", "c", "2026-02-25T10:00:59"), span("tool", "d", "2026-02-25T10:00:59")}, ",") + "]}"
	w := open(t)
	result := load(t, w, write(t, "a.json", []byte(content)), ingest.Options{})
	got := fmt.Sprint(table(t, w, "select window_from_s, window_until_s, requests, kind, origin_at from raw.rate_windows join raw.sources using (source_id) order by 1"))
	origin := "2026-02-25 10:00:00+00"
	if want := fmt.Sprintf("[[0.0 60.0 2.0 lengths %[1]s] [60.0 120.0 0.0 lengths %[1]s] [120.0 151.0 1.0 lengths %[1]s]]", origin); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	notes := strings.Join(result.Notes, "\n")
	must.Say(t, notes, "3 of 4 spans are calls of a model, and none says how many tokens")
	must.NotSay(t, notes, "canary")
	refused(t, open(t), write(t, "a.json", []byte(content)), ingest.Options{RefuseText: true}, "it holds text (gen_ai.input.messages)")
	tool := `{"trace_id":"t","span_count":1,"spans":[` + span("tool", "d", "2026-02-25T10:00:59") + "]}"
	err := refused(t, open(t), write(t, "a.json", []byte(tool)), ingest.Options{}, "1 spans, 0 of them calls of a model", "how many tokens")
	must.Say(t, hint.Of(err), "record the usage")
}

// The real examples hold text and no token counts: 3 and 12 spans.
func TestRealSpans(t *testing.T) {
	for name, want := range map[string]string{"multi_agent_research.json": "12", "simple_chain.json": "3"} {
		w := open(t)
		load(t, w, shared(t, "traces/otel/"+name), ingest.Options{})
		if got := table(t, w, "select sum(requests)::bigint from raw.rate_windows"); got[0][0] != want {
			t.Errorf("%s: got %s calls, want %s", name, got[0][0], want)
		}
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
