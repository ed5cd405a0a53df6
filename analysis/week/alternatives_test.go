//go:build duckdb_arrow

package week

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/replay/plan"
)

// Six replicas of one H100 at $3 (the service's price, $2) serve a peak of 40 requests a second of which one takes 7 at the low end: 42 of 40 is 5 % to spare. A
// week of 168 hours costs 6 * 168 * $2 = $2,016, and 1,008 M tokens accepted in all of them are $2 a million.
//
// The capacities are given: 20 a second for two H100 (2 replicas of 2: 4 GPUs hold with 0 % to spare), 60 for four, 75 for eight, 8 for an H200 at $4
// (5 of them hold with 0 % to spare), 5 for an A100 at $1.30 (8 of them, $1,747.20), and 13 in FP8 (4 of them, $1,344, 30 % to spare).
func TestAlternatives(t *testing.T) {
	db := warehousetest.Open(t).DB()
	var requests []plan.Request
	for i := range 400 {
		requests = append(requests, plan.Request{Due: time.Duration(i) * 25 * time.Millisecond, InputTokens: 500, OutputTokens: 100})
	}
	r := &Report{TimeZone: "UTC", Price: Price{USDPerGPUHour: new(2.0), Source: "contract"}, Basis: Basis{Kind: "measured", RatePerS: new(8.0)}}
	r.SLO.Objectives = []Objective{{Metric: "tpot", Percent: 99, AtMost: 0.1}}
	for i := range 168 {
		r.Hours = append(r.Hours, Hour{Start: at(0, 0).Add(time.Duration(i) * time.Hour), PaidReplicas: 6})
	}
	r.Sums = Sums{Hours: 168, AcceptedTokens: new(1008e6), BusiestHourStart: new(at(14, 0))}
	busy := &r.Hours[14]
	busy.PeakRatePerS, busy.LowReplicaRate, busy.HighNeeded = new(40.0), new(7.0), new(6)

	today := deployment.Deployment{GPU: "NVIDIA H100 80GB HBM3", CatalogModel: "llama-3.1-8b"}
	capacities := map[string]float64{"H100 bf16 2": 20, "H100 bf16 4": 60, "H100 bf16 8": 75, "H200 bf16 1": 8, "A100 bf16 1": 5, "H100 fp8 1": 13}
	asked := 0
	given := func(d deployment.Deployment, _, peak float64) (*int, float64, error) {
		asked++
		low := capacities[d.GPU+" "+d.Quantization+" "+string(rune('0'+d.TensorParallelSize))]
		if low == 0 {
			return nil, 0, nil
		}
		replicas := int(math.Ceil(peak / low))
		return &replicas, float64(replicas)*low/peak - 1, nil
	}
	rows := must.Get(Alternatives(context.Background(), db, r, today, requests, given))(t)
	if len(rows) > 8 || len(rows) != asked+2 {
		t.Fatalf("got %d rows, %d rehearsed: %+v", len(rows), asked, rows)
	}
	first := rows[0]
	if first.Kind != "today" || first.Name != "6 × 1 H100 BF16" || first.GPUs != 6 || first.IsDominated {
		t.Errorf("got %+v first", first)
	}
	exactly(t, "today's headroom", first.Headroom, 7*6.0/40-1)
	exactly(t, "today's cost", first.USDPerWeek, 2016)
	exactly(t, "today's cost of a million", first.USDPerM, 2)
	wants := map[string]Alternative{
		"5 × 1 H100 BF16": {Kind: "measured", GPUs: 5, Headroom: new(7*5.0/40 - 1), USDPerWeek: new(1680.0), IsDominated: true, Why: "does not hold Mon 14:00: 12.5 % short at the low end"},
		"2 × 2 H100 BF16": {Kind: "rehearsed", GPUs: 4, Headroom: new(0.0), USDPerWeek: new(1344.0), Why: "holds; rehearsed, not measured; price: contract"},
		"1 × 4 H100 BF16": {Kind: "rehearsed", GPUs: 4, Headroom: new(0.5), USDPerWeek: new(1344.0)},
		"1 × 8 H100 BF16": {Kind: "rehearsed", GPUs: 8, Headroom: new(75.0/40 - 1), USDPerWeek: new(2688.0)},
		"5 × 1 H200 BF16": {Kind: "rehearsed", GPUs: 5, Headroom: new(0.0), USDPerWeek: new(3360.0), IsDominated: true, Why: "loses to 6 × 1 H100 BF16: $1,344 a week dearer and no more headroom"},
		"8 × 1 A100 BF16": {Kind: "rehearsed", GPUs: 8, Headroom: new(0.0), USDPerWeek: new(8 * 1.3 * 168)},
		"4 × 1 H100 FP8":  {Kind: "rehearsed", GPUs: 4, Headroom: new(0.3), USDPerWeek: new(1344.0), IsOther: true},
	}
	losing := false
	for _, got := range rows[1:] {
		if losing && !got.IsDominated {
			t.Errorf("%s holds its own and comes after one that loses", got.Name)
		}
		losing = losing || got.IsDominated
		want, isKnown := wants[got.Name]
		if !isKnown {
			t.Logf("%+v", got)
			continue
		}
		delete(wants, got.Name)
		if got.Kind != want.Kind || got.GPUs != want.GPUs || got.IsOther != want.IsOther || want.IsDominated && !got.IsDominated || !strings.HasPrefix(got.Why, want.Why) && want.IsDominated {
			t.Errorf("got %+v, want %+v", got, want)
		}
		exactly(t, got.Name+": headroom", got.Headroom, *want.Headroom)
		exactly(t, got.Name+": cost", got.USDPerWeek, *want.USDPerWeek)
		exactly(t, got.Name+": a million", got.USDPerM, math.Round(*want.USDPerWeek/1008*1e6)/1e6)
	}
	for name := range wants {
		t.Logf("not among the rows: %s", name)
	}

	// One that cannot be rehearsed, or that keeps the SLO at no rate, is a row that says so.
	for why, err := range map[string]error{
		"its requests are longer than the context":                              hint.Errorf("its requests are longer than the context"),
		"does not hold: no rate keeps the SLO at the low end of its prediction": nil,
	} {
		failing := func(deployment.Deployment, float64, float64) (*int, float64, error) { return nil, 0, err }
		got, err := grid{Report: r, peak: 40}.row(candidate{Deployment: today}, failing)
		if err != nil || !got.IsDominated || got.Why != why || got.Headroom != nil || got.USDPerWeek != nil {
			t.Errorf("got %+v and %v, want %q", got, err, why)
		}
	}
	// Today is what is paid for now: a seventh replica since Sunday, priced for a whole week.
	changed := *r
	changed.Hours = slices.Clone(r.Hours)
	for i := 150; i < len(changed.Hours); i++ {
		changed.Hours[i].PaidReplicas = 7
	}
	rows, err := Alternatives(context.Background(), db, &changed, today, nil, nil)
	if err != nil || rows[0].Name != "7 × 1 H100 BF16" || !strings.Contains(rows[0].Why, "the replicas since Sun 06:00, as if all week") {
		t.Errorf("got %+v and %v", rows, err)
	}
	exactly(t, "a week of seven", rows[0].USDPerWeek, 7*168*2)

	// Without requests there is nothing to rehearse; without a busiest hour nothing at all.
	if rows, err = Alternatives(context.Background(), db, r, today, nil, nil); err != nil || len(rows) != 2 {
		t.Errorf("got %+v and %v", rows, err)
	}
	r.Sums.BusiestHourStart = nil
	if rows, err = Alternatives(context.Background(), db, r, today, requests, given); err != nil || rows != nil {
		t.Errorf("got %+v and %v", rows, err)
	}
}

// Who loses to whom, by cost and headroom.
func TestDominated(t *testing.T) {
	row := func(name string, cost, headroom float64) Alternative {
		return Alternative{Name: name, Kind: "rehearsed", USDPerWeek: &cost, Headroom: &headroom}
	}
	format := row("another format", 10, 0.9)
	format.IsOther = true
	twin := row("as dear as a, more room", 100, 0.3)
	today := row("today", 100, 0.1)
	today.Kind = "today"
	rows := []Alternative{today, row("a", 100, 0.2), twin, row("cheaper", 80, 0.05), row("cheaper and no room", 50, -0.01), row("the same again", 80, 0.05), format}
	markDominated(rows, at(14, 0), time.UTC)
	for i, want := range []string{"", "loses to as dear as a, more room: no more headroom", "", "", "does not hold Mon 14:00: 1.00 % short at the low end", "", ""} {
		if rows[i].IsDominated != (want != "") || want != "" && rows[i].Why != want {
			t.Errorf("%s: got %v, %q, want %q", rows[i].Name, rows[i].IsDominated, rows[i].Why, want)
		}
	}
}

// One request has no rate, and an objective of a class that no request has bounds nothing: neither ends the report.
func TestASectionWithoutAnAnswerEndsNoReport(t *testing.T) {
	w := warehousetest.Open(t, `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (1, 'one', 'arrivals', 'jsonl', 'l', 'l', 1, 1, 1, 0, timestamptz '2026-11-16 00:00:00+00', true, 4, now());
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens, class) values (1, 1, 0, 100, 10, 'chat');
`)
	f := aService(t, "time_zone: UTC\ntraffic: [one]")
	slo := func(objectives string) {
		text := "schema: tidemark.slo/2\nname: chat\nobjectives:\n" + objectives
		must.Do(t, os.WriteFile(f.SLO, []byte(text), 0o600))
	}
	slo("  - {metric: ttft_from_due, percentile: 90, at_most: 1ms}\n  - {metric: tpot, percentile: 99, at_most: 60ms, class: batch}\n")
	r := make47(t, w, f)
	if want := "No other deployment was tried: the busiest hour has one request"; !strings.HasPrefix(r.AlternativesWhy, want) || len(r.Alternatives) == 0 {
		t.Errorf("got %d alternatives, %q; want today's and %q", len(r.Alternatives), r.AlternativesWhy, want)
	}
	wantNotes(t, r, "The objective p99 tpot of class batch is left out: no request of this week is of that class.")
	if len(r.SLO.Objectives) != 1 {
		t.Errorf("objectives %+v", r.SLO.Objectives)
	}

	slo("  - {metric: tpot, percentile: 99, at_most: 60ms, class: batch}\n")
	_, _, err := Make(t.Context(), w.DB(), f, Options{Week: "2026-W47"})
	if !hint.IsMisuse(err) || !strings.Contains(err.Error(), "its objectives are of classes that no request of the week has") || !strings.Contains(hint.Of(err), "the classes are chat") {
		t.Errorf("no objective is left: %v (%s)", err, hint.Of(err))
	}
}
