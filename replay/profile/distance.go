package profile

import "math"

// Distance is how far apart two distributions of lengths are. Wasserstein works
// on the logarithm of tokens, where twice as long is as far away as half as
// long.
type Distance struct {
	KS          float64 // Kolmogorov and Smirnov: the largest difference of the distribution functions, 0 to 1
	Wasserstein float64 // the area between them over ln(tokens): 0.1 is as if all lengths were 10 % longer
}

// Distances are those of inputs and of outputs.
func Distances(a, b Lengths) (input, output Distance) {
	return distance(a.marginal(ofInput), b.marginal(ofInput)), distance(a.marginal(ofOutput), b.marginal(ofOutput))
}

// ByChance is how far apart two workloads that are one can be by chance (1 time in 20), by how many requests each has: the limit of the
// test of Kolmogorov and Smirnov, and the same number of standard deviations of the area.
func ByChance(a, b Lengths) (input, output Distance) {
	return byChance(a.marginal(ofInput), b.marginal(ofInput)), byChance(a.marginal(ofOutput), b.marginal(ofOutput))
}

func byChance(a, b counted) Distance {
	n, m := a.total(), b.total()
	if n == 0 || m == 0 {
		return Distance{}
	}
	limit := 1.36 * math.Sqrt(1/n+1/m)
	return Distance{limit, limit * alongBoth(a, b, func(ofA, ofB float64) float64 {
		both := (n*ofA + m*ofB) / (n + m)
		return math.Sqrt(max(0, both*(1-both)))
	}).Wasserstein}
}

func distance(a, b counted) Distance {
	if len(a.values) == 0 || len(b.values) == 0 {
		return Distance{math.NaN(), math.NaN()}
	}
	return alongBoth(a, b, func(ofA, ofB float64) float64 { return math.Abs(ofA - ofB) })
}

// alongBoth steps through the values of both in order: the most of a function of their distribution functions, and the area below it over ln(tokens).
func alongBoth(a, b counted, of func(ofA, ofB float64) float64) (d Distance) {
	before, height := 0.0, 0.0
	for i, j := 0, 0; i < len(a.values) || j < len(b.values); {
		value := math.Inf(1)
		if i < len(a.values) {
			value = a.values[i]
		}
		if j < len(b.values) {
			value = min(value, b.values[j])
		}
		if before > 0 {
			d.Wasserstein += height * math.Log(value/before)
		}
		if i < len(a.values) && a.values[i] == value {
			i++
		}
		if j < len(b.values) && b.values[j] == value {
			j++
		}
		before, height = value, of(a.share(i), b.share(j))
		d.KS = max(d.KS, height)
	}
	return d
}

// total is how many there are.
func (c counted) total() float64 {
	if len(c.sums) == 0 {
		return 0
	}
	return c.sums[len(c.sums)-1]
}

// share is the share of the first n values.
func (c counted) share(n int) float64 {
	if n == 0 {
		return 0
	}
	return c.sums[n-1] / c.total()
}

// Drawn are the lengths of a profile's requests as they would be sent: whole
// prompts, including history.
func (p *Profile) Drawn(o Options) (Lengths, error) {
	requests, err := p.Requests(o)
	if err != nil {
		return Lengths{}, err
	}
	counts := map[[2]int]int64{}
	for req, err := range requests {
		if err != nil {
			return Lengths{}, err
		}
		counts[[2]int{req.InputTokens, req.OutputTokens}]++
	}
	var l Lengths
	for pair, count := range counts {
		l.Pairs = append(l.Pairs, Pair{pair[0], pair[1], count})
	}
	return l, nil
}
