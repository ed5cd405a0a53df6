//go:build coverage

package fleet

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

// TestHeadroomCoverage asks 200 seeded services for their headroom and compares it with the truth, half of them with a search for capacity.
// TIDEMARK_SERVICES is another number of services.
func TestHeadroomCoverage(t *testing.T) {
	services := 200
	if n, err := strconv.Atoi(os.Getenv("TIDEMARK_SERVICES")); err == nil {
		services = n
	}
	var all [2][]outcome
	var asked [2]int
	for i := range services {
		kind := i % 2
		s := aService(uint64(i), []int{1, 2, 6, 16}[i/2%4], kind == 1)
		o := s.play(t, uint64(i), 12_000)
		asked[kind]++
		if !o.isAnswered {
			fmt.Printf("service %d (%v): no answer\n", i, kind == 1)
			continue
		}
		all[kind] = append(all[kind], o)
		fmt.Printf("service %d (%v): %+.3f (%+.3f to %+.3f) %v\n", i, kind == 1, math.Log(o.centre/o.truth), math.Log(o.low/o.truth), math.Log(o.high/o.truth), o.isRight())
	}
	fmt.Println("| capacity | services | with an answer | interval holds the truth % | too high % | too low % | bias % | median error % | median half width % |")
	right, given := 0, 0
	for kind, name := range []string{"predicted", "measured, corrected to the hour's shape"} {
		n, above, below, bias := 0, 0, 0, 0.0
		var errors, halves []float64
		for _, o := range all[kind] {
			switch {
			case o.isRight():
				n++
			case o.low > o.truth:
				above++
			default:
				below++
			}
			off := math.Log(o.centre / o.truth)
			bias += off / float64(len(all[kind]))
			errors, halves = append(errors, math.Abs(off)), append(halves, math.Log(o.high/max(o.low, 1e-9))/2)
		}
		slices.Sort(errors)
		slices.Sort(halves)
		share := func(k int) float64 { return 100 * float64(k) / float64(len(all[kind])) }
		fmt.Printf("| %s | %d | %d | %.0f | %.0f | %.0f | %+.1f | %.1f | %.0f |\n", name, asked[kind], len(all[kind]), share(n), share(above), share(below), 100*bias, 100*errors[len(errors)/2], 100*halves[len(halves)/2])
		right, given = right+n, given+len(all[kind])
	}
	if float64(right) < 0.85*float64(given) {
		t.Errorf("%d of %d intervals hold the truth, want 85 %%", right, given)
	}
}
