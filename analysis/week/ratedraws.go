package week

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"tidemark/analysis/week/fleet"
	"tidemark/replay/plan"
)

// drawer draws requests from the lengths that were counted.
type drawer struct {
	week  *ratesHour // all hours together: for those without lengths of their own
	hours map[int]*demandHour
}

func newDrawer(d demand) drawer {
	all := drawer{&ratesHour{}, map[int]*demandHour{}}
	for i := range d.Hours {
		h := &d.Hours[i]
		all.hours[h.Place] = h
		if h.Rates != nil {
			all.week.added(h.Rates)
		}
	}
	return all
}

// shape of an hour that is known by counts alone.
func (d drawer) shape(place int, start time.Time) fleet.Shape {
	h := d.hours[place]
	if h == nil || h.Rates == nil || h.Peak <= 0 {
		return fleet.Shape{}
	}
	requests := d.draw(h.Rates, min(fleet.Enough, int(h.Rates.Requests+0.5)), start)
	if len(requests) == 0 {
		return fleet.Shape{}
	}
	return fleet.Drawn(requests, h.Peak, seedOf(start))
}

// mixed are single requests of an hour with as many drawn ones among them as were counted besides, over the same stretch of the hour.
func (d drawer) mixed(place int, start time.Time, requests []plan.Request) []plan.Request {
	h := d.hours[place]
	if h == nil || h.Rates == nil || h.Rates.Requests <= 0 || len(requests) == 0 {
		return requests
	}
	single := float64(h.Requests) - h.Rates.Requests
	more := float64(len(requests)) * h.Rates.Requests / max(single, 1)
	from, until := time.Duration(0), time.Hour
	if len(requests) >= enoughOfHour { // they are of its busiest minutes alone
		const bin = binS * time.Second
		from, until = requests[0].Due.Truncate(bin), requests[len(requests)-1].Due.Truncate(bin)+bin
	}
	if all := float64(len(requests)) + more; all > mostOfHour { // as many of both as there may be
		requests = slices.Clone(requests[:max(1, int(float64(len(requests))*mostOfHour/all))])
		more *= mostOfHour / all
	}
	rnd := rand.New(rand.NewPCG(seedOf(start), 0xd0e))
	for _, r := range d.draw(h.Rates, int(more+0.5), start) {
		r.Due = from + time.Duration(rnd.Int64N(int64(until-from)))
		requests = append(requests, r)
	}
	slices.SortStableFunc(requests, func(a, b plan.Request) int { return cmp.Compare(a.Due, b.Due) })
	for i := range requests {
		requests[i].Seq = int64(i)
	}
	return requests
}

// seedOf an hour, so that the same hour is drawn alike each time.
func seedOf(start time.Time) uint64 { return uint64(start.Unix()) }

// draw draws lengths: of joint cells both together, else of each histogram for itself. Of n requests one lies in each n-th of a histogram: drawn
// each by itself, 2,000 prompts are 3 % longer or shorter in the mean than the hour's, and a replica takes so much less or more of them.
func (d drawer) draw(r *ratesHour, n int, start time.Time) []plan.Request {
	if !r.hasLengths() {
		r = d.week
	}
	if !r.hasLengths() {
		return nil
	}
	rnd := rand.New(rand.NewPCG(seedOf(start), 0x1e57))
	together := sumOf(r.Joint, jointCell.weight)
	all := together
	if len(r.Output) > 0 {
		all += sumOf(r.Input, lengthCell.weight)
	}
	joint, input, output := chooser(r.Joint, jointCell.weight), chooser(r.Input, lengthCell.weight), chooser(r.Output, lengthCell.weight)
	of, inputs, outputs := strata(rnd, n), strata(rnd, n), strata(rnd, n)
	requests := make([]plan.Request, n)
	for i := range requests {
		if x := of[i] * all; x < together {
			c, _ := joint(x / together)
			requests[i].InputTokens, requests[i].OutputTokens = within(c.Input, rnd.Float64()), within(c.Output, rnd.Float64())
			continue
		}
		in, inShare := input(inputs[i])
		out, outShare := output(outputs[i])
		requests[i].InputTokens, requests[i].OutputTokens = within([2]float64{in.Above, in.UpTo}, inShare), within([2]float64{out.Above, out.UpTo}, outShare)
	}
	return requests
}

// strata are n numbers between 0 and 1, one in each n-th, in random order.
func strata(rnd *rand.Rand, n int) []float64 {
	at := make([]float64, n)
	for i, place := range rnd.Perm(n) {
		at[i] = (float64(place) + rnd.Float64()) / float64(n)
	}
	return at
}

// within is the length at a share of a cell's width. A cell holds the lengths above its first bound up to its second.
func within(cell [2]float64, share float64) int {
	width := max(int(cell[1])-int(cell[0]), 1)
	return int(cell[0]) + 1 + max(0, min(int(share*float64(width)), width-1))
}

func (r *ratesHour) hasLengths() bool {
	return len(r.Joint) > 0 || len(r.Input) > 0 && len(r.Output) > 0
}

func (c lengthCell) weight() float64 { return c.Requests }
func (c jointCell) weight() float64  { return c.Requests }

// chooser finds the cell at a share of all weights, and the share of that cell's own weight.
func chooser[T any](cells []T, weight func(T) float64) func(share float64) (T, float64) {
	sums, sum := make([]float64, len(cells)), 0.0
	for i, c := range cells {
		sum += weight(c)
		sums[i] = sum
	}
	return func(share float64) (T, float64) {
		x := share * sum
		i := min(sort.Search(len(sums), func(i int) bool { return sums[i] > x }), len(cells)-1)
		return cells[i], 1 - (sums[i]-x)/weight(cells[i])
	}
}
