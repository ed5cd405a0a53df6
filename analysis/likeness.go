package analysis

import "math"

// movedKS is the distance (Kolmogorov-Smirnov) from which two distributions of lengths are called different: with many requests any difference is
// certain, and what counts is whether it matters.
const movedKS = 0.1

// Likeness says whether two samples of n and m lengths, ks apart, come from distributions that differ enough to matter. isUnknown: they may
// be farther apart than that, and so few would be so by chance too (the 5 % point of the two-sample Kolmogorov-Smirnov test, 1.36 √(1/n + 1/m)).
func Likeness(ks float64, n, m int64) (isMoved, isUnknown bool) {
	if !(ks > movedKS) {
		return false, false
	}
	isUnknown = ks <= 1.36*math.Sqrt(1/float64(n)+1/float64(m))
	return !isUnknown, isUnknown
}
