package forecast

import (
	"math"

	"tidemark/internal/stat"
)

// The level of week t is
//
//	x(t) = start + trend(t) + walk(t) + events(t) + noise(t)
//
// trend   sums a slope that forgets: slope(t) = 0.97 slope(t-1) + new, so that the mean forecast is a damped trend, and the further ahead the
//
//	less is known of the slope
//
// walk    moves and stays, such as a new customer
// noise   is of one week and gone the next
// events  are steps (all weeks from one on) and holidays (one week or two); they are looked for, and each must pay for itself
//
// All parts are Gaussian for given spreads (setting). No week or eight can tell the spreads, so every setting on a grid is used, weighted by
// how well it explains the levels (its marginal likelihood) and by what is usual. The forecast is the mixture.

const (
	keeps      = 0.97 // of a slope after a week
	startSD    = 2.0
	eventSD    = 0.4 // of ln: a holiday of -35 % and a step of +50 % are usual sizes
	mostEvents = 3
	// eventCost is what an event must gain in ln likelihood: about one event a quarter, of some three shapes.
	eventCost = 3.5
)

// setting has the spreads of one week's levels.
type setting struct {
	noise float64 // sd of ln
	walk  float64 // variance a week over the noise's
	slope float64 // sd of the slope
	prior float64 // ln of how usual it is
}

var settings = func() (out []setting) {
	for _, noise := range []float64{0.0075, 0.015, 0.03, 0.06, 0.12, 0.25} {
		for _, walk := range [][2]float64{{0, 0.3}, {0.1, 0.3}, {0.5, 0.25}, {2, 0.15}} { // and how usual it is
			for _, slope := range [][2]float64{{0.002, 0.4}, {0.01, 0.4}, {0.03, 0.2}} {
				far := math.Log(noise / 0.03)
				out = append(out, setting{noise, walk[0], slope[0], math.Log(walk[1]*slope[1]) - far*far/2})
			}
		}
	}
	return out
}()

// slopeSums[i][j] is the covariance of trend(i) and trend(j) for a slope of variance 1; ofSlope[i][j] that of trend(i) and slope(j).
var slopeSums, ofSlope = func() (sums, slopes [][]float64) {
	n := mostWeeks + mostAhead + 1
	sums, slopes = square(n), square(n)
	for i := 1; i < n; i++ {
		for j := 0; j < n; j++ {
			slopes[i][j] = slopes[i-1][j] + math.Pow(keeps, math.Abs(float64(i-j)))
		}
	}
	for i := 1; i < n; i++ {
		for j := 1; j < n; j++ {
			sums[i][j] = sums[i][j-1] + slopes[i][j]
		}
	}
	return sums, slopes
}()

func square(n int) [][]float64 {
	out, all := make([][]float64, n), make([]float64, n*n)
	for i := range out {
		out[i] = all[i*n : (i+1)*n]
	}
	return out
}

// event is a step from a week on (length 0), or one or two weeks that were different.
type event struct {
	from, length int
	isUp         bool
}

func (e event) holds(at int) bool { return at >= e.from && (e.length == 0 || at < e.from+e.length) }

// outlook is what the trend says of the level of the weeks ahead.
type outlook struct {
	mean, variance     []float64 // of the level without the noise of its own week
	noise              float64   // variance of that noise
	slope, slopeSpread float64
}

// look explains levels at places by a trend and looks ahead from the place now.
func look(at []int, levels, days []float64, now, ahead int) outlook {
	places := make([]int, len(at))
	for i := range at {
		places[i] = at[i] - at[0]
	}
	now -= at[0]
	middle := levels[len(levels)-1]
	x := make([]float64, len(levels))
	for i, level := range levels {
		x[i] = level - middle
	}
	fits := make([]fit, len(settings))
	events := findEvents(places, x, days, fits)
	out := mix(places, fits, events, now, ahead)
	for h := range out.mean {
		out.mean[h] += middle
	}
	return out
}

// fit is one setting set against the levels.
type fit struct {
	setting
	root   [][]float64 // Cholesky's, of the levels' covariance
	solved []float64   // covariance^-1 levels
	ln     float64     // of the likelihood and the prior
}

func (f *fit) covariance(i, j int) float64 {
	return startSD*startSD + f.slope*f.slope*slopeSums[i][j] + f.noise*f.noise*f.walk*float64(min(i, j))
}

func refit(fits []fit, places []int, x, days []float64, events []event) {
	n := len(places)
	for k := range fits {
		f := &fits[k]
		f.setting = settings[k]
		f.root = square(n)
		for i := range n {
			for j := range i + 1 {
				f.root[i][j] = f.covariance(places[i], places[j]) + shared(events, places[i], places[j])
			}
			// A level that rests on fewer days is less certain.
			f.root[i][i] += f.noise * f.noise * 7 / days[i]
		}
		lnRoot := cholesky(f.root)
		f.solved = solve(f.root, x)
		f.ln = f.prior - lnRoot - stat.Dot(x, f.solved)/2
	}
}

func shared(events []event, i, j int) (out float64) {
	for _, e := range events {
		if e.holds(i) && e.holds(j) {
			out += eventSD * eventSD
		}
	}
	return out
}

// findEvents adds the event that explains most, as long as one gains more than it costs. It leaves the fits as they are with all events.
func findEvents(places []int, x, days []float64, fits []fit) (events []event) {
	refit(fits, places, x, days, nil)
	for len(events) < min(mostEvents, len(places)/3) {
		best, most := event{}, eventCost
		for _, e := range candidates(places) {
			if gain := gainOf(e, places, fits); gain > most+1e-9 {
				best, most = e, gain
			}
		}
		if most == eventCost {
			break
		}
		best.isUp = direction(best, places, fits) > 0
		events = append(events, best)
		refit(fits, places, x, days, events)
	}
	return events
}

// candidates are the events that leave at least two weeks outside. A step in the last week looks as a holiday in it does: such an event
// is listed once, and mix weighs both.
func candidates(places []int) (out []event) {
	for i := 1; i < len(places); i++ {
		out = append(out, event{from: places[i]})
	}
	for i := range places[:len(places)-1] {
		out = append(out, event{from: places[i], length: 1})
		if i > 0 && i+2 < len(places) {
			out = append(out, event{from: places[i], length: 2})
		}
	}
	return out
}

// gainOf is by how much an event raises the likelihood, over all settings, in ln.
func gainOf(e event, places []int, fits []fit) float64 {
	before, after := make([]float64, len(fits)), make([]float64, len(fits))
	z := pattern(e, places)
	for k := range fits {
		f := &fits[k]
		along := eventSD * stat.Dot(z, f.solved)
		size := 1 + eventSD*eventSD*squareAlong(f.root, z)
		before[k] = f.ln
		after[k] = f.ln + along*along/size/2 - math.Log(size)/2
	}
	return lnSum(after) - lnSum(before)
}

func direction(e event, places []int, fits []fit) (out float64) {
	z := pattern(e, places)
	total := make([]float64, len(fits))
	for k := range fits {
		total[k] = fits[k].ln
	}
	all := lnSum(total)
	for k := range fits {
		out += math.Exp(fits[k].ln-all) * stat.Dot(z, fits[k].solved)
	}
	return out
}

func pattern(e event, places []int) []float64 {
	z := make([]float64, len(places))
	for i, at := range places {
		if e.holds(at) {
			z[i] = 1
		}
	}
	return z
}

// stays is how likely an event that reaches the last week goes on, by the weeks seen of it. One low week is more often a holiday than a
// customer who left; one high week is more often growth than a burst. What lasts three weeks stays.
func stays(e event, places []int) float64 {
	seen := 0
	for _, at := range places {
		if at >= e.from {
			seen++
		}
	}
	switch {
	case e.length > 0 || seen > 2:
		return 1 // a holiday that is over is over: holds says so
	case seen == 2:
		return 0.9
	case e.isUp:
		return 0.7
	}
	return 0.4
}

// mix is the outlook of all settings together, each with its weight, and of an event that may stay or go.
func mix(places []int, fits []fit, events []event, now, ahead int) outlook {
	out := outlook{mean: make([]float64, ahead), variance: make([]float64, ahead)}
	lns := make([]float64, len(fits))
	for k := range fits {
		lns[k] = fits[k].ln
	}
	all := lnSum(lns)
	means, squares := out.mean, out.variance // first moments, at the end made mean and variance
	slopeSquares := 0.0
	cross := make([]float64, len(places))
	for k := range fits {
		f := &fits[k]
		weight := math.Exp(f.ln - all)
		if weight < 1e-4 {
			continue
		}
		out.noise += weight * f.noise * f.noise
		for i, at := range places {
			cross[i] = f.slope * f.slope * ofSlope[at][now]
		}
		slope := stat.Dot(cross, f.solved)
		out.slope += weight * slope
		slopeSquares += weight * (slope*slope + f.slope*f.slope - squareAlong(f.root, cross))
		for h := range ahead {
			to := now + 1 + h
			for _, v := range variants(events, places) {
				own := f.covariance(to, to)
				for i, at := range places {
					cross[i] = f.covariance(at, to) + shared(v.events, at, to)
				}
				own += shared(v.events, to, to)
				mean := stat.Dot(cross, f.solved)
				variance := max(own-squareAlong(f.root, cross), 0)
				means[h] += weight * v.share * mean
				squares[h] += weight * v.share * (mean*mean + variance)
			}
		}
	}
	for h := range ahead {
		squares[h] -= means[h] * means[h]
	}
	out.slopeSpread = math.Sqrt(max(slopeSquares-out.slope*out.slope, 0))
	return out
}

type variant struct {
	events []event
	share  float64
}

// variants are the events with the one that reaches the last week, if any, going on or not.
func variants(events []event, places []int) []variant {
	for i, e := range events {
		if share := stays(e, places); share < 1 {
			var gone []event
			gone = append(gone, events[:i]...)
			over := e
			over.length = places[len(places)-1] - e.from + 1
			gone = append(append(gone, over), events[i+1:]...)
			return []variant{{events, share}, {gone, 1 - share}}
		}
	}
	return []variant{{events, 1}}
}

// cholesky replaces the lower triangle by its root and returns the sum of the logarithms of the root's diagonal.
func cholesky(a [][]float64) (lnRoot float64) {
	for i := range a {
		for j := range i + 1 {
			v := a[i][j] - stat.Dot(a[i][:j], a[j][:j])
			if i == j {
				a[i][i] = math.Sqrt(max(v, 1e-12))
				lnRoot += math.Log(a[i][i])
			} else {
				a[i][j] = v / a[j][j]
			}
		}
	}
	return lnRoot
}

// forward solves root y = x.
func forward(root [][]float64, x []float64) []float64 {
	y := make([]float64, len(x))
	for i := range y {
		y[i] = (x[i] - stat.Dot(root[i][:i], y[:i])) / root[i][i]
	}
	return y
}

// solve is covariance^-1 x.
func solve(root [][]float64, x []float64) []float64 {
	y := forward(root, x)
	for i := len(y) - 1; i >= 0; i-- {
		for k := i + 1; k < len(y); k++ {
			y[i] -= root[k][i] * y[k]
		}
		y[i] /= root[i][i]
	}
	return y
}

// squareAlong is z' covariance^-1 z.
func squareAlong(root [][]float64, z []float64) float64 {
	y := forward(root, z)
	return stat.Dot(y, y)
}

func lnSum(values []float64) float64 {
	highest := math.Inf(-1)
	for _, v := range values {
		highest = max(highest, v)
	}
	total := 0.0
	for _, v := range values {
		total += math.Exp(v - highest)
	}
	return highest + math.Log(total)
}
