package regression

import (
	"math"
	"math/rand/v2"
	"testing"

	"tidemark/internal/proof/must"
)

var fitPriors = map[string]float64{"weights": 0.06, "kv": 0.06, "layers": 0.1, "sequences": 0.7, "prefill": 0.2}

// measuredRows are a server's steps at batches of 1 to 256 whose terms are scaled by the truth, with noise.
func measuredRows(truth map[string]float64, noise float64) []Row {
	draw := rand.New(rand.NewPCG(1, 2))
	var rows []Row
	for i := range 60 {
		batch := math.Pow(2, float64(i%9))
		context := 500 * float64(1+i%4)
		row := Row{Run: "a", Terms: map[string]float64{
			"weights": 15e-3, "kv": batch * context * 32e-9, "layers": 3.3e-3, "sequences": batch * 20e-6,
			"prefill": batch * 50e-6 * float64(i%3), "allreduce": 0.4e-3,
		}}
		for term, seconds := range row.Terms {
			scale, isOff := truth[term]
			if !isOff {
				scale = 1
			}
			row.TPOT += seconds * scale
		}
		row.TPOT *= math.Exp(noise * draw.NormFloat64())
		rows = append(rows, row)
	}
	return rows
}

func TestScalesAreFoundBack(t *testing.T) {
	truth := map[string]float64{"weights": 1.05, "sequences": 3, "prefill": 0.7}
	fit := must.Get(FitScales(measuredRows(truth, 0.01), fitPriors))(t)
	for term, scale := range truth {
		if i := fit.Intervals[term]; scale < i[0] || scale > i[1] {
			t.Errorf("%s: truly %v, the interval is %v", term, scale, i)
		}
		if got := fit.Scales[term]; math.Abs(got/scale-1) > 0.05 {
			t.Errorf("%s: got %v, truly %v", term, got, scale)
		}
	}
	if fit.Scales["allreduce"] != 1 {
		t.Errorf("a term without a prior moved to %v", fit.Scales["allreduce"])
	}
	if fit.Residual < 0.008 || fit.Residual > 0.015 {
		t.Errorf("a noise of 1 %% was found as %v", fit.Residual)
	}
}

// One row of 20 ms predicted, 22 ms measured: ln 1.1 = 0.0953 is shared out by what each term may move.
// Terms of 10 ms with spreads 0.1 and 0.2 move the sum by 0.05 and 0.1, its own error is 0.0316 with
// that of the restart: shares of the variance are 0.0025, 0.01 and 0.001 of 0.0135. So the first is
// off by 0.0953 * 0.0025/0.0135/0.5 = 0.035, the second by 0.141, a bit less as the steps get flatter.
func TestOneMeasurementIsSharedOutBySpreads(t *testing.T) {
	rows := []Row{{TPOT: 22e-3, Terms: map[string]float64{"a": 10e-3, "b": 10e-3}}}
	fit := must.Get(FitScales(rows, map[string]float64{"a": 0.1, "b": 0.2}))(t)
	for term, want := range map[string]float64{"a": 0.035, "b": 0.141} {
		if got := math.Log(fit.Scales[term]); math.Abs(got-want) > 0.012 {
			t.Errorf("%s: moved by %v, want %v", term, got, want)
		}
	}
	if fit.Correlation[0][1] > -0.5 {
		t.Errorf("terms known by their sum alone have a correlation of %v", fit.Correlation[0][1])
	}
}

func TestFarRowsHardlyCount(t *testing.T) {
	rows := measuredRows(map[string]float64{"weights": 1.05}, 0.01)
	clean := must.Get(FitScales(rows, fitPriors))(t)
	for i := range 5 {
		rows[i*7].TPOT *= 3
	}
	dirty := must.Get(FitScales(rows, fitPriors))(t)
	if a, b := clean.Scales["weights"], dirty.Scales["weights"]; math.Abs(a/b-1) > 0.01 {
		t.Errorf("five rows of 60 three times too long moved the weights from %v to %v", a, b)
	}
}

func TestFitRefusesWhatIsNoMeasurement(t *testing.T) {
	terms := map[string]float64{"weights": 1e-3}
	for _, test := range []struct {
		rows   []Row
		priors map[string]float64
		want   string
	}{
		{nil, nil, "no measurements"},
		{[]Row{{TPOT: 0, Terms: terms}}, nil, "measurement 1: a time per token of 0 s"},
		{[]Row{{TPOT: math.NaN(), Terms: terms}}, nil, "a time per token of NaN s"},
		{[]Row{{TPOT: 1, Terms: nil}}, nil, "no predicted terms"},
		{[]Row{{TPOT: 1, Terms: terms, Weight: -1}}, nil, "a weight of -1"},
		{[]Row{{TPOT: 1, Terms: map[string]float64{"kv": math.Inf(1)}}}, nil, "kv of +Inf s"},
		{[]Row{{TPOT: 1, Terms: terms}}, map[string]float64{"weights": 0}, "prior of weights: 0"},
	} {
		must.Refuse(FitScales(test.rows, test.priors))(t, test.want)
	}
}
