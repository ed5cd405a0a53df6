package regression

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Row is a measured time per token together with the terms of its prediction, in seconds. Weight is how many independent
// measurements it stands for (0: one); requests that shared a queue are not independent. Rows of one Run share what differs
// from one start of a server to the next.
type Row struct {
	Run    string
	TPOT   float64
	Terms  map[string]float64
	Weight float64
}

// Fit is the result: each term takes Scale times as long as predicted.
type Fit struct {
	Terms       []string              // that were fitted, in alphabetical order
	Scales      map[string]float64    // the most probable; 1 for a term that was not fitted
	Intervals   map[string][2]float64 // 90 %
	Correlation [][]float64           // of the logarithms of scales, in the order of Terms
	Spreads     map[string]float64    // standard deviation of the scale's logarithm after the fit; the prior's is before
	Shares      map[string]float64    // of the predicted time, mean over the rows
	Residual    float64               // standard deviation of the errors, of the logarithm
	Weight      float64               // independent measurements
}

const (
	// How far two starts of the same server differ: the five repeats of Splitwise differ by 1.2 % (p90).
	restartSpread = 0.01
	// The prior for the spread of the errors: what a law of few constants leaves at one batch. It weighs as much as residualWeight
	// measurements, so that three rows that happen to agree do not claim to be exact.
	residualSpread, residualWeight = 0.03, 4
	// Degrees of freedom of Student's t: few, so that a hundredth of the rows may be far off.
	tailFreedom = 4
	// 90 % of a normal distribution lie within so many standard deviations of its mean.
	spreads90 = 1.6448536269514722
)

// FitScales finds the most probable scales. priors has the spread of each scale's logarithm; a term without a prior keeps its
// length. Rows that contradict each other so much that the iteration does not settle are an error.
func FitScales(rows []Row, priors map[string]float64) (Fit, error) {
	f, err := newFitter(rows, priors)
	if err != nil {
		return Fit{}, err
	}
	for range 200 {
		moved, err := f.step()
		if err != nil {
			return Fit{}, err
		}
		if moved < 1e-9 {
			return f.result(), nil
		}
	}
	return Fit{}, errors.New("fit: does not settle: the rows contradict each other")
}

// fitter iterates to the most probable logarithms of the scales and of what each run has in common.
type fitter struct {
	rows        []Row
	terms, runs []string
	at          []float64 // logarithms: terms, then runs
	prior       []float64 // their spreads
	covariance  [][]float64
	residual    float64
}

func newFitter(rows []Row, priors map[string]float64) (*fitter, error) {
	f := &fitter{residual: residualSpread}
	if len(rows) == 0 {
		return nil, errors.New("fit: no measurements")
	}
	for i, row := range rows {
		if err := row.check(); err != nil {
			return nil, fmt.Errorf("fit: measurement %d: %w", i+1, err)
		}
		row.Weight = cmp.Or(row.Weight, 1)
		f.rows = append(f.rows, row)
		if !slices.Contains(f.runs, row.Run) {
			f.runs = append(f.runs, row.Run)
		}
	}
	for term, spread := range priors {
		if !(spread > 0) || math.IsInf(spread, 0) {
			return nil, fmt.Errorf("fit: prior of %s: %v, a spread above 0 is needed", term, spread)
		}
		if slices.ContainsFunc(rows, func(r Row) bool { return r.Terms[term] > 0 }) {
			f.terms = append(f.terms, term)
		}
	}
	slices.Sort(f.terms)
	f.at = make([]float64, len(f.terms)+len(f.runs))
	for _, term := range f.terms {
		f.prior = append(f.prior, priors[term])
	}
	for range f.runs {
		f.prior = append(f.prior, restartSpread)
	}
	return f, nil
}

func (r Row) check() error {
	if !(r.TPOT > 0) || math.IsInf(r.TPOT, 0) {
		return fmt.Errorf("a time per token of %v s", r.TPOT)
	}
	if !(r.Weight >= 0) || math.IsInf(r.Weight, 0) {
		return fmt.Errorf("a weight of %v", r.Weight)
	}
	sum := 0.0
	for term, s := range r.Terms {
		if !(s >= 0) || math.IsInf(s, 0) {
			return fmt.Errorf("%s of %v s", term, s)
		}
		sum += s
	}
	if sum == 0 {
		return errors.New("no predicted terms")
	}
	return nil
}

// predicted is a row's time with the present scales, seconds, and the derivative of its logarithm by each unknown.
func (f *fitter) predicted(row Row) (float64, []float64) {
	slope := make([]float64, len(f.at))
	sum := 0.0
	for term, seconds := range row.Terms {
		if j, isFitted := slices.BinarySearch(f.terms, term); isFitted {
			seconds *= math.Exp(f.at[j])
			slope[j] = seconds
		}
		sum += seconds
	}
	for j := range f.terms {
		slope[j] /= sum
	}
	run := len(f.terms) + slices.Index(f.runs, row.Run)
	slope[run] = 1
	return sum * math.Exp(f.at[run]), slope
}

// step makes one Gauss-Newton step, in which rows far from their prediction weigh less, and returns the largest change.
// The normal matrix is J'WJ plus the priors' precisions on its diagonal, with W the weights of Student's t,
// (freedom + 1) / (freedom + squared error).
func (f *fitter) step() (float64, error) {
	n := len(f.at)
	normal, right := make([][]float64, n), make([]float64, n)
	for j := range normal {
		normal[j] = make([]float64, n)
		normal[j][j] = 1 / (f.prior[j] * f.prior[j])
		right[j] = -f.at[j] * normal[j][j]
	}
	squares, weights := 0.0, 0.0
	for _, row := range f.rows {
		predicted, slope := f.predicted(row)
		gap := math.Log(row.TPOT / predicted)
		far := row.Weight * gap * gap / (f.residual * f.residual)
		trust := row.Weight * (tailFreedom + 1) / (tailFreedom + far)
		squares += trust * gap * gap
		weights += row.Weight
		trust /= f.residual * f.residual
		for j := range n {
			right[j] += trust * slope[j] * gap
			for k := range n {
				normal[j][k] += trust * slope[j] * slope[k]
			}
		}
	}
	var err error
	if f.covariance, err = Inverse(normal); err != nil {
		return 0, err
	}
	moved := 0.0
	for j := range n {
		by := 0.0
		for k := range n {
			by += f.covariance[j][k] * right[k]
		}
		// Far from the solution the slope is a poor guide: limit the step.
		by = max(-0.5, min(0.5, by))
		f.at[j] += by
		moved = max(moved, math.Abs(by))
	}
	residual := math.Sqrt((residualWeight*residualSpread*residualSpread + squares) / (residualWeight + weights))
	moved = max(moved, math.Abs(residual-f.residual))
	f.residual = residual
	return moved, nil
}

// result reads scales, intervals and correlations off the last step.
func (f *fitter) result() Fit {
	fit := Fit{
		Terms: f.terms, Scales: map[string]float64{}, Intervals: map[string][2]float64{},
		Spreads: map[string]float64{}, Shares: map[string]float64{}, Residual: f.residual,
	}
	for _, row := range f.rows {
		fit.Weight += row.Weight
		sum := 0.0
		for term, seconds := range row.Terms {
			fit.Scales[term], fit.Intervals[term] = 1, [2]float64{1, 1}
			sum += seconds
		}
		for term, seconds := range row.Terms {
			fit.Shares[term] += seconds / sum / float64(len(f.rows))
		}
	}
	for j, term := range f.terms {
		spread := math.Sqrt(f.covariance[j][j])
		fit.Spreads[term] = spread
		fit.Scales[term] = math.Exp(f.at[j])
		fit.Intervals[term] = [2]float64{math.Exp(f.at[j] - spreads90*spread), math.Exp(f.at[j] + spreads90*spread)}
		var correlation []float64
		for k := range f.terms {
			correlation = append(correlation, f.covariance[j][k]/math.Sqrt(f.covariance[j][j]*f.covariance[k][k]))
		}
		fit.Correlation = append(fit.Correlation, correlation)
	}
	return fit
}

// Inverse is that of a symmetric positive definite matrix, by Gauss-Jordan elimination. Such a matrix needs no pivoting.
func Inverse(matrix [][]float64) ([][]float64, error) {
	n := len(matrix)
	wide := make([][]float64, n)
	for i, row := range matrix {
		wide[i] = append(slices.Clone(row), make([]float64, n)...)
		wide[i][n+i] = 1
	}
	for i := range n {
		pivot := wide[i][i]
		if !(pivot > 0) || math.IsInf(pivot, 0) {
			return nil, errors.New("fit: the measurements determine nothing")
		}
		for k := range wide[i] {
			wide[i][k] /= pivot
		}
		for j := range n {
			if factor := wide[j][i]; j != i && factor != 0 {
				for k := range wide[j] {
					wide[j][k] -= factor * wide[i][k]
				}
			}
		}
	}
	for i := range wide {
		wide[i] = wide[i][n:]
	}
	return wide, nil
}
