package fleet

import (
	"math"
	"slices"
)

// Replicas that serve together take more than as many alone, for what finds one of them busy finds another idle: little more where a replica has
// hundreds of slots, several times as much where it has one. So the fleet that is paid for is rehearsed as a fleet, and smaller and larger ones
// where an hour needs them.

// sizes of fleets that are rehearsed; the rate of one replica is interpolated between them, in ln of both. In larger fleets a replica takes no less
// than in the largest of these.
var sizes = []int{1, 2, 4, mostTogether}

const (
	mostTogether         = 8
	mostRequestsTogether = 12_000 // that so many replicas keep up with in five minutes: of faster ones fewer are rehearsed together
)

// oneFleet are as many of some replicas as are rehearsed together. One of them keeps up with mostPerS.
func oneFleet(replicas int, mostPerS float64) int {
	return max(1, min(replicas, mostTogether, int(mostRequestsTogether/(mostPerS*fiveMinutes.Seconds()))))
}

// ratios are what one replica takes in fleets of other sizes, over what it takes in the one that was rehearsed in full. They are rehearsed as they
// are asked for.
type ratios struct {
	perS func(replicas int) (float64, error) // of one replica in a fleet of one of the sizes
	full Capacity
	ln   map[int]float64
	err  error
}

// of a fleet of so many replicas; 0: it holds the objectives at no rate.
func (r *ratios) of(replicas int) float64 {
	if replicas < 1 {
		return 1
	}
	return between(replicas, append(slices.Clone(sizes), r.full.Replicas), r.largest(), r.at)
}

// between is the ratio of a fleet whose size lies between two others, from the ln of theirs.
func between(replicas int, sizes []int, largest int, ln func(size int) float64) float64 {
	below, above := 1, largest
	for _, size := range sizes {
		if size <= replicas {
			below = max(below, size)
		}
		if size >= replicas {
			above = min(above, size)
		}
	}
	if below >= above {
		return math.Exp(ln(above))
	}
	share := math.Log(float64(replicas)/float64(below)) / math.Log(float64(above)/float64(below))
	return math.Exp((1-share)*ln(below) + share*ln(above))
}

// Fleet is what one replica takes in a fleet of that size, over what it takes in the one that rates are of.
type Fleet struct {
	Replicas int     `json:"replicas"`
	Ratio    float64 `json:"replica_rate_ratio"`
}

// Takes is what so many replicas take together where one of the fleet that rates are of takes perS. Without fleets of other sizes each takes the same.
func Takes(fleets []Fleet, replicas int, perS float64) float64 {
	if len(fleets) == 0 || replicas < 1 {
		return float64(replicas) * perS
	}
	var sizes []int
	for _, f := range fleets {
		sizes = append(sizes, f.Replicas)
	}
	return float64(replicas) * perS * between(replicas, sizes, slices.Max(sizes), func(size int) float64 {
		return math.Log(fleets[slices.Index(sizes, size)].Ratio)
	})
}

// largest fleet that is rehearsed.
func (r *ratios) largest() int { return max(r.full.Replicas, oneFleet(mostTogether, r.full.Most)) }

// at is the ln of the ratio at a size. In a larger fleet a replica never takes less: what rehearsals say against that is chance.
func (r *ratios) at(size int) float64 {
	if ln, isKnown := r.ln[size]; isKnown {
		return ln
	}
	perS, err := r.perS(size)
	if err != nil {
		r.err = err
	}
	ln := math.Log(perS / r.full.PerS)
	if size < r.full.Replicas {
		ln = min(ln, r.at(min(2*size, r.full.Replicas)))
	} else {
		ln = max(ln, r.at(max(size/2, r.full.Replicas)))
	}
	r.ln[size] = ln
	return ln
}

// enough is the smallest number of replicas that take so many requests a second where one of a fleet of the rehearsed size takes perS; nil: no
// number does.
func (r *ratios) enough(peak, perS float64) *int {
	if perS <= 0 {
		return nil
	}
	n := Smallest(peak, perS, func(n int) float64 { return float64(n) * r.of(n) * perS })
	return &n
}

// Smallest is the smallest number of replicas that take so many requests a second. Where each takes perS, it is near.
func Smallest(peak, perS float64, takes func(replicas int) float64) int {
	n := max(1, int(math.Ceil(peak/perS-1e-9)))
	for takes(n) < peak*(1-1e-9) {
		n++
	}
	for n > 1 && takes(n-1) >= peak*(1-1e-9) {
		n--
	}
	return n
}
