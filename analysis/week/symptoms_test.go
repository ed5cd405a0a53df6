//go:build duckdb_arrow

package week

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// The fleet's second hour: its queue climbs by 4 a quarter, along a straight line through 1, 5, 9 and 13, so that growth is 16 over a mean of 7; and a GPU
// runs at 1,215 of 1,980 MHz. That the time per token is out of its band is explained by both. 4 replicas were needed at the low end, and 2 paid for.
//
// 7 can be looked for: below_floor, overload (by the queue), slot_limited, kv_full, memory_bound, one_gpu_slow and unexplained.
func TestSymptomsOfHours(t *testing.T) {
	w := fleetOf(t)
	ctx := context.Background()
	r := &Report{TimeZone: "Europe/Berlin", Hours: []Hour{{Start: at(10, 0)}, {Start: at(11, 0)}, {Start: at(12, 0)}}}
	for i := range r.Hours {
		r.Hours[i].PaidReplicas, r.Hours[i].HighNeeded = 2, new(2)
	}
	*r.Hours[1].HighNeeded = 4
	servers := must.Get(ServerHours(ctx, w.DB(), []int64{1}, r.Hours))(t)
	r.Steps = must.Get(StepsOf(ctx, w.DB(), servers, r, toy))(t)
	r.Felt = []Felt{{Start: at(11, 0), Metric: "tpot", Limit: new(20e-3), IsBroken: true}}
	found, looked, err := Symptoms(ctx, w.DB(), servers, r, toy)
	must.Do(t, err)
	if looked != 7 || len(found) != 2 {
		t.Fatalf("got %d looked for and %+v", looked, found)
	}
	for i, want := range []Symptom{
		{Symptom: "overload", IsForGPUs: true, Found: "Mon 12:00: growth of the queue at the server, low end of its 90 % interval 0.00444/s (above 0/s); growth of the queue over its mean 2.29 (above 0.500); growth of the queue 16 (above 3)"},
		{Symptom: "one_gpu_slow", Found: "Mon 12:00: GPUs seen 2 (at least 2); clock of the slowest GPU over the fastest, in the worst tenth of the seconds 0.614 (below 0.950); the slowest is h 1"},
	} {
		got := found[i]
		if got.Symptom != want.Symptom || got.Found != want.Found || got.IsForGPUs != want.IsForGPUs || !got.IsBroken || got.Hours != 1 ||
			!got.First.Equal(at(11, 0)) || !got.Last.Equal(at(11, 0)) || !strings.HasPrefix(got.Confirmed, "confirmed: ") || got.Try == "" || got.Name == "" {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// What was paid for was enough: more GPUs would not have helped, whatever fired. Errors are of the requests of the hour: 0.01 a second are 36 of 1,800.
func TestSymptomsOfWhatUsersFelt(t *testing.T) {
	w := warehousetest.Open(t)
	r := &Report{TimeZone: "UTC", Hours: []Hour{{Start: at(10, 0), Requests: new(int64(1800)), PaidReplicas: 2, HighNeeded: new(2)}}}
	r.Felt = []Felt{
		{Start: at(10, 0), Metric: "ttft", Count: 1700, Errors: new(0.01), Rejected: new(0.0)},
		{Start: at(10, 0), Metric: "queue", Preempt: new(0.01)},
	}
	found, looked, err := Symptoms(context.Background(), w.DB(), nil, r, toy)
	must.Do(t, err)
	var names []string
	for _, s := range found {
		names = append(names, s.Symptom)
		if s.IsForGPUs || s.IsBroken {
			t.Errorf("got %+v", s)
		}
	}
	// rejected, failing and preemption can be looked for.
	if !slices.Equal(names, []string{"failing", "preemption"}) || looked != 3 {
		t.Fatalf("got %v of %d", names, looked)
	}
	if want := "Mon 10:00: share of the requests that failed 0.0200 (above 0.0100)"; found[0].Found != want {
		t.Errorf("got %q, want %q", found[0].Found, want)
	}
}

// The rules are applied to runs and files in SQL and to hours in Go: on the same figures the same symptoms show.
func TestRulesAreThoseOfSQL(t *testing.T) {
	w := fleetOf(t)
	ctx := context.Background()
	warehousetest.Put(t, w, `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at)
select id, 'metrics ' || id, 'metrics', 'prometheus-api', 'p', 's' || id, 1, 1, 1, 0, timestamptz '2026-11-16 10:00:00+00', true, 4, now() from range(2, 20) as ids (id);
insert into raw.metrics (source_id, scrape, at_ns, name, labels, value)
select id, look, look * 1000000000::bigint, name, labels, value
from range(2, 20) as ids (id)
cross join range(3) as looks (look)
cross join lateral (values
    ('vllm:num_requests_running', 'instance="a"', 30 + id * look), ('vllm:num_requests_waiting', 'instance="a"', (id * look) % 5),
    ('vllm:kv_cache_usage_perc', 'instance="a"', 0.8 + id * 0.0105), ('vllm:num_preemptions_total', 'instance="a"', look * (id % 3)),
    ('DCGM_FI_DEV_SM_CLOCK', 'gpu="0",instance="a"', 2000), ('DCGM_FI_DEV_SM_CLOCK', 'gpu="1",instance="a"', 1800 + 15 * id)
) as gauges (name, labels, value)`)
	rules := must.Get(readRules(ctx, w.DB()))(t)
	texts := func(query string) map[string]string {
		t.Helper()
		rows := must.Get(w.DB().Query(query))(t)
		defer rows.Close()
		all := map[string]string{}
		for rows.Next() {
			var subject, text string
			must.Do(t, rows.Scan(&subject, &text))
			all[subject] = text
		}
		return all
	}
	want := texts("select subject, string_agg(symptom, ' ' order by seq) from marts.symptoms where subject_kind = 'metrics' group by subject")
	evidence := map[string]map[string]float64{}
	rows := must.Get(w.DB().Query("select subject, figure, value from marts.evidence where subject_kind = 'metrics'"))(t)
	defer rows.Close()
	for rows.Next() {
		var subject, figure string
		var value float64
		must.Do(t, rows.Scan(&subject, &figure, &value))
		if evidence[subject] == nil {
			evidence[subject] = map[string]float64{}
		}
		evidence[subject][figure] = value
	}
	shown := map[string]int{}
	for subject, figures := range evidence {
		var names []string
		for _, one := range firing(rules, figures) {
			names = append(names, one.symptom)
			shown[one.symptom]++
		}
		if got := strings.Join(names, " "); got != want[subject] {
			t.Errorf("%s, %v: got %q, want %q", subject, figures, got, want[subject])
		}
	}
	if len(evidence) != 19 || shown["preemption"] == 0 || shown["kv_full"] == 0 || shown["one_gpu_slow"] == 0 || shown["one_gpu_slow"] == 19 {
		t.Errorf("too little was compared: %v of %d files", shown, len(evidence))
	}
}

// A queue's climb is known where all four quarters are, and its interval is that of a straight line through them.
func TestAClimbNeedsAllQuarters(t *testing.T) {
	for _, test := range []struct {
		what    string
		waiting []float64
		figures map[string]float64
	}{
		{"three quarters", []float64{1, 5, 9}, map[string]float64{}},
		{"nobody waits", []float64{0, 0, 0, 0}, map[string]float64{"queue_growth": 0, "queue_growth_ratio": 0, "queue_low_slope_per_s": 0}},
		// The slope through 0, 4, 0, 4 is (-1.5 * 0 - 0.5 * 4 + 0.5 * 0 + 1.5 * 4) / 5 = 0.8 a quarter: 3.2 in the hour, over a mean of 2.
		// Around the line are 16 - 5 * 0.64 = 12.8 squares: 0.8 - 4.303 * sqrt(12.8 / 2 / 5) = -4.06829 a quarter.
		{"up and down", []float64{0, 4, 0, 4}, map[string]float64{"queue_growth": 3.2, "queue_growth_ratio": 1.6, "queue_low_slope_per_s": -4.068289 / 900}},
	} {
		h := hourFigures{figures: map[string]float64{}}
		h.climb(test.waiting)
		if len(h.figures) != len(test.figures) {
			t.Errorf("%s: got %v", test.what, h.figures)
		}
		for name, want := range test.figures {
			near(t, test.what+": "+name, h.figures[name], want, 1e-5)
		}
	}
}

// Each of a week's days has two hours, at 10:00 and 22:00 UTC. Four days can be compared. The prediction is 10 ms before and 11 ms now, so the traffic makes it 10 %
// longer on each day; measured over predicted grows by 1 % and 3 % in turns: ln 1.01 and ln 1.03 have the mean 0.019755 and, over four days, the standard
// deviation 0.011322; t = 2.353 of 3 degrees: 0.019755 -+ 2.353 * 0.011322 / 2.
func TestDrift(t *testing.T) {
	var then, this []StepTime
	for day := range 4 {
		for _, hour := range []int{10, 22} {
			start := at(hour, 0).AddDate(0, 0, day)
			then = append(then, StepTime{Start: start.AddDate(0, 0, -7), Measured: 12e-3, Predicted: 10e-3})
			this = append(this, StepTime{Start: start, Measured: 13.2e-3 * []float64{1.01, 1.03}[day%2], Predicted: 11e-3})
		}
	}
	// An hour that no earlier week has is not compared.
	this = append(this, StepTime{Start: at(3, 0), Measured: 1, Predicted: 1e-3})
	got := DriftOf(this, [][]StepTime{then, nil}, time.UTC)
	if got == nil || got.Hours != 8 || got.Weeks != 1 {
		t.Fatalf("got %+v", got)
	}
	near(t, "traffic", got.Traffic.Ratio, 0.1, 1e-9)
	near(t, "hardware", got.Hardware.Ratio, 0.019951, 1e-4)    // e^0.019755 - 1
	near(t, "hardware, low", got.Hardware.Low, 0.006456, 2e-3) // e^(0.019755 - 0.013320) - 1
	near(t, "hardware, high", got.Hardware.High, 0.033629, 2e-3)
	near(t, "measured", 1+got.Measured.Ratio, 1.1*1.019951, 1e-6)
	if !strings.HasPrefix(got.Sentence, "Against the week before both changed: at the same batch and context a token takes 2.00 % (0.646 % to 3.36 %) longer") {
		t.Errorf("got %q", got.Sentence)
	}
	if few := DriftOf(this[:4], [][]StepTime{then}, time.UTC); few != nil {
		t.Errorf("two days: got %+v", few)
	}
	for i := range this {
		this[i].Predicted = 10e-3
		this[i].Measured = 12e-3
	}
	if same := DriftOf(this, [][]StepTime{then}, time.UTC); !strings.Contains(same.Sentence, "neither") {
		t.Errorf("got %q", same.Sentence)
	}
	for i := range this {
		this[i].Measured = 15e-3 // over 10 ms: 1.25 times as long as the 12 ms of before
	}
	if slow := DriftOf(this, [][]StepTime{then}, time.UTC); !strings.Contains(slow.Sentence, "the hardware is slower, not the traffic heavier") {
		t.Errorf("got %q", slow.Sentence)
	}
}

// Three days at 1.1, 1.21 and 1.331 times the prediction: the mean of logs is that of 1.21.
func TestStepSums(t *testing.T) {
	var steps []StepTime
	for day, ratio := range []float64{1.1, 1.21, 1.331} { // ln 1.1 times 1, 2 and 3: the mean is 2, the standard deviation 1
		steps = append(steps, StepTime{Start: at(10, 0).AddDate(0, 0, day), Measured: 10e-3 * ratio, Predicted: 10e-3, High: 12e-3})
	}
	ratio, low, high, band := StepSums(steps, time.UTC)
	near(t, "ratio", *ratio, 1.21, 1e-9)
	near(t, "low", *low, 1.21/1.17427, 1e-4) // e^(0.0953102 * 2.920 / sqrt 3) = 1.17427
	near(t, "high", *high, 1.21*1.17427, 1e-4)
	near(t, "band", *band, 0.2, 1e-9)
	if ratio, low, _, _ := StepSums(steps[:2], time.UTC); ratio == nil || low != nil {
		t.Error("two days have a mean and no interval")
	}
	if ratio, _, _, _ := StepSums(nil, time.UTC); ratio != nil {
		t.Error("nothing has no ratio")
	}
}
