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

// draw draws lengths: of joint cells both together, else of each histogram for itself.
func (d drawer) draw(r *ratesHour, n int, start time.Time) []plan.Request {
	if !r.hasLengths() {
		r = d.week
	}
	if !r.hasLengths() {
		return nil
	}
	rnd := rand.New(rand.NewPCG(seedOf(start), 0x1e57))
	within := func(above, upTo float64) int { return int(above) + 1 + rnd.IntN(max(int(upTo)-int(above), 1)) }
	joint := chooser(r.Joint, func(c jointCell) float64 { return c.Requests })
	input, output := chooser(r.Input, lengthCell.weight), chooser(r.Output, lengthCell.weight)
	together, apart := 0.0, 0.0 // requests
	for _, c := range r.Joint {
		together += c.Requests
	}
	if len(r.Output) > 0 {
		apart = sumOf(r.Input, lengthCell.weight)
	}
	requests := make([]plan.Request, n)
	for i := range requests {
		var c jointCell
		if rnd.Float64()*(together+apart) < together {
			c = joint(rnd)
		} else {
			in, out := input(rnd), output(rnd)
			c.Input, c.Output = [2]float64{in.Above, in.UpTo}, [2]float64{out.Above, out.UpTo}
		}
		requests[i].InputTokens, requests[i].OutputTokens = within(c.Input[0], c.Input[1]), within(c.Output[0], c.Output[1])
	}
	return requests
}

func (r *ratesHour) hasLengths() bool {
	return len(r.Joint) > 0 || len(r.Input) > 0 && len(r.Output) > 0
}

func (c lengthCell) weight() float64 { return c.Requests }

// chooser draws one of some cells by their weight.
func chooser[T any](cells []T, weight func(T) float64) func(*rand.Rand) T {
	sums, sum := make([]float64, len(cells)), 0.0
	for i, c := range cells {
		sum += weight(c)
		sums[i] = sum
	}
	return func(rnd *rand.Rand) T {
		x := rnd.Float64() * sum
		return cells[min(sort.Search(len(sums), func(i int) bool { return sums[i] > x }), len(cells)-1)]
	}
}
