//go:build duckdb_arrow

package privacy

import (
	"math"
	"strconv"
)

// published is what the manifest says about the loss. The exact figures are for
// the owner of the trace only: from an exact quantile or mean before and after,
// a reader could compute a length that the rules removed. So lengths before the
// export are those of the rungs, cut at the top like the export, quantiles are
// left out where fewer than k requests lie beyond them, and shares are rounded
// to 1 %. A trace has its lengths on the rungs, so nothing remains to be said
// about them.
func (e *export) published() Loss {
	l := e.result.Loss
	l.InputKS, l.OutputKS = toPercent(l.InputKS), toPercent(l.OutputKS)
	l.InputShift, l.OutputShift = nil, nil
	l.ThinkMeanBefore = changedBy(l.ThinkMeanBefore, twoDigits)
	l.ThinkMeanAfter = changedBy(l.ThinkMeanAfter, twoDigits)
	if l.ThinkMeanAfter == nil || e.Form == "histogram" {
		l.ThinkMeanBefore, l.ThinkMeanAfter = nil, nil
	}
	if e.Form == "histogram" {
		l.InputShift, l.OutputShift = e.publishedShifts(inputSide), e.publishedShifts(outputSide)
	}
	for _, ratio := range []**float64{&l.ReusedBefore, &l.ReusedAfter} {
		*ratio = changedBy(*ratio, toPercent)
	}
	for _, index := range []**float64{&l.DispersionBefore, &l.DispersionAfter} {
		*index = changedBy(*index, twoDigits)
	}
	return l
}

// publishedShifts compares the rungs of single requests with the cells that
// they were merged into.
func (e *export) publishedShifts(side func(Cell) (from, until int32)) map[string]float64 {
	single := make([]Cell, len(e.trace.Rows))
	for i, row := range e.trace.Rows {
		in, out := int32(rungOf(row.Input)), int32(rungOf(row.Output))
		single[i] = Cell{InFrom: in, InUntil: in + 1, OutFrom: out, OutUntil: out + 1, Requests: 1}
	}
	before, after := spreadCells(single, side), spreadCells(e.cells, side)
	by := shifts(before, after, before.mean(), after.mean())
	for name, share := range shares {
		if (1-share)*float64(len(single)) < float64(e.K)-1e-9 {
			delete(by, name)
		}
	}
	for name := range by {
		by[name] = toPercent(by[name])
	}
	return by
}

func toPercent(v float64) float64 { return math.Round(v*100) / 100 }

// twoDigits rounds to two significant figures.
func twoDigits(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64) // what was written can be read
	return short
}

func changedBy(v *float64, change func(float64) float64) *float64 {
	if v == nil {
		return nil
	}
	return new(change(*v))
}
