package forecast

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tidemark/internal/proof"
)

// tally of forecasts at the end of the history of seeded services against what came after it.
type tally struct {
	n, naive, growthHolds int
	own, other            [weeksAfter + 1]float64 // sums of |ln|
	inside, insideSum     [weeksAfter + 1]int
}

func (k kind) tally(t *testing.T, seeds int) (out tally) {
	for seed := range seeds {
		weeks, truth := k.make(uint64(seed) + 10_000) // the method was settled on lower seeds
		got, err := Of(weeks, Asked{Ahead: weeksAfter})
		if err != nil || got.Why != "" {
			t.Fatalf("%s, seed %d: %v %s", k.name, seed, err, got.Why)
		}
		out.n++
		if got.Method == Naive {
			out.naive++
		}
		if g := math.Expm1(truth.growth); got.LowGrowth <= g && g <= got.HighGrowth {
			out.growthHolds++
		}
		for h := 1; h <= weeksAfter; h++ {
			peak, requests := got.Ahead[h-1], got.Requests[h-1]
			out.own[h] += math.Abs(math.Log(truth.peaks[h-1] / peak.Value))
			out.other[h] += math.Abs(math.Log(truth.peaks[h-1] / got.Naive[h-1].Value))
			if peak.Low <= truth.peaks[h-1] && truth.peaks[h-1] <= peak.High {
				out.inside[h]++
			}
			if requests.Low <= truth.requests[h-1] && truth.requests[h-1] <= requests.High {
				out.insideSum[h]++
			}
		}
	}
	return out
}

func (t *tally) add(other tally) {
	t.n += other.n
	for h := range t.own {
		t.own[h] += other.own[h]
		t.other[h] += other.other[h]
		t.inside[h] += other.inside[h]
	}
}

func percent(count, n int) float64 { return 100 * float64(count) / float64(n) }

// line of the table in docs/forecast.md.
func (t tally) line(name string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "| %s |", name)
	for _, h := range []int{1, 4, 8} {
		fmt.Fprintf(&out, " %.1f / %.1f |", 100*t.own[h]/float64(t.n), 100*t.other[h]/float64(t.n))
	}
	fmt.Fprintf(&out, " %.0f, %.0f, %.0f |", percent(t.inside[1], t.n), percent(t.inside[4], t.n), percent(t.inside[8], t.n))
	fmt.Fprintf(&out, " %.0f, %.0f, %.0f |", percent(t.insideSum[1], t.n), percent(t.insideSum[4], t.n), percent(t.insideSum[8], t.n))
	fmt.Fprintf(&out, " %.0f | %d of %d |", percent(t.growthHolds, t.n), t.naive, t.n)
	return out.String()
}

// A proof prints the table of docs/forecast.md.
func TestBackTest(t *testing.T) {
	seeds, isFull := proof.Many(4, 150), proof.IsFull()
	var all tally
	for _, k := range kinds() {
		if k.weeks > 13 && !isFull {
			continue
		}
		got := k.tally(t, seeds)
		t.Log(got.line(k.name))
		if strings.Contains(k.name, "nobody can foresee") {
			continue // the band promises nothing of what is new
		}
		all.add(got)
		if h := 4; isFull && percent(got.inside[h], got.n) < 80 {
			t.Errorf("%s: the band %d weeks ahead holds what came in %d of %d", k.name, h, got.inside[h], got.n)
		}
	}
	for _, h := range []int{1, 4, 8} {
		if share := percent(all.inside[h], all.n); share < 80 || isFull && share < 85 {
			t.Errorf("all kinds, %d weeks ahead: the 90 %% band holds what came in %.0f %%", h, share)
		}
		if h > 1 && all.own[h] >= all.other[h] {
			t.Errorf("all kinds, %d weeks ahead: error %.3f, naive %.3f", h, all.own[h]/float64(all.n), all.other[h]/float64(all.n))
		}
	}
}
