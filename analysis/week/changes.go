package week

import (
	"math"
	"time"
)

// hourBinsPerOctave is the scale on which the lengths of single hours are kept, for the intervals of a week's quantiles: 2.2 % a bin.
const hourBinsPerOctave = 32

// fillChanges compares the week with the one before: headline figures, and quantiles of the lengths.
func (m *maker) fillChanges(last *weekOf) {
	r := m.report
	this, before := m.side(&m.weeks[len(m.weeks)-1], r.Steps), m.side(last, m.stepsBefore)
	this.Within, before.Within = middles(m.within), middles(m.withinBefore)
	r.Changes = Changes(this, before, r.Deployment.GPUsPerReplica)
	told := map[string]Quantile{}
	for _, q := range LengthChanges(this, before) {
		told[q.Name] = q
	}
	// The quantiles of the whole week are exact; how far their change may be off comes from the hours.
	for i, q := range r.Shape.Quantiles {
		if by, isKnown := told[q.Name]; isKnown && q.Ratio != nil && by.Ratio != nil && by.Low != nil && by.High != nil {
			shift := (1 + *q.Ratio) / (1 + *by.Ratio)
			r.Shape.Quantiles[i].Low, r.Shape.Quantiles[i].High = new((1+*by.Low)*shift-1), new((1+*by.High)*shift-1)
		}
	}
}

// middles are the middles of shares within the SLO.
func middles(shares hourShares) map[time.Time]float64 {
	if shares == nil {
		return nil
	}
	all := map[time.Time]float64{}
	for at, share := range shares {
		all[at] = share.middle
	}
	return all
}

func (m *maker) side(w *weekOf, steps []StepTime) Side {
	s := Side{Hours: w.hours, Steps: steps}
	for _, h := range w.demand.Hours {
		if h.Place >= len(w.hours) || w.hours[h.Place].IsMissing {
			continue
		}
		at := w.hours[h.Place].Start
		s.Input, s.Output = append(s.Input, hourLengths(at, h.InputBins)), append(s.Output, hourLengths(at, h.OutputBins))
	}
	return s
}

func hourLengths(at time.Time, bins [][2]int64) HourLengths {
	l := HourLengths{Start: at}
	for _, bin := range bins {
		l.Lengths = append(l.Lengths, LengthCount{Tokens: math.Exp2(float64(bin[0]) / hourBinsPerOctave), Requests: bin[1]})
	}
	return l
}
