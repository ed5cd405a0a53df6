package profile

import (
	"fmt"
	"math"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

func drawn(t testing.TB, p *Profile, o Options) (all []plan.Request) {
	t.Helper()
	requests := must.Get(p.Requests(o))(t)
	all = must.All(requests)(t)
	return all
}

// Mean and coefficient of variation of 100,000 gaps; burstiness is the gamma's shape, so its variation is 1/sqrt of it.
func TestGapsAreThoseOfTheProcess(t *testing.T) {
	for _, test := range []struct {
		arrivals string
		mean, cv float64
	}{
		{"{process: constant, rate_per_s: 4}", 0.25, 0},
		{"{process: poisson, rate_per_s: 4}", 0.25, 1},
		{"{process: gamma, burstiness: 1, rate_per_s: 4}", 0.25, 1},
		{"{process: gamma, burstiness: 0.25, rate_per_s: 4}", 0.25, 2},
		{"{process: gamma, burstiness: 4, rate_per_s: 4}", 0.25, 0.5},
		{"{process: trace, source: x}", 0.5, 1.1662},
		{"{process: trace, source: x, rate_per_s: 4}", 0.25, 1.1662},
	} {
		p := mustParse(t, one("arrivals", test.arrivals))
		all := drawn(t, p, Options{Seed: 1, Duration: long, Limit: 100_001, Lengths: production})
		sum, squares := 0.0, 0.0
		for i := range all[1:] {
			gap := (all[i+1].Due - all[i].Due).Seconds()
			sum, squares = sum+gap, squares+gap*gap
		}
		mean := sum / 1e5
		cv := math.Sqrt(max(0, squares/1e5-mean*mean)) / mean
		if math.Abs(mean/test.mean-1) > 0.02 || math.Abs(cv-test.cv) > 0.02*max(1, test.cv) {
			t.Errorf("%s: mean gap %.4f, variation %.4f; want %.4f, %.4f", test.arrivals, mean, cv, test.mean, test.cv)
		}
		t.Logf("%-50s mean gap %.4f s, variation %.3f", test.arrivals, mean, cv)
	}
}

// A constant process is the clock alone: 2/s from 9 to 10, nothing until 11, 1/s until 11:30, and so on the next day.
func TestRatesOfTheDay(t *testing.T) {
	p := mustParse(t, one("arrivals", `{process: constant, windows: [{from: "9:00", until: "10:00", rate_per_s: 2}, {from: "11:00", until: "11:30", rate_per_s: 1}]}`))
	counts := map[int]int{}
	for _, r := range drawn(t, p, Options{Duration: 30 * time.Hour}) {
		counts[int(r.Due/(30*time.Minute))]++
	}
	want := map[int]int{0: 3600, 1: 3600, 4: 1800, 48: 3600, 49: 3600, 52: 1800}
	for half, n := range want {
		if math.Abs(float64(counts[half]-n)) > 1 {
			t.Errorf("half hour %d: %d sessions, want %d", half, counts[half], n)
		}
		delete(counts, half)
	}
	if len(counts) > 0 {
		t.Errorf("sessions outside of the windows: %v", counts)
	}
	sessions, requests, err := p.MeanRate(Options{})
	if err != nil || sessions != requests || math.Abs(sessions-9000.0/5400) > 1e-9 {
		t.Errorf("mean rate %v, %v: %v", sessions, requests, err)
	}
	fast := drawn(t, p, Options{Duration: time.Hour, RatePerS: 2 * sessions})
	if len(fast) != 4*3600 {
		t.Errorf("at twice the rate: %d sessions in the first hour", len(fast))
	}
}

// Over an hour the sum of the gaps drifts by nanoseconds; some second held 21 then.
func TestAConstantRateHasNoPeak(t *testing.T) {
	for _, rate := range []string{"20", "7"} {
		p := mustParse(t, one("arrivals", "{process: constant, rate_per_s: "+rate+"}", "duration", "1h"))
		if header, _ := planned(t, p, Options{Seed: 1}); fmt.Sprintf("%.6g", header.PeakRatePerS) != rate {
			t.Errorf("constant %s/s: %v/s at its peak", rate, header.PeakRatePerS)
		}
	}
}

func TestAtOnce(t *testing.T) {
	matrix, _ := Builtin("matrix")
	d := must.Get(matrix.Only("D"))(t)
	all := drawn(t, d, Options{})
	if len(all) != 128 || all[127].Due != 0 || all[0].InputTokens != 2048 || all[0].OutputTokens != 1024 || d.MaxConcurrency != 8 {
		t.Errorf("row D: %d requests, last %+v", len(all), all[len(all)-1])
	}
}

// The lengths that belong together stay together, and follow the hour of the day.
func TestJointLengths(t *testing.T) {
	p := mustParse(t, one("input_tokens", "", "output_tokens", "", "arrivals",
		`{process: constant, windows: [{from: "08:00", until: "18:00", rate_per_s: 1}]}`,
		"joint", `{windows: [{from: "08:00", until: "12:00", cells: [{input: [100, 199], output: 5, count: 3}, {input: 1000, output: [50, 59], count: 1}]},
        {from: "12:00", until: "18:00", cells: [{input: 7, output: 8, count: 1}]}]}`))
	long := 0
	for _, r := range drawn(t, p, Options{Seed: 4, Duration: 10 * time.Hour}) {
		switch morning := r.Due < 4*time.Hour; {
		case !morning && (r.InputTokens != 7 || r.OutputTokens != 8):
			t.Fatalf("at %v: %d, %d", r.Due, r.InputTokens, r.OutputTokens)
		case morning && r.InputTokens == 1000:
			long++
			if r.OutputTokens < 50 || r.OutputTokens > 59 {
				t.Fatalf("1000 tokens answered with %d", r.OutputTokens)
			}
		case morning && (r.InputTokens < 100 || r.InputTokens > 199 || r.OutputTokens != 5):
			t.Fatalf("at %v: %d, %d", r.Due, r.InputTokens, r.OutputTokens)
		}
	}
	if math.Abs(float64(long)-3600) > 36 {
		t.Errorf("%d long ones of 14,400, want a quarter", long)
	}
	hourly := mustParse(t, one("input_tokens", "", "output_tokens", "", "joint", "{source: x, hourly: true}"))
	lengths := func(string) (Lengths, error) {
		l := Lengths{Pairs: []Pair{{9, 9, 1}}}
		l.Hours[1] = []Pair{{5, 6, 1}}
		return l, nil
	}
	for _, r := range drawn(t, hourly, Options{Duration: 3 * time.Hour, Lengths: lengths}) {
		if want := map[bool]int{true: 5, false: 9}[int(r.Due/time.Hour) == 1]; r.InputTokens != want {
			t.Fatalf("at %v: %d tokens, want %d", r.Due, r.InputTokens, want)
		}
	}
}
