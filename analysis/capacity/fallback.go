package capacity

import (
	"math"
	"strings"

	"tidemark/analysis/metric"
	"tidemark/analysis/regression"
	"tidemark/internal/stat"
)

// Without a usable twin: runs of the whole window, and a line of ln(quantile / bound) over ln of the multiple.
const (
	fallbackWidth    = 0.6 // of the weights, in ln(quantile / bound)
	fallbackSlope    = 4.0 // toward which the slope is drawn
	fallbackLeast    = 1.0
	fallbackSpread   = 0.3 // prior residual
	fallbackFreedom  = 3.0
	fallbackPrecise  = 0.10           // as ln1p: more is not offered
	whyFallback      = "whole window" // a kept search may have more words behind it
	slopePriorWeight = 0.05           // of the slope's prior, in squared ln of the multiple
)

// fallback is weak: its intervals are wide, and half of them hold no truth where runs are few.
func (s *search) fallback(runs []*Run, twin *estimate) (*Run, *Answer, error) {
	e := s.fallbackEstimate(runs)
	why := "no model fits, and the runs of the whole window are too few: " + twin.misfit
	if e != nil {
		wanted := math.Log1p(math.Max(s.q.Precision, fallbackPrecise))
		if e.half() <= wanted {
			a := s.answer(Found, e, "")
			a.IsWeak, a.Shares, a.Curve = true, []ShareAt{}, []CurveAt{}
			a.Notes = append(a.Notes, "weak: no model fits ("+twin.misfit+"), so that the answer is a line through runs of the whole window")
			return nil, a, nil
		}
	}
	ln := twin.ln
	if e != nil {
		ln = e.ln
	}
	scale := math.Exp(math.Max(math.Log(s.q.MinScale), math.Min(ln, math.Log(s.q.MaxScale))))
	if s.q.length(scale) <= s.left() {
		r, err := s.newRun(whyFallback+": the model does not fit", math.Min(scale, mostGrowth*runs[len(runs)-1].Scale), s.q.length(scale), nil)
		if r != nil || err != nil {
			return r, nil, err
		}
	}
	if e == nil {
		wide := *twin
		wide.low, wide.high = math.Min(wide.low, twin.ln-0.7), math.Max(wide.high, twin.ln+0.7)
		e = &wide
	}
	a := s.answer(Undecided, e, why)
	a.Shares, a.Curve = []ShareAt{}, []CurveAt{}
	return nil, a, nil
}

// fallbackEstimate is nil with fewer than three runs of the whole window.
func (s *search) fallbackEstimate(runs []*Run) *estimate {
	var whole []*Run
	for _, r := range runs {
		if strings.HasPrefix(r.Why, whyFallback) {
			whole = append(whole, r)
		}
	}
	if len(whole) < 3 {
		return nil
	}
	e := &estimate{of: make([]ofObjective, len(s.q.Objectives)), ln: math.Inf(1), low: math.Inf(1), high: math.Inf(1), runs: whole}
	for j, o := range s.q.Objectives {
		if o.Metric == metric.FailureRatio {
			continue
		}
		of := &e.of[j]
		of.line(o, j, whole)
		of.gain = 1
		if of.ln < e.ln {
			e.ln, e.binding = of.ln, j
		}
		e.low, e.high = math.Min(e.low, of.low), math.Min(e.high, of.high)
	}
	return e
}

// line is where ln(quantile / bound) is 0.
func (of *ofObjective) line(o Objective, j int, runs []*Run) {
	var w, x, y []float64
	for _, r := range runs {
		values := o.values(r.requests, r.replies, cutOf(r))
		at := stat.Quantile(values, o.Quantile)
		if o.Quantile == 0 && len(values) > 0 {
			at = r.reading.tallies[j].sum / float64(len(values))
		}
		if v := math.Log(at / o.AtMost); !math.IsNaN(v) && !math.IsInf(v, 0) {
			x, y, w = append(x, math.Log(r.Scale)), append(y, v), append(w, math.Exp(-v*v/fallbackWidth/fallbackWidth)+1e-6)
		}
	}
	var sum, meanX, meanY, squares float64
	for i := range x {
		sum, meanX, meanY, squares = sum+w[i], meanX+w[i]*x[i], meanY+w[i]*y[i], squares+w[i]*w[i]
	}
	if sum == 0 {
		of.ln, of.low, of.high = math.Inf(1), math.Inf(-1), math.Inf(1)
		return
	}
	meanX, meanY = meanX/sum, meanY/sum
	xx, xy := slopePriorWeight, slopePriorWeight*fallbackSlope
	for i := range x {
		xx, xy = xx+w[i]*(x[i]-meanX)*(x[i]-meanX), xy+w[i]*(x[i]-meanX)*(y[i]-meanY)
	}
	slope := math.Max(xy/xx, fallbackLeast)
	n, spread := sum*sum/squares, fallbackFreedom*fallbackSpread*fallbackSpread
	for i := range x {
		d := y[i] - meanY - slope*(x[i]-meanX)
		spread += w[i] * d * d
	}
	of.freedom = fallbackFreedom + math.Max(n-1, 0)
	of.ln = meanX - meanY/slope
	of.se = math.Sqrt(spread/of.freedom*(1/n+(of.ln-meanX)*(of.ln-meanX)/xx)) / slope
	half := regression.StudentT95(of.freedom) * of.se
	of.low, of.high = of.ln-half, of.ln+half
}
