package week

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/internal/show"
)

// Drift: is the hardware slower than in the weeks before, or the traffic heavier? A week's change of the time per token is a product:
//
//	measured now / then = predicted now / then  *  (measured over predicted) now / then
//	                      what the traffic does    what the hardware does, at the same batch and context
//
// Hours are compared with the same local hour of the weeks before, which have similar loads, so that an error of the model cancels; only what
// the error depends on the load remains. Days are the blocks: hours of one day are alike, days are not.

// studentT is the 95th percentile of Student's t with 2 to 6 degrees of freedom: for 90 % intervals of the mean of 3 to 7 days.
var studentT = [...]float64{2.920, 2.353, 2.132, 2.015, 1.943}

// DriftOf compares a week's hours with those of earlier weeks; nil if fewer than three days can be compared. A zone decides which hours are the
// same.
func DriftOf(this []StepTime, before [][]StepTime, zone *time.Location) *Drift {
	type logs struct{ measured, predicted, n float64 }
	then := map[int]*logs{}
	weeks := 0
	for _, week := range before {
		if len(week) > 0 {
			weeks++
		}
		for _, s := range week {
			at := hourOfWeek(s.Start, zone)
			if then[at] == nil {
				then[at] = &logs{}
			}
			then[at].measured += math.Log(s.Measured)
			then[at].predicted += math.Log(s.Predicted)
			then[at].n++
		}
	}
	var measured, traffic, hardware days
	hours := 0
	for _, s := range this {
		old := then[hourOfWeek(s.Start, zone)]
		if old == nil {
			continue
		}
		hours++
		day := s.Start.In(zone).Format(time.DateOnly)
		all, load := math.Log(s.Measured)-old.measured/old.n, math.Log(s.Predicted)-old.predicted/old.n
		measured.add(day, all)
		traffic.add(day, load)
		hardware.add(day, all-load)
	}
	if len(measured.order) < fewestDays {
		return nil
	}
	d := &Drift{Weeks: weeks, Hours: hours, Measured: measured.change(), Traffic: traffic.change(), Hardware: hardware.change()}
	d.Sentence = d.sentence()
	return d
}

// hourOfWeek is 0 for Monday 00:00 in the zone. The hour that a clock change doubles has one number.
func hourOfWeek(at time.Time, zone *time.Location) int {
	local := at.In(zone)
	return (int(local.Weekday())+6)%7*24 + local.Hour()
}

// days are values of hours, kept by day.
type days struct {
	order []string
	of    map[string][]float64
}

func (d *days) add(day string, value float64) {
	if d.of == nil {
		d.of = map[string][]float64{}
	}
	if !slices.Contains(d.order, day) {
		d.order = append(d.order, day)
	}
	d.of[day] = append(d.of[day], value)
}

// interval is the mean of the days' means with its 90 % interval; the ends are NaN below three days.
func (d days) interval() (mean, low, high float64) {
	var means []float64
	for _, day := range d.order {
		sum := 0.0
		for _, value := range d.of[day] {
			sum += value
		}
		means = append(means, sum/float64(len(d.of[day])))
	}
	n := float64(len(means))
	for _, m := range means {
		mean += m / n
	}
	if len(means) < fewestDays {
		return mean, math.NaN(), math.NaN()
	}
	squares := 0.0
	for _, m := range means {
		squares += (m - mean) * (m - mean)
	}
	t := studentT[min(len(means)-fewestDays, len(studentT)-1)]
	half := t * math.Sqrt(squares/(n-1)/n)
	return mean, mean - half, mean + half
}

// change is the interval as a ratio minus 1.
func (d days) change() DriftPart {
	mean, low, high := d.interval()
	return DriftPart{Ratio: math.Expm1(mean), Low: math.Expm1(low), High: math.Expm1(high)}
}

// isTold says that the interval leaves out 0.
func (p DriftPart) isTold() bool { return p.Low > 0 || p.High < 0 }

// words are the change and its interval in percent.
func (p DriftPart) words() string {
	return fmt.Sprintf("%s (%s to %s)", show.Percent(math.Abs(p.Ratio)), signed(p.Low), signed(p.High))
}

// signed is a ratio in percent with a true minus.
func signed(ratio float64) string {
	if ratio < 0 {
		return "−" + show.Percent(-ratio)
	}
	return show.Percent(ratio)
}

// sentence answers the question.
func (d Drift) sentence() string {
	past := "the week before"
	if d.Weeks > 1 {
		past = fmt.Sprintf("the %d weeks before", d.Weeks)
	}
	way := func(p DriftPart, more, less string) string {
		if p.Ratio < 0 {
			return less
		}
		return more
	}
	hardware := "at the same batch and context a token takes " + d.Hardware.words() + " " + way(d.Hardware, "longer", "less")
	traffic := "the traffic's batches and contexts make it " + d.Traffic.words() + " " + way(d.Traffic, "longer", "shorter")
	switch slow, load := d.Hardware.isTold(), d.Traffic.isTold(); {
	case slow && load:
		return fmt.Sprintf("Against %s both changed: %s, and %s.", past, hardware, traffic)
	case slow:
		return fmt.Sprintf("Against %s the hardware is %s, not the traffic %s: %s.", past, way(d.Hardware, "slower", "faster"), way(d.Hardware, "heavier", "lighter"), hardware)
	case load:
		return fmt.Sprintf("Against %s the traffic is %s, not the hardware %s: %s.", past, way(d.Traffic, "heavier", "lighter"), way(d.Traffic, "slower", "faster"), traffic)
	}
	return fmt.Sprintf("Against %s neither the hardware nor the traffic changed the time per token by an amount that can be told.", past)
}

// StepSums are the week's time per token over its prediction with a 90 % interval over days, and how far the prediction's band reaches; nil where
// there is none. The interval needs three days.
func StepSums(steps []StepTime, zone *time.Location) (ratio, low, high, band *float64) {
	if len(steps) == 0 {
		return nil, nil, nil, nil
	}
	var of days
	reach := 0.0
	for _, s := range steps {
		of.add(s.Start.In(zone).Format(time.DateOnly), math.Log(s.ratio()))
		reach = max(reach, s.High/s.Predicted-1)
	}
	mean, from, to := of.interval()
	ratio, band = new(math.Exp(mean)), &reach
	if !math.IsNaN(from) {
		low, high = new(math.Exp(from)), new(math.Exp(to))
	}
	return ratio, low, high, band
}
