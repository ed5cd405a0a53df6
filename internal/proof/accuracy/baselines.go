//go:build duckdb_arrow

package accuracy

import (
	"math"

	"tidemark/analysis"
	"tidemark/analysis/regression"
)

// Calibrated predicts each row of a deployment after calibration on one other row of it, for all
// pairs: what a user has after one run. That row scales the terms of the predictions.
func Calibrated(guesses []Guess, predictions []analysis.Prediction, deployment func(Row) string) []Guess {
	places := map[string][]int{}
	var names []string
	for i, g := range guesses {
		name := deployment(g.Row)
		if places[name] == nil {
			names = append(names, name)
		}
		places[name] = append(places[name], i)
	}
	var after []Guess
	for _, name := range names {
		for _, run := range places[name] {
			fit, err := regression.FitScales([]regression.Row{{TPOT: guesses[run].Measured, Terms: termsOf(predictions[run])}}, analysis.CalibrationPriors())
			if err != nil {
				// If the row is so far off that calibration refuses it, the prediction stays as it
				// was.
				fit.Scales = nil
			}
			for _, i := range places[name] {
				if i != run {
					after = append(after, guesses[i].scaled(predictions[i], fit.Scales))
				}
			}
		}
	}
	return after
}

// calibrated maps a calibration's names to the columns of a prediction. Host time belongs almost
// completely to the step when few sequences run, and to the sequences when many do.
var calibrated = map[string]string{
	"weights_s": "weights", "experts_s": "experts", "kv_s": "kv", "arithmetic_s": "arithmetic", "layers_s": "layers",
	"allreduce_s": "allreduce", "host_s": "step", "draft_s": "draft", "prefill_s": "prefill",
}

func termsOf(p analysis.Prediction) map[string]float64 {
	terms := map[string]float64{}
	for i, name := range analysis.TermNames() {
		terms[calibrated[name]] = p.Terms[i]
	}
	return terms
}

func (g Guess) scaled(p analysis.Prediction, scales map[string]float64) Guess {
	sum := 0.0
	for name, s := range termsOf(p) {
		if scale, fitted := scales[name]; fitted {
			s *= scale
		}
		sum += s
	}
	g.Low, g.High, g.Predicted = sum/(1+CalibratedBand), sum*(1+CalibratedBand), sum
	return g
}

// CalibratedBand is calibrated_band_ratio of seeds.constants.
const CalibratedBand = 0.15

// streamed is the time to read a step's bytes at peak bandwidth, seconds: weights, distinct
// experts, KV.
func streamed(p analysis.Prediction) float64 {
	return p.MBU * (p.TPOT - p.Terms[len(p.Terms)-1])
}

// WeightsOverPeak is the common rule of thumb: weights divided by the datasheet's bandwidth.
func WeightsOverPeak(guesses []Guess, predictions []analysis.Prediction) []Guess {
	habit := make([]Guess, len(guesses))
	for i, g := range guesses {
		p := predictions[i]
		habit[i] = Guess{Row: g.Row, Measured: g.Measured, Predicted: p.WeightsOverPeak}
	}
	return habit
}

// TwoConstants is the next better rule: a bandwidth factor and a time per step, both fitted to the
// rows that part does not leave out, with the cost of other requests' prompts as the model has it.
func TwoConstants(guesses []Guess, predictions []analysis.Prediction, part func(Row) string) []Guess {
	habit := make([]Guess, len(guesses))
	fitted := map[string][2]float64{}
	for i, g := range guesses {
		name := part(g.Row)
		constants, known := fitted[name]
		if !known {
			constants = bestTwo(guesses, predictions, func(r Row) bool { return part(r) != name })
			fitted[name] = constants
		}
		habit[i] = Guess{Row: g.Row, Measured: g.Measured, Predicted: two(predictions[i], constants)}
	}
	return habit
}

func two(p analysis.Prediction, constants [2]float64) float64 {
	return streamed(p)/constants[0] + constants[1] + p.Terms[len(p.Terms)-1]
}

// bestTwo searches a grid for the smallest mean of the absolute logarithm.
func bestTwo(guesses []Guess, predictions []analysis.Prediction, train func(Row) bool) [2]float64 {
	best, least := [2]float64{}, math.Inf(1)
	for ratio := 0.30; ratio < 1.2; ratio += 0.02 {
		for step := 0.0; step < 8e-3; step += 0.1e-3 {
			sum := 0.0
			for i, g := range guesses {
				if train(g.Row) {
					sum += math.Abs(math.Log(two(predictions[i], [2]float64{ratio, step}) / g.Measured))
				}
			}
			if sum < least {
				best, least = [2]float64{ratio, step}, sum
			}
		}
	}
	return best
}
