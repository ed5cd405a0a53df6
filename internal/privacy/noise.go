package privacy

import (
	"math"
	random "math/rand/v2"
)

// noise draws from the two-sided geometric distribution: the chance of x falls as
// alpha^|x|, alpha = e^(-epsilon / sensitivity). Whatever one user adds to the
// counts, up to the sensitivity in all of them together, changes the chance of any
// outcome by at most e^epsilon.
func noise(source *random.Rand, epsilon float64, sensitivity int64) int64 {
	perStep := -epsilon / float64(sensitivity) // ln alpha
	geometric := func() int64 {
		// 1 - Float64 is above 0 and at most 1.
		return int64(math.Floor(math.Log(1-source.Float64()) / perStep))
	}
	return geometric() - geometric()
}

// least is how large a noisy count must be so that a cell that is there because of
// one user alone is shown with a chance of at most delta; 0 without a delta.
func least(epsilon, delta float64, sensitivity int64) int64 {
	if delta <= 0 {
		return 0
	}
	// P(noise >= t) = alpha^t / (1 + alpha)
	perStep := epsilon / float64(sensitivity)
	steps := math.Ceil(-math.Log(delta*(1+math.Exp(-perStep))) / perStep)
	return sensitivity + int64(max(0, steps))
}
