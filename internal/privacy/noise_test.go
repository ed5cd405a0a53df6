package privacy

import (
	"math"
	"testing"
)

// worstRatio draws the noisy count of n and of a neighbour and returns by how much
// the chance of an outcome differs at most. Outcomes that came too rarely to tell
// are put together with those beyond them: the ratio of a set is bounded alike.
func worstRatio(epsilon float64, sensitivity, apart int64) float64 {
	const runs = 100_000
	source := keyOf(9).source("test", 1)
	counts := [2]map[int64]float64{{}, {}}
	for side, n := range []int64{1000, 1000 + apart} {
		for range runs {
			counts[side][n+noise(source, epsilon, sensitivity)]++
		}
	}
	worst := 1.0
	look := func(a, b float64) {
		if min(a, b) >= 1000 { // known to 5 %
			worst = max(worst, a/b, b/a)
		}
	}
	below := [2]float64{}
	for at := int64(900); at < 1200; at++ {
		below[0] += counts[0][at]
		below[1] += counts[1][at]
		look(counts[0][at], counts[1][at])
		look(below[0], below[1])
		look(runs-below[0], runs-below[1])
	}
	return worst
}

func TestNoiseKeepsToEpsilon(t *testing.T) {
	const tolerance = 0.1
	for _, c := range []struct {
		sentence           string
		epsilon            float64
		sensitivity, apart int64
	}{
		{"a user of one request", 1, 1, 1},
		{"a smaller budget", 0.5, 1, 1},
		{"a user of five requests", 1, 5, 5},
		{"a user who has fewer than the most", 1, 5, 2},
	} {
		if worst, most := worstRatio(c.epsilon, c.sensitivity, c.apart), math.Exp(c.epsilon)*(1+tolerance); worst > most {
			t.Errorf("%s: a chance changes %v times, want at most %v", c.sentence, worst, most)
		}
	}
	// It is not more than it need be, and a user beyond the cap would be seen.
	if worst := worstRatio(1, 1, 1); worst < math.Exp(1)*(1-tolerance) {
		t.Errorf("a chance changes %v times only: more noise than epsilon 1 asks for", worst)
	}
	if worst := worstRatio(1, 1, 2); worst <= math.Exp(1)*(1+tolerance) {
		t.Errorf("two requests where one is allowed change a chance %v times only", worst)
	}
}

// P(noise >= t) = alpha^t / (1 + alpha): with epsilon ln 2, one request, delta 1/3:
// 2^-t / 1.5 <= 1/3 from t = 1 on, so a count of 2 is enough.
func TestLeastByHand(t *testing.T) {
	if got := least(math.Ln2, 1.0/3, 1); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
	if got := least(math.Ln2, 1.0/12, 1); got != 4 {
		t.Errorf("got %d, want 4: 2^-3 / 1.5 = 1/12", got)
	}
}
