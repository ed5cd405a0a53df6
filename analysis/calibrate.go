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

// Calibration is what runs of one deployment say of its constants.
type Calibration struct {
	ID         int64 // once it is kept
	MadeAt     time.Time
	Runs       []string
	Deployment deployment.Deployment
	Constants  []CalibratedConstant // in the order of terms; those that keep their value too
	Requests   int64                // that were compared
	Weight     float64              // independent measurements among them
	// Median and bias of predicted over measured time, of the measurements themselves, before and after.
	Before, After FitError
	Warnings      []string
}

// CalibratedConstant is one constant for one format. One that the runs cannot tell has the value that it had.
type CalibratedConstant struct {
	Term, Name, Format       string
	Before, Value, Low, High float64
	Held                     string // why it keeps its value; empty: it is new
}

// FitError is how far predictions are off, weighted as the fit is: median of |predicted / measured - 1|, and the mean with its sign.
type FitError struct{ Median, Bias float64 }

// constantsOf are the constants behind each term, how far the logarithm of its time may be from that of the measured kernels, and
// whether a constant is in the term as a rate: half of it takes twice the time.
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

// CalibrationPriors are how far each term of a deployment may be from its prediction before anything was measured: the spread
// of the logarithm.
func CalibrationPriors() map[string]float64 {
	priors := map[string]float64{}
	for _, c := range constantsOf {
		priors[c.term] = c.spread
	}
	return priors
}

const leastCalibrationRequests = 30

// Calibrate fits the constants of a deployment to runs of it. It keeps nothing: Keep does.
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
	first := read.deployments[0]
	priors := CalibrationPriors()
	if first.IsKVByArithmetic {
		delete(priors, "kv")
	}
	fit, held, err := regression.FitIdentifiable(read.rows, priors)
	if err != nil {
		return Calibration{}, fmt.Errorf("calibrate: %w", err)
	}
	if len(fit.Terms) == 0 {
		return Calibration{}, nothingTold(held)
	}
	c := Calibration{
		MadeAt: now.UTC(), Runs: runs, Requests: read.requests, Weight: fit.Weight,
		Deployment: deployment.Deployment{
			GPU: first.GPU, CatalogModel: first.CatalogModel, TensorParallelSize: int(first.TensorParallelSize),
			ExpertParallelSize: int(first.ExpertParallelSize), DataParallelSize: int(first.DataParallelSize), Quantization: first.Quantization,
			KVCacheDtype: first.KVCacheDtype, Engine: first.Engine, EngineVersion: first.EngineVersion.String,
		},
		Before: errorOf(read.rows, nil), After: errorOf(read.rows, fit.Scales),
	}
	c.Constants = constantsFrom(fit, held, read)
	c.Warnings = append(warnings, warningsOf(fit)...)
	return c, nil
}

// IsWorse reports that the fitted constants predict the runs themselves worse than those before: what is off is no constant.
func (c Calibration) IsWorse() bool { return c.After.Median > c.Before.Median }

func nothingTold(held map[string]string) error {
	var reasons []string
	for _, term := range slices.Sorted(maps.Keys(held)) {
		reasons = append(reasons, term+" "+held[term])
	}
	return hint.Errorf("calibrate: no constant can be told from these runs: %s", strings.Join(reasons, "; ")).
		Hint("add a run of the same deployment at another batch, context or length of prompts")
}

// constantsFrom turns scales of times into values of constants, in each format that the deployment uses.
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

func (c calibrated) constant(name, format string) float64 {
	if value, ok := c.constants[name][format]; ok {
		return value
	}
	return c.constants[name]["bf16"]
}

// errorOf is how far the sum of the terms, each as many times as long as scales say, is from what was measured.
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

// warningsOf names what is further from the measured kernels than calibrating is for.
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
