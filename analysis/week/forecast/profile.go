package forecast

import (
	"math"
	"slices"

	"tidemark/internal/stat"
)

// series is one figure of the hours of the weeks that count.
type series struct {
	at      []int // places of the weeks
	now     int
	hours   [][]int // of each week, those that are covered
	values  [][]float64
	combine func([]float64) float64 // what a week comes to: the greatest of its hours, or their sum
}

func peakOf(h Hour) float64     { return h.PeakRatePerS }
func requestsOf(h Hour) float64 { return h.Requests }

func newSeries(h history, figure func(Hour) float64, combine func([]float64) float64) series {
	out := series{now: h.now, combine: combine}
	for _, week := range h.weeks {
		hours, values := make([]int, len(week.hours)), make([]float64, len(week.hours))
		for i, hour := range week.hours {
			hours[i], values[i] = hour.OfWeek, figure(hour)
		}
		out.at, out.hours, out.values = append(out.at, week.at), append(out.hours, hours), append(out.values, values)
	}
	return out
}

// until is what was known after the first weeks.
func (s series) until(weeks int) series {
	return series{s.at[:weeks], s.at[weeks-1], s.hours[:weeks], s.values[:weeks], s.combine}
}

// came is what the covered hours of a week came to, as a logarithm.
func (s series) came(week int) float64 { return logOf(s.combine(s.values[week])) }

// logOf keeps the logarithm of nothing finite.
func logOf(v float64) float64 { return math.Log(max(v, 1e-9)) }

const (
	// shapeWeeks is how many of the latest weeks make the usual week: what people do on a Tuesday changes over months.
	shapeWeeks = 8
	// rounds in which the usual week and the levels are found from each other; more change nothing that can be seen.
	rounds = 4
)

// usual is the usual week of a series, and the level of each week above it.
type usual struct {
	shape  [HoursOfWeek]float64
	levels []float64 // ln; a week at level 0 has the height of shape
	days   []float64 // days of each week that its level rests on
	// excess is ln of what a week came to over what its level and shape say, of the covered hours: the greatest of noisy hours is above
	// the greatest of the shape.
	excess     []float64
	meanExcess float64
	varExcess  float64
}

// findUsual takes medians, so that neither a holiday nor a burst gets into the usual week.
func findUsual(s series) usual {
	out := usual{levels: make([]float64, len(s.at)), days: make([]float64, len(s.at)), excess: make([]float64, len(s.at))}
	for range rounds {
		out.shape = s.shape(out.levels)
		for i := range s.at {
			out.levels[i], out.days[i] = s.level(i, &out.shape)
		}
	}
	for i := range s.at {
		out.excess[i] = s.came(i) - out.levels[i] - out.over(s.hours[i], s.combine)
	}
	out.meanExcess, out.varExcess = locate(out.excess, 0.03)
	out.varExcess *= 1 + 1/float64(len(s.at)) // the mean is not known better
	return out
}

// over is what the usual week comes to in some hours, as a logarithm.
func (u *usual) over(hours []int, combine func([]float64) float64) float64 {
	values := make([]float64, len(hours))
	for i, hour := range hours {
		values[i] = u.shape[hour]
	}
	return logOf(combine(values))
}

// shape is the median of each hour of the week over the latest weeks, each week brought to level 0. An hour that no week covers gets the
// mean of the same hour of the other working days, or of the weekend.
func (s series) shape(levels []float64) (out [HoursOfWeek]float64) {
	var seen [HoursOfWeek][]float64
	for i := max(0, len(s.at)-shapeWeeks); i < len(s.at); i++ {
		for k, hour := range s.hours[i] {
			seen[hour] = append(seen[hour], s.values[i][k]/math.Exp(levels[i]))
		}
	}
	for hour := range out {
		if len(seen[hour]) > 0 {
			out[hour] = median(seen[hour])
		}
	}
	for hour := range out {
		if len(seen[hour]) == 0 {
			out[hour] = alike(hour, &out, &seen)
		}
	}
	return out
}

func alike(hour int, shape *[HoursOfWeek]float64, seen *[HoursOfWeek][]float64) float64 {
	total, n := 0.0, 0.0
	for pass := 0; pass < 2 && n == 0; pass++ { // first days of the same kind, then any day
		for day := range 7 {
			other := day*24 + hour%24
			if len(seen[other]) > 0 && (pass == 1 || (day >= 5) == (hour >= 5*24)) {
				total, n = total+shape[other], n+1
			}
		}
	}
	if n == 0 {
		return 0
	}
	return total / n
}

// level is how far a week stands above the usual week, by its days: two days off out of seven do not move it.
func (s series) level(week int, shape *[HoursOfWeek]float64) (ln, days float64) {
	var came, expected [7]float64
	for k, hour := range s.hours[week] {
		came[hour/24] += s.values[week][k]
		expected[hour/24] += shape[hour]
	}
	var ratios []float64
	total := stat.Sum(expected[:])
	for day := range came {
		// A day of which an hour or two are covered says little.
		if expected[day] > 0.03*total {
			ratios = append(ratios, logOf(came[day]/expected[day]))
		}
	}
	if len(ratios) == 0 {
		return 0, 1
	}
	ln, _ = locate(ratios, 0.03)
	return ln, float64(len(ratios))
}

// locate is the mean of the values near the median, and their variance with two values of a usual spread added, because seven numbers and
// fewer know their spread badly.
func locate(values []float64, usualSpread float64) (mean, variance float64) {
	middle := median(values)
	far := make([]float64, len(values))
	for i, v := range values {
		far[i] = math.Abs(v - middle)
	}
	reach := 3 * max(1.483*median(far), usualSpread)
	n := 0.0
	for _, v := range values {
		if math.Abs(v-middle) <= reach {
			mean, n = mean+v, n+1
		}
	}
	mean /= n
	squares := 2 * usualSpread * usualSpread
	for _, v := range values {
		if math.Abs(v-middle) <= reach {
			squares += (v - mean) * (v - mean)
		}
	}
	return mean, squares / (n + 1)
}

func median(values []float64) float64 { return stat.Median(slices.Sorted(slices.Values(values))) }
