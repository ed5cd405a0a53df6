package profile

import "math"

// gammaQuantile inverts the distribution function of a gamma variable of scale
// 1. It solves for ln x by Newton's method inside a bracket, and halves the
// bracket whenever a step would leave it, so it converges for every shape from
// 0.01 to 10,000.
func gammaQuantile(shape, rank float64) float64 {
	if rank <= 0 {
		return 0
	}
	logGamma, _ := math.Lgamma(shape)
	low, high := -745.0, math.Log(shape+40*math.Sqrt(shape)+750)
	// Start: for small x the distribution function is x^shape / (shape
	// Gamma(shape)).
	x := (math.Log(rank) + math.Log(shape) + logGamma) / shape
	if z := normalQuantile(rank); shape > 0.5 {
		// Better start for larger shapes: the cube root is nearly normal
		// (Wilson and Hilferty 1931).
		if w := 1 - 1/(9*shape) + z/(3*math.Sqrt(shape)); w > 0.1 {
			x = math.Log(shape) + 3*math.Log(w)
		}
	}
	x = min(max(x, low), high)
	for range 100 {
		off := lowerGamma(shape, math.Exp(x), logGamma) - rank
		if off > 0 {
			high = x
		} else {
			low = x
		}
		// The derivative by ln x is x^shape e^-x / Gamma(shape).
		step := off / math.Exp(shape*x-math.Exp(x)-logGamma)
		next := x - step
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-x) < 1e-10 {
			return math.Exp(next)
		}
		x = next
	}
	return math.Exp(x)
}

// lowerGamma is the regularised incomplete gamma function P(shape, x), by its
// series below shape + 1 and by its continued fraction above (Abramowitz and
// Stegun 6.5.29 and 6.5.31; the fraction by Lentz's method).
func lowerGamma(shape, x, logGamma float64) float64 {
	if x <= 0 {
		return 0
	}
	front := math.Exp(shape*math.Log(x) - x - logGamma)
	if x < shape+1 {
		term := 1 / shape
		sum := term
		for n := shape + 1; term > sum*1e-15; n++ {
			term *= x / n
			sum += term
		}
		return front * sum
	}
	const tiny = 1e-300
	b := x + 1 - shape
	c, d := 1/tiny, 1/b
	fraction := d
	for i := 1.0; i < 10_000; i++ {
		a := i * (shape - i)
		b += 2
		d = 1 / notZero(a*d+b, tiny)
		c = notZero(b+a/c, tiny)
		fraction *= c * d
		if math.Abs(c*d-1) < 1e-15 {
			break
		}
	}
	return 1 - front*fraction
}

// notZero keeps Lentz's method from dividing by zero.
func notZero(v, tiny float64) float64 {
	if math.Abs(v) < tiny {
		return tiny
	}
	return v
}
