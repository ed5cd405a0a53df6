package regression

import (
	"fmt"
	"maps"
	"math"
)

const (
	// A term is as uncertain as before when more than this share of its prior spread is left.
	leastNarrowing = 0.8
	// Two terms with a stronger correlation than this move only together.
	mostCorrelation = 0.95
	// A term whose prior spread moves the sum by less than this share cannot disturb another one.
	leastEffect = 0.01
)

// FitIdentifiable is FitScales for the terms that the measurements determine. A term about which they say no more than was known
// before, or that only moves together with another one, keeps its length; held has the reason for each. Fitting the others with the
// held ones fixed would make their intervals too narrow, so each takes the wider spread of the two fits.
func FitIdentifiable(rows []Row, priors map[string]float64) (fit Fit, held map[string]string, err error) {
	all, err := FitScales(rows, priors)
	if err != nil {
		return Fit{}, nil, err
	}
	held = unidentifiable(all, priors)
	told := maps.Clone(priors)
	maps.DeleteFunc(told, func(term string, _ float64) bool { return held[term] != "" })
	if fit, err = FitScales(rows, told); err != nil {
		return Fit{}, nil, err
	}
	for _, term := range fit.Terms {
		spread := max(all.Spreads[term], fit.Spreads[term])
		scale := fit.Scales[term]
		fit.Spreads[term] = spread
		fit.Intervals[term] = [2]float64{scale * math.Exp(-spreads90*spread), scale * math.Exp(spreads90*spread)}
	}
	return fit, held, nil
}

// unidentifiable are the terms that a fit does not determine, and why.
func unidentifiable(fit Fit, priors map[string]float64) map[string]string {
	held := map[string]string{}
	for _, term := range fit.Terms {
		if left := fit.Spreads[term] / priors[term]; left > leastNarrowing {
			held[term] = fmt.Sprintf("as uncertain as before (%.0f %% of the spread is left)", 100*left)
		}
	}
	for i, a := range fit.Terms {
		for j, b := range fit.Terms[:i] {
			isSmall := fit.Shares[a]*priors[a] < leastEffect || fit.Shares[b]*priors[b] < leastEffect
			if math.Abs(fit.Correlation[i][j]) > mostCorrelation && !isSmall {
				held[a] = fmt.Sprintf("cannot be told from %s (correlation %.2f)", b, fit.Correlation[i][j])
				held[b] = fmt.Sprintf("cannot be told from %s (correlation %.2f)", a, fit.Correlation[i][j])
			}
		}
	}
	return held
}
