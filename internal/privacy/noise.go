package privacy

import (
	"math"
	random "math/rand/v2"
)

// noise draws from the two-sided geometric distribution, the discrete form of
// Laplace noise (Ghosh, Roughgarden, Sundararajan 2009): the chance of x falls
// as alpha^|x| with alpha = e^(-epsilon/sensitivity). Whatever one user adds to
// the counts, up to the sensitivity over all of them, it changes the chance of
// any outcome by a factor of at most e^epsilon. Counts stay whole, and no bits
// of a floating-point number can leak them.
func noise(source *random.Rand, epsilon float64, sensitivity int64) int64 {
	perStep := -epsilon / float64(sensitivity) // ln alpha
	geometric := func() int64 {
		// 1 - Float64 is above 0 and at most 1.
		return int64(math.Floor(math.Log(1-source.Float64()) / perStep))
	}
	return geometric() - geometric()
}

// least is how large a noisy count must be to be shown. A cell that exists only
// because of one user then appears with a chance of at most delta. It is 0
// without a delta.
func least(epsilon, delta float64, sensitivity int64) int64 {
	if delta <= 0 {
		return 0
	}
	// P(noise >= t) = alpha^t / (1 + alpha)
	perStep := epsilon / float64(sensitivity)
	steps := math.Ceil(-math.Log(delta*(1+math.Exp(-perStep))) / perStep)
	return sensitivity + int64(max(0, steps))
}
