package plot

import (
	"math"
	"strconv"
	"strings"
)

// scale places values between two pixels.
type scale struct {
	from, to   float64 // values, or their logarithms
	start, end float64 // pixels
	isLog      bool
}

func (s scale) at(v float64) float64 {
	if s.isLog {
		if v <= 0 {
			return math.NaN()
		}
		v = math.Log10(v)
	}
	return s.start + (v-s.from)/(s.to-s.from)*(s.end-s.start)
}

// reach is the smallest and the largest of values that an axis can show.
type reach struct{ low, high float64 }

func newReach() reach { return reach{math.Inf(1), math.Inf(-1)} }

func (r *reach) add(v float64, a Axis) {
	if isFinite(v) && (!a.IsLog || v > 0) {
		r.low, r.high = math.Min(r.low, v), math.Max(r.high, v)
	}
}

// laid is an axis with its ends and labels.
type laid struct {
	from, to float64
	ticks    []Tick
}

// lay chooses ends and labels. isOpen lets the axis end at the next label above the data and not at the data's own end.
func (a Axis) lay(r reach, labels int, isOpen bool) laid {
	if r.low > r.high {
		r = reach{0, 1}
	}
	if a.IsLog {
		return a.layLog(r)
	}
	l := laid{from: math.Min(0, r.low), to: r.high, ticks: a.Ticks}
	if a.IsZoomed {
		span := math.Max(r.high-r.low, math.Abs(r.high)*1e-3)
		l.from, l.to = r.low-0.06*span, r.high+0.06*span
	}
	if a.From != 0 {
		l.from = a.From
	}
	if a.To > 0 {
		l.to = a.To
	}
	if l.to <= l.from {
		l.to = l.from + 1
	}
	if len(a.Ticks) > 0 {
		return l
	}
	per := a.per()
	step := niceStep((l.to-l.from)/per/float64(labels), a.IsWhole)
	if isOpen && a.To == 0 && !a.IsZoomed {
		l.to = math.Ceil(l.to/per/step-1e-9) * step * per
		l.from = math.Floor(l.from/per/step+1e-9) * step * per
	}
	for i := math.Ceil(l.from/per/step - 1e-9); i*step <= l.to/per+step*1e-6; i++ {
		l.ticks = append(l.ticks, Tick{At: i * step * per, Text: label(i*step, step)})
	}
	return l
}

func (a Axis) per() float64 {
	if a.Per > 0 {
		return a.Per
	}
	return 1
}

// layLog labels powers of ten, and 2 and 5 times them where there are few.
func (a Axis) layLog(r reach) laid {
	l := laid{from: math.Floor(math.Log10(r.low) + 1e-9), to: math.Ceil(math.Log10(r.high) - 1e-9)}
	if l.to <= l.from {
		l.to = l.from + 1
	}
	factors := []float64{1}
	if l.to-l.from <= 2 {
		factors = []float64{1, 2, 5}
	}
	for k := l.from; k <= l.to; k++ {
		for _, f := range factors {
			v := f * math.Pow(10, k)
			if math.Log10(v) <= l.to+1e-9 {
				l.ticks = append(l.ticks, Tick{At: v, Text: label(v/a.per(), math.Pow(10, k)/a.per())})
			}
		}
	}
	return l
}

// niceStep is the next of 1, 2, 5, 10, ... at or above the least.
func niceStep(least float64, isWhole bool) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	step := 10 * power
	for _, f := range []float64{1, 2, 5} {
		if f*power >= least*(1-1e-9) {
			step = f * power
			break
		}
	}
	if isWhole {
		step = math.Max(1, step)
	}
	return step
}

// label writes a round number with as many decimals as its step has: 0.25, 12, 1,500, −2.
func label(v, step float64) string {
	if math.Abs(v) < step/1e6 {
		return "0"
	}
	decimals := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	if step >= 1 {
		decimals = 0
	}
	written := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	whole, part, hasPart := strings.Cut(written, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if hasPart {
		whole += "." + part
	}
	if v < 0 && strings.Trim(whole, "0.,") != "" {
		whole = "−" + whole
	}
	return whole
}
