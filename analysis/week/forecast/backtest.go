package forecast

import "math"

const (
	// farthestTest is how many weeks ahead past forecasts are tested.
	farthestTest = 8
	// priorErrors is how many past errors the model's own idea of its spread counts for.
	priorErrors = 5.0
	// clipped is where a past error counts no more, in spreads: a step that nobody could foresee must not widen the band for months.
	// clippedSquare is the mean square of a normal error that is clipped there.
	clipped       = 2.0
	clippedSquare = 0.92
	bandZ         = 1.6448536 // 90 % of a normal lies within
)

// outcome of a week as a logarithm, with the ends of its 90 % band.
type outcome struct{ centre, low, high float64 }

// guess is a forecast before its past errors are known: centre and variance of ln.
type guess struct{ centre, variance float64 }

// origin is one instant at which a forecast was or is made.
type origin struct {
	usual   usual
	series  series
	outlook outlook
	isLog   bool
}

// stand makes the forecast that the weeks known allow.
func stand(s series, isLog bool, ahead int) origin {
	o := origin{usual: findUsual(s), series: s, isLog: isLog}
	levels := o.usual.levels
	if !isLog {
		// In levels: over the last one, so that the usual sizes of spreads hold.
		last := levels[len(levels)-1]
		levels = make([]float64, len(levels))
		for i, ln := range o.usual.levels {
			levels[i] = math.Exp(ln-last) - 1
		}
	}
	o.outlook = look(s.at, levels, o.usual.days, s.now, ahead)
	return o
}

// level h weeks ahead: ln and its variance.
func (o *origin) level(h int) (ln, variance float64) {
	ln, variance = o.outlook.mean[h-1], o.outlook.variance[h-1]+o.outlook.noise
	if !o.isLog {
		// A line that falls to nothing stops at a tenth.
		level := max(1+ln, 0.1)
		last := o.usual.levels[len(o.usual.levels)-1]
		return last + math.Log(level), variance / (level * level)
	}
	return ln, variance
}

// seasonal is what some hours h weeks ahead come to.
func (o *origin) seasonal(h int, hours []int) guess {
	ln, variance := o.level(h)
	return guess{ln + o.usual.over(hours, o.series.combine) + o.usual.meanExcess, variance + o.usual.varExcess}
}

// naive is what the same hours came to when they were last seen. Its spread has the noise of that week too, and the distance from what
// the trend says.
func (o *origin) naive(h int, hours []int) guess {
	var last [HoursOfWeek]float64
	var isSeen [HoursOfWeek]bool
	for week := len(o.series.at) - 1; week >= 0; week-- {
		var isNew [HoursOfWeek]bool
		for k, hour := range o.series.hours[week] {
			if !isSeen[hour] || isNew[hour] {
				last[hour], isNew[hour], isSeen[hour] = o.series.values[week][k], true, true
			}
		}
	}
	values := make([]float64, len(hours))
	for i, hour := range hours {
		values[i] = last[hour]
	}
	own := o.seasonal(h, hours)
	centre := logOf(o.series.combine(values))
	off := own.centre - centre
	return guess{centre, own.variance + o.outlook.noise + o.usual.varExcess + off*off}
}

// tested is a method with its past errors.
type tested struct {
	squares   [farthestTest + 1]float64 // sum of the squared errors in spreads, by weeks ahead
	absolutes [farthestTest + 1]float64 // sum of |ln|
	count     [farthestTest + 1]float64
}

func (t *tested) add(h int, g guess, came float64) {
	off := came - g.centre
	z := min(math.Abs(off)/math.Sqrt(g.variance), clipped)
	t.squares[h] += z * z / clippedSquare
	t.absolutes[h] += math.Abs(off)
	t.count[h]++
}

// mean error: over one to four weeks ahead, each distance as much as it has independent errors.
func (t *tested) mean() float64 {
	total, weights := 0.0, 0.0
	for h := 1; h <= 4; h++ {
		total += t.absolutes[h] / float64(h)
		weights += t.count[h] / float64(h)
	}
	return total / weights
}

// isBetterThan says whether a method had smaller errors than the other by more than chance. Among n errors the means of two methods that are
// equally good differ by about one part in the root of n.
func (t *tested) isBetterThan(other *tested) bool {
	_, n := t.scale(1)
	n -= priorErrors
	return n > 1 && t.mean() < (1-1/math.Sqrt(n))*other.mean()
}

// scale is by how much the band h weeks ahead is wider than the model's own idea, and on how many errors that rests. Errors of neighbouring
// forecasts h weeks ahead overlap, so each counts for 1/h.
func (t *tested) scale(h int) (factor, errors float64) {
	squares, n := priorErrors, priorErrors
	for k := 1; k <= farthestTest; k++ {
		squares += t.squares[k] / float64(k)
		n += t.count[k] / float64(k)
	}
	pooled, k := squares/n, min(h, farthestTest)
	own, count := t.squares[k]/float64(k), t.count[k]/float64(k)
	return math.Sqrt((priorErrors*pooled + own) / (priorErrors + count)), n
}

func (t *tested) band(h int, g guess) outcome {
	factor, n := t.scale(h)
	reach := studentT(n) * factor * math.Sqrt(g.variance)
	return outcome{g.centre, g.centre - reach, g.centre + reach}
}

// studentT is the 0.95 quantile of Student's t with n >= 5 degrees of freedom, by the first terms of its series in 1/n (Abramowitz and
// Stegun 26.7.5); 0.002 off at 5.
func studentT(n float64) float64 {
	z := bandZ
	z3, z5, z7 := z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	return z + (z3+z)/(4*n) + (5*z5+16*z3+3*z)/(96*n*n) + (3*z7+19*z5+17*z3-15*z)/(384*n*n*n)
}

// model is the forecast at the end of a series, with the errors that it and the naive one had before.
type model struct {
	origin
	own, other tested // seasonal, naive
	isNaive    bool
}

// choose tests the trend in logarithms, the trend in levels and the naive forecast on the weeks known, and takes the best.
func choose(s series) *model {
	logs, levels := test(s, true), test(s, false)
	best := logs
	if levels.own.count[1] > 0 && levels.own.mean() < logs.own.mean() {
		best = levels
	}
	best.isNaive = best.other.isBetterThan(&best.own)
	return &best
}

// test makes every forecast that could have been made, from the second week on, and sets it against the covered hours of what came.
func test(s series, isLog bool) model {
	m := model{origin: stand(s, isLog, mostAhead)}
	for known := 2; known < len(s.at); known++ {
		o := stand(s.until(known), isLog, farthestTest)
		for week := known; week < len(s.at); week++ {
			h := s.at[week] - o.series.now
			if h > farthestTest {
				break
			}
			m.own.add(h, o.seasonal(h, s.hours[week]), s.came(week))
			m.other.add(h, o.naive(h, s.hours[week]), s.came(week))
		}
	}
	return m
}

func (m *model) method() string {
	if m.isNaive {
		return Naive
	}
	return Seasonal
}

// errors by which the method was chosen: of the one used, and of the naive one.
func (m *model) errors() (used, naive *float64) {
	if m.own.count[1] == 0 {
		return nil, nil
	}
	seasonal, other := m.own.mean(), m.other.mean()
	if m.isNaive {
		return &other, &other
	}
	return &seasonal, &other
}

// ahead is the forecast by the method used.
func (m *model) ahead(hours [][]int) []outcome {
	if m.isNaive {
		return m.naiveAhead(hours)
	}
	return m.seasonalAhead(hours)
}

func (m *model) seasonalAhead(hours [][]int) []outcome {
	out := make([]outcome, len(hours))
	for i := range hours {
		out[i] = m.own.band(i+1, m.seasonal(i+1, hours[i]))
	}
	return out
}

func (m *model) naiveAhead(hours [][]int) []outcome {
	out := make([]outcome, len(hours))
	for i := range hours {
		out[i] = m.other.band(i+1, m.naive(i+1, hours[i]))
	}
	return out
}

// growth of the level a week, minus 1, with its 90 % interval.
func (m *model) growth() (centre, low, high float64) {
	reach := bandZ * m.outlook.slopeSpread
	centre, low, high = m.outlook.slope, m.outlook.slope-reach, m.outlook.slope+reach
	if m.isLog {
		return math.Expm1(centre), math.Expm1(low), math.Expm1(high)
	}
	return centre, max(low, -1), high
}
