package progress

import (
	"encoding/json"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/internal/proof/must"
	"tidemark/replay"
)

// Of ten requests that count, TTFT is 100 to 1,000 ms, two are of class short, one has failed after its first token. By hand: the median of nine
// values from due 600 ms, within 3 %; gaps of 1 and 3 ms; one of nine is beyond 850 ms.
func TestAnSLOStandsAsTheRequestsSoFar(t *testing.T) {
	slo := must.Get(json.Marshal(analysis.SLO{Objectives: []analysis.Objective{
		{Metric: "ttft", Percentile: 90, AtMost: 0.85}, {Metric: "ttft_from_due", Percentile: 50, AtMost: 0.7}, {Metric: "ttft", Percentile: 50, AtMost: 1, Class: "short"},
		{Metric: "tpot", Percentile: 99, AtMost: 0.1}, {Metric: "itl", Percentile: 50, AtMost: 0.002}, {Metric: "failure_ratio", AtMost: 0.1}, {Metric: "e2e", Percentile: 50, AtMost: 1, Class: "none"}}}))(t)
	judge := must.Get(NewJudge(slo, time.Second))(t)
	if judge.Words() != "" {
		t.Errorf("before any request the SLO is %q", judge.Words())
	}
	watch := judge.Watch()
	watch(replay.Watched{IsOver: true, Due: time.Second / 2, Sent: time.Second / 2, First: time.Hour, Last: time.Hour, Tokens: 2}) // warm-up
	for i := 1; i <= 10; i++ {
		w := replay.Watched{Due: 2 * time.Second, Sent: 2100 * time.Millisecond, First: 2100*time.Millisecond + time.Duration(i)*100*time.Millisecond}
		watch(w) // under way: nothing of it counts
		w.IsOver, w.Last, w.Tokens = true, w.First+20*time.Millisecond, 3
		w.Gaps = func() []time.Duration { return []time.Duration{time.Millisecond, 3 * time.Millisecond} }
		if i <= 2 {
			w.Class = "short"
		}
		if i == 10 {
			w.Failure = "http"
		}
		watch(w)
	}
	want := []Standing{
		{"p90 TTFT", "", "850 ms", 9, 1, true, false}, // of nine a p90 is not written, but one beyond it is too many,
		{"p50 TTFT from due", "587 ms", "700 ms", 9, 3, true, true},
		{"p50 TTFT of class short", "98.6 ms", "1.00 s", 2, 0, true, true},
		{"p99 TPOT", "", "100 ms", 9, 0, false, false},
		{"p50 ITL", "0.999 ms", "2.00 ms", 18, 9, true, true},
		{"share of failures", "10.0 %", "10.0 %", 10, 1, true, true},
		{"p50 E2E of class none", "", "1.00 s", 0, 0, false, false},
	}
	for i, got := range judge.Standings() {
		if got != want[i] {
			t.Errorf("got %+v, want %+v", got, want[i])
		}
	}
	if got := judge.Words(); got != "SLO missed: p90 TTFT" {
		t.Errorf("in words: %q", got)
	}
	if none, err := NewJudge(nil, 0); err != nil || none.Watch() != nil || none.Words() != "" {
		t.Errorf("without an SLO there is nothing to watch: %v", err)
	}
}
