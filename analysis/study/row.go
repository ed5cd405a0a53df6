//go:build duckdb_arrow

package study

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tidemark/analysis/regression"
)

// Interval is a figure over the repeats with its 90 % interval. High is +Inf where no limit was found.
type Interval struct{ Value, Low, High float64 }

// Overlaps says that two intervals have a value in common: then no difference is shown. Of measurements on a grid of rates the upper end is
// the rate that was missed, and does not belong to the interval.
func (i Interval) Overlaps(o Interval) bool {
	isSame := math.Abs(i.Low-o.Low) <= rounding*i.Low && math.Abs(i.High-o.High) <= rounding*i.High
	return i.Low < o.High*(1-rounding) && o.Low < i.High*(1-rounding) || isSame || i == o
}

// rounding is what the mean of logarithms may be off by: ends that differ by less only touch, and a change that is less is none.
const rounding = 1e-9

// times is a change where the thing that changed is multiplied.
func (i Interval) times(f float64) Interval {
	return Interval{(1+i.Value)*f - 1, (1+i.Low)*f - 1, (1+i.High)*f - 1}
}

// over is i / o less one, at least and at most.
func (i Interval) over(o Interval) Interval {
	return Interval{less1(i.Value / o.Value), less1(i.Low / o.High), less1(i.High / o.Low)}
}

// less1 is a ratio as a change.
func less1(ratio float64) float64 {
	if math.Abs(ratio-1) < rounding {
		return 0
	}
	return ratio - 1
}

// Row is a configuration over its repeats, beside the baseline.
type Row struct {
	Step     string    `json:"step"`
	Name     string    `json:"configuration"`
	Settings []string  `json:"settings"` // that differ from the baseline
	Origin   string    `json:"origin"`
	GPU      string    `json:"gpu,omitempty"` // empty: not said
	Model    string    `json:"model,omitempty"`
	Repeats  []Measure `json:"repeats"`

	Rate     *float64 `json:"rate_per_s"` // largest within the SLO; nil: none was
	RateLow  *float64 `json:"rate_low_per_s"`
	RateHigh *float64 `json:"rate_high_per_s"` // nil: no limit was found
	Change   *float64 `json:"rate_change_ratio"`
	Least    *float64 `json:"rate_change_low_ratio"`
	Most     *float64 `json:"rate_change_high_ratio"`
	IsShown  *bool    `json:"is_difference_shown"` // nil: of the baseline
	Binding  string   `json:"binding_objective"`
	Users    *float64 `json:"users"`
	KVTokens *float64 `json:"kv_tokens"` // of one replica; nil: no model of it

	TTFT       *float64 `json:"p99_ttft_s"` // means over the repeats
	TPOT       *float64 `json:"p99_tpot_s"`
	ITL        *float64 `json:"p99_itl_s"`
	TTFTChange *float64 `json:"p99_ttft_change_ratio"`
	TPOTChange *float64 `json:"p99_tpot_change_ratio"`
	ITLChange  *float64 `json:"p99_itl_change_ratio"`

	GPUs   int      `json:"gpus"`
	PerGPU *float64 `json:"rate_per_gpu_per_s"`
	Linear *float64 `json:"linear_ratio"` // rate per GPU over the baseline's; nil: as many GPUs
	USD    *float64 `json:"usd_per_million_accepted"`
	PerJ   *float64 `json:"token_per_joule"` // output tokens; nil: a repeat has no measured power
	Why    string   `json:"why,omitempty"`

	IsControl bool `json:"is_control"`
}

// NewRow puts the repeats of a configuration together.
func NewRow(s Step, c Configuration, kvTokens int, repeats []Measure) Row {
	r := Row{Step: s.Name, Name: c.Name, Settings: c.Settings, GPU: c.Deployment.GPU, Model: c.Deployment.CatalogModel, Repeats: repeats, GPUs: max(c.GPUs(), 1), IsControl: s.IsControl}
	if kvTokens > 0 {
		r.KVTokens = new(float64(kvTokens))
	}
	var unanswered []string
	for i, m := range repeats {
		r.Origin, r.Why = cmp.Or(r.Origin, m.Origin), cmp.Or(r.Why, m.Why)
		if !m.IsAnswered() && m.Why != "" && len(repeats) > 1 {
			unanswered = append(unanswered, fmt.Sprintf("repeat %d: %s", i+1, m.Why))
		}
	}
	if len(unanswered) > 0 {
		r.Why = "no answer of " + strings.Join(unanswered, "; ")
	}
	r.Binding = mostFrequent(repeats)
	mean := func(of func(Measure) *float64) *float64 {
		if i, is := r.interval(of, 0.95); is {
			return &i.Value
		}
		return nil
	}
	r.Users, r.USD = mean(func(m Measure) *float64 { return m.Users }), mean(func(m Measure) *float64 { return m.USD })
	r.PerJ = mean(func(m Measure) *float64 { return m.PerJ })
	r.TTFT, r.TPOT, r.ITL = mean(ofTTFT), mean(ofTPOT), mean(ofITL)
	if i := r.rate(0.95); len(r.answered()) > 0 {
		r.RateLow, r.RateHigh = &i.Low, finite(i.High)
		if i.Value > 0 {
			perGPU := i.Value / float64(r.GPUs)
			r.Rate, r.PerGPU = &i.Value, &perGPU
		}
	}
	return r
}

// answered are the repeats that are a measurement.
func (r Row) answered() []Measure {
	return slices.DeleteFunc(slices.Clone(r.Repeats), func(m Measure) bool { return !m.IsAnswered() })
}

func finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

func ofTTFT(m Measure) *float64 { return m.TTFT }
func ofTPOT(m Measure) *float64 { return m.TPOT }
func ofITL(m Measure) *float64  { return m.ITL }

func mostFrequent(repeats []Measure) (binding string) {
	n := map[string]int{}
	for _, m := range repeats {
		n[m.Binding]++
	}
	for _, name := range slices.Sorted(maps.Keys(n)) {
		if name != "" && (binding == "" || n[name] > n[binding]) {
			binding = name
		}
	}
	return binding
}

// rate is the largest rate within the SLO. Of one repeat the interval is its own. Of several it is Student's, of ln of the rates: low and high
// ends have their own where a repeat knows its limit only to a step of its rates. level is the chance that the true one lies below the high end.
func (r Row) rate(level float64) Interval {
	var lows, highs, rates []float64
	repeats := r.answered()
	for _, m := range repeats {
		low, high := m.Low, math.Inf(1)
		if m.High != nil {
			high = *m.High
		}
		value := m.Low
		if m.Rate != nil {
			value = *m.Rate
			if len(repeats) > 1 { // how far its own draws reach is in how the repeats differ
				low, high = value, value
			}
		}
		lows, highs, rates = append(lows, low), append(highs, high), append(rates, value)
	}
	low, _ := student(lows, level)
	_, high := student(highs, level)
	return Interval{geometric(rates), low, high}
}

// compared is the rate with what it can show: one repeat over rates shows nothing, since the next may end a step lower or higher.
func (r Row) compared(level float64) Interval {
	i := r.rate(level)
	if repeats := r.answered(); len(repeats) == 1 && repeats[0].Rate == nil {
		return Interval{i.Value, 0, math.Inf(1)}
	}
	return i
}

// figures that rows are compared by.
var figures = map[string]func(Measure) *float64{
	"rate":     func(m Measure) *float64 { return m.Rate },
	"cost":     func(m Measure) *float64 { return m.USD },
	"p99_ttft": ofTTFT,
	"p99_tpot": ofTPOT,
	"p99_itl":  ofITL,
}

// change is by how much a figure differs from another row's, and whether the repeats show a difference. Traffic differs more from draw to draw
// than configurations do from each other. So rows of the same draws are compared draw by draw: a difference is shown where the interval of
// their ratio does not hold 1. Other rows show one where their intervals do not overlap.
func (r Row) change(metric string, other Row, level float64) (change Interval, isShown, isKnown bool) {
	if ratios := r.ratios(figures[metric], other); len(ratios) > 1 {
		low, high := student(ratios, level)
		change := Interval{less1(geometric(ratios)), less1(low), less1(high)}
		return change, change.Low > 0 || change.High < 0, true
	}
	mine, has := r.figure(metric, level)
	theirs, alsoHas := other.figure(metric, level)
	if !has || !alsoHas || mine.Value == 0 && theirs.Value == 0 {
		return Interval{}, false, false
	}
	return mine.over(theirs), !mine.Overlaps(theirs), true
}

// ratios of a figure, draw by draw; nil where two rows are not of the same draws. Nobody knows the draws of results of other tools.
func (r Row) ratios(of func(Measure) *float64, other Row) (ratios []float64) {
	if r.IsControl != other.IsControl || len(r.Repeats) != len(other.Repeats) {
		return nil
	}
	for i := range r.Repeats {
		if !r.Repeats[i].IsAnswered() || !other.Repeats[i].IsAnswered() {
			continue
		}
		a, b := of(r.Repeats[i]), of(other.Repeats[i])
		if a == nil || b == nil || !(*a > 0 && *b > 0) || r.Repeats[i].Origin == "imported" || r.Repeats[i].Origin != other.Repeats[i].Origin {
			return nil
		}
		ratios = append(ratios, *a / *b)
	}
	return ratios
}

// figure is known also where the smallest rate that was sent missed the SLO: then the largest within it is below that one.
func (r Row) figure(metric string, level float64) (Interval, bool) {
	if metric != "rate" {
		return r.interval(figures[metric], level)
	}
	i := r.compared(level)
	return i, len(r.answered()) > 0 && (i.Value > 0 || i.High > 0 && !math.IsInf(i.High, 1))
}

// interval of a figure over the repeats; false: a repeat lacks it. One repeat alone has no interval: its ends are 0 and +Inf.
func (r Row) interval(of func(Measure) *float64, level float64) (Interval, bool) {
	var values []float64
	for _, m := range r.answered() {
		v := of(m)
		if v == nil {
			return Interval{}, false
		}
		values = append(values, *v)
	}
	switch len(values) {
	case 0:
		return Interval{}, false
	case 1:
		return Interval{values[0], 0, math.Inf(1)}, true
	}
	low, high := student(values, level)
	return Interval{geometric(values), low, high}, true
}

// student is the interval of the geometric mean; of one value it is that value.
func student(values []float64, level float64) (low, high float64) {
	n, mean := float64(len(values)), geometric(values)
	if n == 1 {
		return values[0], values[0]
	}
	if n == 0 || mean == 0 || math.IsInf(mean, 0) {
		return mean, mean
	}
	squares := 0.0
	for _, v := range values {
		squares += math.Pow(math.Log(v/mean), 2)
	}
	half := regression.StudentT(level, n-1) * math.Sqrt(squares/(n-1)/n)
	return mean * math.Exp(-half), mean * math.Exp(half)
}

// geometric mean; 0 where a value is 0.
func geometric(values []float64) float64 {
	if len(values) == 1 {
		return values[0]
	}
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// Beside fills in what differs from the baseline.
func (r *Row) Beside(base Row) {
	change := func(mine, theirs *float64) *float64 {
		if mine == nil || theirs == nil || *theirs == 0 {
			return nil
		}
		ratio := *mine / *theirs - 1
		return &ratio
	}
	r.TTFTChange, r.TPOTChange, r.ITLChange = change(r.TTFT, base.TTFT), change(r.TPOT, base.TPOT), change(r.ITL, base.ITL)
	if r.GPUs != base.GPUs && r.PerGPU != nil && base.PerGPU != nil {
		ratio := *r.PerGPU / *base.PerGPU
		r.Linear = &ratio
	}
	if of, isShown, isKnown := r.change("rate", base, 0.95); isKnown {
		r.IsShown, r.Change, r.Least, r.Most = &isShown, finite(of.Value), finite(of.Low), finite(of.High)
	}
}
