package regression

import "math"

// StudentT95 is the 95 % quantile of Student's t.
func StudentT95(freedom float64) float64 { return StudentT(0.95, freedom) }

// StudentT is a quantile of Student's t above the median and below 700, by halving an interval over its distribution function.
func StudentT(share, freedom float64) float64 {
	low, high := 0.0, 700.0
	for range 60 {
		if middle := (low + high) / 2; studentBelow(middle, freedom) < share {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// studentBelow is the chance of a t below a positive one. With t = tan(x) * sqrt(freedom) the density is cos(x)^(freedom-1), which Simpson's
// rule sums over a finite range.
func studentBelow(t, freedom float64) float64 {
	const steps = 400
	end := math.Atan(t / math.Sqrt(freedom))
	sum := 0.0
	for i := range steps + 1 {
		weight := 4.0 - 2*float64((i+1)%2)
		if i == 0 || i == steps {
			weight = 1
		}
		sum += weight * math.Pow(math.Cos(end*float64(i)/steps), freedom-1)
	}
	above, _ := math.Lgamma((freedom + 1) / 2)
	below, _ := math.Lgamma(freedom / 2)
	return 0.5 + sum*end/steps/3*math.Exp(above-below)/math.Sqrt(math.Pi)
}
