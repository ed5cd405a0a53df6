package week

import (
	"context"
	"math"
	"time"
)

// hourBinsPerOctave is the scale on which the lengths of single hours are kept, for the intervals of a week's quantiles: 2.2 % a bin.
const hourBinsPerOctave = 32

// lengthsOfHours fills the lengths of each hour on that scale: pairs of a bin and its requests.
func (a adder) lengthsOfHours(ctx context.Context, d *demand) error {
	place := map[int]*demandHour{}
	for i := range d.Hours {
		place[d.Hours[i].Place] = &d.Hours[i]
	}
	for column, into := range map[string]func(h *demandHour) *[][2]int64{
		"input_tokens":  func(h *demandHour) *[][2]int64 { return &h.InputBins },
		"output_tokens": func(h *demandHour) *[][2]int64 { return &h.OutputBins },
	} {
		if err := a.binsOfHours(ctx, column, func(hour int, bin [2]int64) {
			bins := into(place[hour])
			*bins = append(*bins, bin)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (a adder) binsOfHours(ctx context.Context, column string, each func(hour int, bin [2]int64)) error {
	rows, err := a.conn.QueryContext(ctx, `select since_ns // 3_600_000_000_000 as hour, round(32 * log2(greatest(`+column+`, 1)))::bigint as bin, count(*)
from week_rows
where is_measured
group by all
order by all`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var hour int
		var bin [2]int64
		if err := rows.Scan(&hour, &bin[0], &bin[1]); err != nil {
			return err
		}
		each(hour, bin)
	}
	return rows.Err()
}

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
