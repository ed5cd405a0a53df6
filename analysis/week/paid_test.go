package week

import (
	"math"
	"testing"
	"time"
)

func hour(n int) time.Time { return time.Date(2026, 11, 16, n, 0, 0, 0, time.UTC) }

func exactly(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// hours of needs at the low end of the capacity, at 3 replicas paid for; -1 is missing. At the middle one fewer is needed, but for one.
func needing(needs ...int) (all []Hour) {
	for i, n := range needs {
		h := Hour{Start: hour(i), IsMissing: n < 0}
		if n >= 0 {
			h.HighNeeded, h.NeededReplicas = new(n), new(max(min(n, 1), n-1))
		}
		all = append(all, h)
	}
	return all
}

var three = Price{USDPerGPUHour: new(3.0), Source: "contract"}

// Two replicas of 2 GPUs until 02:00, then 3: 4 + 4 + 6 + 6 = 20 GPU-hours at $3 are $60. The second hour is missing: 16 are covered, and 1 + 2 + 3 replicas
// of 2 GPUs needed in them. 90 % of the tokens were accepted: $48 over 4 M are $12 a million, at 96 % of them 12 * 0.9 / 0.96 = $11.25, at 80 % $13.5.
func TestWhatWasPaid(t *testing.T) {
	hours := needing(2, -1, 3, 4)
	pay(hours, []Replicas{{Replicas: 2}, {From: hour(2), Replicas: 3}}, 2, three)
	for i, want := range []int{2, 2, 3, 3} {
		if hours[i].PaidReplicas != want {
			t.Errorf("hour %d: got %d replicas, want %d", i, hours[i].PaidReplicas, want)
		}
		exactly(t, "an hour's cost", hours[i].CostUSD, float64(want)*2*3)
	}
	s := Sums{AcceptedTokens: new(4e6), WithinSLO: new(0.9), LowWithinSLO: new(0.8), HighWithinSLO: new(0.96)}
	PaySums(&s, hours, 2, three)
	exactly(t, "paid", &s.GPUHoursPaid, 20)
	exactly(t, "covered", &s.GPUHoursCovered, 16)
	exactly(t, "needed", s.GPUHoursNeeded, 12)
	exactly(t, "cost", s.CostUSD, 60)
	exactly(t, "a million", s.USDPerMillion, 12)
	exactly(t, "low", s.LowUSDPerMillion, 11.25)
	exactly(t, "high", s.HighUSDPerM, 13.5)

	s = Sums{AcceptedTokens: new(4e6)}
	pay(hours, []Replicas{{Replicas: 2}}, 2, Price{})
	PaySums(&s, hours, 2, Price{})
	if s.CostUSD != nil || s.USDPerMillion != nil || hours[0].CostUSD != nil || s.GPUHoursPaid != 16 {
		t.Errorf("without a price: got %+v", s)
	}
	for i := range hours {
		hours[i].NeededReplicas = nil
	}
	if PaySums(&s, hours, 2, three); *hours[0].CostUSD != 12 || s.GPUHoursNeeded != nil || s.LowUSDPerMillion != nil {
		t.Errorf("without a capacity: got %+v", s)
	}
}

// Six hours at 4 replicas of 2 GPUs are 24 replica-hours, 48 GPU-hours and $144. By the table 1 (0 needed), 2, 4 (missing, stays as paid), 3, 1 and 5 are 16: a third
// is saved. Thirty minutes ahead, the second half of the first, the second and the fifth hour run as the next: 16 + (1 + 2 + 0 + 0 + 4) / 2 = 19.5. Ninety
// minutes ahead, hour by hour and half by half: 2 and 4 (that of 02:00), 4 and 4, 4 and 4, 3 and 5, 5 and 5, 5 and 5: 50 halves are 25.
func TestWaysToRunAWeek(t *testing.T) {
	hours := needing(0, 2, -1, 3, 1, 5)
	pay(hours, []Replicas{{Replicas: 4}}, 2, three)
	for _, test := range []struct {
		minutes int
		ahead   float64
	}{{30, 19.5}, {0, 16}, {90, 25}} {
		got := Scalings(hours, 2, test.minutes, three)
		want := []float64{24, 16, test.ahead, 1 + 1 + 4 + 2 + 1 + 4}
		if len(got) != len(want) {
			t.Fatalf("got %+v", got)
		}
		for i, replicaHours := range want {
			exactly(t, got[i].Name, &got[i].GPUHours, 2*replicaHours)
			exactly(t, got[i].Name+": cost", got[i].USD, 6*replicaHours)
			exactly(t, got[i].Name+": saved", got[i].Saved, 1-replicaHours/24)
		}
		if got[1].Note != "1 of 6 hours whose need is not known stay as paid" {
			t.Errorf("got %q", got[1].Note)
		}
	}
	if got := Scalings(hours, 2, 4, Price{}); got[1].USD != nil || got[1].Saved == nil {
		t.Errorf("without a price: got %+v", got)
	}
	if got := Scalings(nil, 2, 4, three); got != nil {
		t.Errorf("got %+v of nothing", got)
	}
}

// pay fills the paid replicas of hours and their cost, as the service file and the week's core do.
func pay(hours []Hour, replicas []Replicas, gpusPerReplica int, price Price) {
	for i := range hours {
		h := &hours[i]
		for k, r := range replicas {
			if k == 0 || !r.From.After(h.Start) {
				h.PaidReplicas = r.Replicas
			}
		}
		h.CostUSD = usd(float64(h.PaidReplicas*gpusPerReplica), price)
	}
}
