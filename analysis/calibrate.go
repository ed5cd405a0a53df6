package analysis

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/analysis/regression"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
)

// A calibration corrects the constants of the bandwidth model for one deployment. Each term of a predicted time per token depends on one
// or several constants. Package regression finds how much longer than predicted each term is; a scaled time becomes a scaled constant,
// or its inverse where the constant is a rate. Priors keep every constant near the measured kernels, and constants that the runs do not
// determine keep their values, so that one run at one batch does not change all of them.
//
//	calibrate.go       from scales to constants
//	calibratecheck.go  which runs can be used
//	calibraterows.go   the measurements that are fitted
//	calibratepoints.go the same from a table of measured points
//	calibrateserver.go the constants of a whole server, by playing its runs; calibratefit.go fits them, calibrateplan.go is the workload that tells most
//	calibrations.go    keeping, listing and forgetting

// Calibration is the constants of a deployment as runs on it determine them. It belongs to the deployment: GPU, model, formats, degrees of
// parallelism, engine and its minor version. Predictions for any other deployment ignore it.
type Calibration struct {
	ID         int64 // once it is kept
	MadeAt     time.Time
	Runs       []string // or the table of points, alone
	Deployment deployment.Deployment
	Constants  []CalibratedConstant // in the order of terms; those that keep their value too
	Requests   int64                // that were compared; 0: points were
	Points     int
	Weight     float64 // independent measurements that these are worth
	// Errors of the predictions for the fitted measurements themselves, with the constants before and after.
	Before, After FitError
	Warnings      []string
}

// CalibratedConstant is one constant for one format, with the 90 % interval from Low to High. If the runs do not determine it, Value is Before
// and the interval is NaN.
type CalibratedConstant struct {
	Term, Name, Format       string
	Before, Value, Low, High float64
	Held                     string // why it keeps its value; empty: the value is new
}

// FitError is how far predictions are off, weighted as in the fit: the median of |predicted / measured - 1|, and the mean with its sign. The
// errors after a fit are on the data that was fitted, so they are smaller than those of a later run will be (median 4.2 %
// after one calibration run).
type FitError struct{ Median, Bias float64 }

// constantsOf lists the constants behind each term. spread is the prior: the standard deviation of the logarithm of the term's time around
// that of the measured kernels, taken from how far constants differ between the measured engine versions and GPUs. Bandwidths hardly
// differ (6 %), host time per sequence most (70 %: 20-140 us on engines of late 2025, about nothing since). isRate means
// that half of the constant takes twice the time.
var constantsOf = []struct {
	term, name string
	spread     float64
	isRate     bool
}{
	{"weights", "weight_bandwidth_ratio", 0.06, true},
	{"experts", "expert_time_ratio", 0.12, false},
	{"kv", "kv_bandwidth_ratio", 0.06, true},
	{"layers", "layer_s", 0.1, false},
	{"layers", "mla_layer_s", 0.1, false},
	{"layers", "gemm_overhead_s", 0.1, false},
	{"step", "step_s", 0.3, false},
	{"sequences", "sequence_s", 0.7, false},
	{"prefill", "prefill_share", 0.2, false},
}

// CalibrationPriors gives the prior spread of the logarithm of each term's time. Constants of one term share it: the fit cannot tell them
// apart, so it scales all of them alike.
func CalibrationPriors() map[string]float64 {
	priors := map[string]float64{}
	for _, c := range constantsOf {
		priors[c.term] = c.spread
	}
	return priors
}

// leastCalibrationRequests is the smallest number of requests to fit: fewer say less than the priors do.
const leastCalibrationRequests = 30

// Calibrate fits the constants of a deployment to runs on it. It stores nothing; Keep does. A run that is invalid, shared, simulated or
// of another deployment is an error, and so are runs that determine no constant.
func Calibrate(ctx context.Context, db *sql.DB, runs []string, now time.Time) (Calibration, error) {
	warnings, err := checkRuns(ctx, db, runs)
	if err != nil {
		return Calibration{}, fmt.Errorf("calibrate: %w", err)
	}
	read, err := readUncalibrated(ctx, db, runs)
	if err != nil {
		return Calibration{}, fmt.Errorf("calibrate: %w", err)
	}
	if read.requests < leastCalibrationRequests {
		return Calibration{}, hint.Errorf("calibrate: %d requests to compare, at least %d are needed", read.requests, leastCalibrationRequests).
			Hint("answers of more than one token, after the warm-up, count")
	}
	c, err := read.calibrate(runs, now)
	if err != nil {
		return Calibration{}, fmt.Errorf("calibrate: %w", err)
	}
	c.Warnings = append(warnings, c.Warnings...)
	return c, nil
}

// calibrate fits the constants to what was read. from names the runs, or the table.
func (read calibrated) calibrate(from []string, now time.Time) (Calibration, error) {
	first := read.deployments[0]
	priors := CalibrationPriors()
	if first.IsKVByArithmetic {
		delete(priors, "kv")
	}
	fit, held, err := regression.FitIdentifiable(read.rows, priors)
	if err != nil {
		return Calibration{}, err
	}
	if len(fit.Terms) == 0 {
		return Calibration{}, nothingTold(held)
	}
	c := Calibration{
		MadeAt: now.UTC(), Runs: from, Requests: read.requests, Weight: fit.Weight,
		Deployment: first.Deployment,
		Before:     errorOf(read.rows, nil), After: errorOf(read.rows, fit.Scales),
	}
	c.Constants = constantsFrom(fit, held, read)
	c.Warnings = warningsOf(fit)
	return c, nil
}

// IsWorse reports that the fitted constants predict even the fitted runs worse than the constants before. Then something is wrong that
// no constant describes.
func (c Calibration) IsWorse() bool { return c.After.Median > c.Before.Median }

// nothingTold is the error when the runs determine no constant. It says for each term why not.
func nothingTold(held map[string]string) error {
	var reasons []string
	for _, term := range slices.Sorted(maps.Keys(held)) {
		reasons = append(reasons, term+" "+held[term])
	}
	return hint.Errorf("these measurements determine no constant: %s", strings.Join(reasons, "; ")).
		Hint("add a run or a point of the same deployment at another batch, context or length of prompts")
}

// constantsFrom turns scales of times into values of constants, for each number format that the deployment uses: a time is multiplied by
// the scale, a rate divided by it. The ends of a rate's interval change places.
func constantsFrom(fit regression.Fit, held map[string]string, read calibrated) []CalibratedConstant {
	d := read.deployments[0]
	var all []CalibratedConstant
	for _, of := range constantsOf {
		if fit.Shares[of.term] == 0 || of.name == "mla_layer_s" && !d.IsMLA {
			continue
		}
		formats := []string{"*"}
		switch of.name {
		case "weight_bandwidth_ratio":
			formats = slices.Compact([]string{"bf16", d.Quantization})
		case "gemm_overhead_s":
			formats = []string{d.Quantization}
		case "kv_bandwidth_ratio":
			formats = []string{d.KVCacheDtype}
		}
		for _, format := range formats {
			before := read.constant(of.name, format)
			if before == 0 {
				continue // no such time
			}
			c := CalibratedConstant{
				Term: of.term, Name: of.name, Format: format, Before: before, Value: before, Low: math.NaN(), High: math.NaN(), Held: held[of.term],
			}
			if !slices.Contains(fit.Terms, of.term) && c.Held == "" {
				c.Held = "bound by arithmetic, not by bandwidth"
			}
			if c.Held == "" {
				scale, ends := fit.Scales[of.term], fit.Intervals[of.term]
				c.Value, c.Low, c.High = before*scale, before*ends[0], before*ends[1]
				if of.isRate {
					c.Value, c.Low, c.High = before/scale, before/ends[1], before/ends[0]
				}
			}
			all = append(all, c)
		}
	}
	return all
}

// constant is the value before the calibration. A format without a value of its own has that of bf16.
func (c calibrated) constant(name, format string) float64 {
	if value, ok := c.constants[name][format]; ok {
		return value
	}
	return c.constants[name]["bf16"]
}

// errorOf compares the sum of the scaled terms with the measured times. The median is weighted: half of the weight lies below it.
func errorOf(rows []regression.Row, scales map[string]float64) FitError {
	type weighted struct{ error, weight float64 }
	var all []weighted
	weights, bias := 0.0, 0.0
	for _, row := range rows {
		predicted := 0.0
		for term, s := range row.Terms {
			if scale, ok := scales[term]; ok {
				s *= scale
			}
			predicted += s
		}
		off := predicted/row.TPOT - 1
		all = append(all, weighted{math.Abs(off), row.Weight})
		weights += row.Weight
		bias += off * row.Weight
	}
	slices.SortFunc(all, func(a, b weighted) int { return int(math.Copysign(1, a.error-b.error)) })
	below := 0.0
	for _, one := range all {
		if below += one.weight; below >= weights/2 {
			return FitError{one.error, bias / weights}
		}
	}
	return FitError{math.NaN(), math.NaN()}
}

// warningsOf names the terms that are more than 2.5 prior spreads away from the measured kernels. By chance that happens to one in eighty, so
// something else is probably wrong: a throttled GPU, eager mode, or a wrong format in the environment.
func warningsOf(fit regression.Fit) []string {
	var all []string
	priors := CalibrationPriors()
	for _, term := range fit.Terms {
		if away := math.Abs(math.Log(fit.Scales[term])) / priors[term]; away > 2.5 {
			all = append(all, fmt.Sprintf("%s: %.2f times as long as predicted is %.1f spreads away; before you trust it, ask \"tidemark diagnose\" what is wrong",
				term, fit.Scales[term], away))
		}
	}
	return all
}
