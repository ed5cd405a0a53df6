// The rate at which sessions begin, second by second, as far as it is no chance: what a larger load of the same kind comes at.

package plan

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// rateSpan is how far a clone is from its original at most, so that lengths change over a day as they did.
const rateSpan = 5 * time.Minute

const ofSpan = int(rateSpan / time.Second)

// rateLevels are the widths, in seconds, at which the rate is looked at, each within the one before. Of the widest every load of the same
// kind brings the same share. Within it the rate varies as it did, less what varies by chance alone: of many users chance is a smaller part.
var rateLevels = []int{3600, ofSpan, 60, 10, 1}

// beginningsOf says when the clones of each session begin, so that factor times as many sessions (1 or more) begin in every hour. starts are in
// order. The same seed makes a larger factor contain the smaller.
func beginningsOf(starts []time.Duration, factor float64, seed uint64) [][]time.Duration {
	clones := make([][]time.Duration, len(starts))
	if len(starts) == 0 {
		return clones
	}
	begin := starts[0]
	counts := make([]int, int((starts[len(starts)-1]-begin)/time.Second)+1)
	orders := make([][]int, len(counts)/ofSpan+1) // the sessions of each span, to be cloned in turn
	for i, at := range starts {
		second := int((at - begin) / time.Second)
		counts[second]++
		orders[second/ofSpan] = append(orders[second/ofSpan], i)
	}
	for _, order := range orders {
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Compare(uniform(seed, "order", uint64(a), 0), uniform(seed, "order", uint64(b), 0))
		})
	}
	made := make([]int, len(orders))
	rates := rateOf(counts)
	each(len(rates), rateLevels[0], func(from, until int) {
		hour := cumulate(rates[from:until])
		for nth := range int((factor-1)*hour.all() + uniform(seed, "one more", uint64(from), 0)) {
			at := float64(from) + hour.at(uniform(seed, "moment", uint64(from), nth))
			span := min(int(at)/ofSpan, len(orders)-1)
			if n := len(orders[span]); n > 0 { // a silence stays one
				unit := orders[span][made[span]%n]
				made[span]++
				clones[unit] = append(clones[unit], begin+FromSeconds(at))
			}
		}
	})
	return clones
}

// cumulated are sums of what comes until the end of each second.
type cumulated []float64

func cumulate(rates []float64) cumulated {
	c, sum := make(cumulated, len(rates)), 0.0
	for i, r := range rates {
		sum += r
		c[i] = sum
	}
	return c
}

func (c cumulated) all() float64 { return c[len(c)-1] }

// at is the second until which a share of all has come.
func (c cumulated) at(share float64) float64 {
	wanted := share * c.all()
	i := min(sort.SearchFloat64s(c, wanted), len(c)-1)
	before := 0.0
	if i > 0 {
		before = c[i-1]
	}
	if c[i] == before {
		return float64(i)
	}
	return float64(i) + (wanted-before)/(c[i]-before)
}

// rateOf estimates the rate in each second from what came in it. Each hour keeps its number. Five minutes are as much busier than their
// hour as they were, times the root of the share of that variance which chance does not explain; so is a minute of its five, and so on. The rates then vary as much as the true rate did, and arrivals drawn at them as much as those that came.
func rateOf(counts []int) []float64 {
	rates := make([]float64, len(counts))
	each(len(counts), rateLevels[0], func(from, until int) {
		total := float64(sum(counts[from:until]))
		for i := from; i < until; i++ {
			rates[i] = total / float64(until-from)
		}
	})
	for level := 1; level < len(rateLevels); level++ {
		wide, narrow := rateLevels[level-1], rateLevels[level]
		excess := excessOf(counts, wide, narrow)
		if excess == 0 {
			continue
		}
		each(len(counts), wide, func(from, until int) { refine(counts[from:until], rates[from:until], narrow, excess) })
	}
	return rates
}

// refine shares out a stretch, whose rates are one so far, among its parts.
func refine(counts []int, rates []float64, narrow int, excess float64) {
	total := float64(sum(counts))
	if total == 0 {
		return
	}
	whole, given := rates[0]*float64(len(rates)), 0.0
	each(len(counts), narrow, func(from, until int) {
		share := float64(until-from) / float64(len(counts))
		expected := total * share
		real := excess * expected * expected
		busier := math.Sqrt(real/(real+expected*(1-share))) * (float64(sum(counts[from:until])) - expected) / expected
		for i := from; i < until; i++ {
			rates[i] = max(0, 1+busier)
			given += rates[i]
		}
	})
	for i := range rates {
		rates[i] *= whole / given
	}
}

// excessOf is how much more the counts of narrow parts vary within wide stretches than chance lets them: variance over squared mean; 0
// where it is less than two standard errors.
func excessOf(counts []int, wide, narrow int) float64 {
	var squares, expectedSquares, means, variance float64
	each(len(counts), wide, func(from, until int) {
		total := float64(sum(counts[from:until]))
		each(until-from, narrow, func(a, b int) {
			share := float64(b-a) / float64(until-from)
			expected := total * share
			chance := expected * (1 - share) // the variance of a part where the whole is given
			off := float64(sum(counts[from+a:from+b])) - expected
			squares, expectedSquares, means = squares+off*off, expectedSquares+chance, means+expected*expected
			variance += 2*chance*chance + chance
		})
	})
	if squares-expectedSquares < 2*math.Sqrt(variance) {
		return 0
	}
	return (squares - expectedSquares) / means
}

// each cuts n seconds into stretches of a width; the last may be shorter.
func each(n, width int, do func(from, until int)) {
	for from := 0; from < n; from += width {
		do(from, min(from+width, n))
	}
}

func sum(counts []int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
