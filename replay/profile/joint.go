package profile

import (
	"fmt"
	"sort"
	"time"
)

// Input and output are often correlated: long prompts of one kind have short
// answers, of another long ones. A joint distribution keeps this. It is a list
// of cells, each a range of inputs, a range of outputs and a count.

// pairs draws input and output together: cells in order, with cumulative sums
// of their counts.
type pairs struct {
	cells []Cell
	sums  []float64
}

func pairsOf(cells []Cell) pairs {
	p := pairs{cells: cells}
	sum := 0.0
	for _, c := range cells {
		sum += c.Count
		p.sums = append(p.sums, sum)
	}
	return p
}

// at takes the cell of a rank; in and out, in [0, 1), place the lengths inside
// it.
func (p pairs) at(rank, in, out float64) (input, output int) {
	i := min(sort.SearchFloat64s(p.sums, rank*p.sums[len(p.sums)-1]), len(p.cells)-1)
	c := p.cells[i]
	return within(c.Input, in), within(c.Output, out)
}

// within is the whole number at a share of a range, both bounds included.
func within(bounds [2]int, share float64) int {
	return bounds[0] + int(share*float64(bounds[1]-bounds[0]+1))
}

// jointSampler has the pairs by time of day.
type jointSampler struct {
	all   pairs
	parts []jointPart
}

type jointPart struct {
	from, until time.Duration
	pairs
}

// at finds the pairs of a time of day, and those of the whole day where none
// are known.
func (j *jointSampler) at(clock time.Duration) pairs {
	for _, p := range j.parts {
		if clock >= p.from && clock < p.until {
			return p.pairs
		}
	}
	return j.all
}

func (j *Joint) resolved(lengths func(string) (*Lengths, error)) (*jointSampler, error) {
	if j.Source != "" {
		return j.ofSource(lengths)
	}
	if len(j.Cells) > 0 {
		return &jointSampler{all: pairsOf(j.Cells)}, nil
	}
	var all []Cell
	resolved := &jointSampler{}
	for _, w := range j.Windows {
		all = append(all, w.Cells...)
		resolved.parts = append(resolved.parts, jointPart{w.From, w.Until, pairsOf(w.Cells)})
	}
	resolved.all = pairsOf(all)
	return resolved, nil
}

func (j *Joint) ofSource(lengths func(string) (*Lengths, error)) (*jointSampler, error) {
	l, err := lengths(j.Source)
	if err != nil {
		return nil, err
	}
	if len(l.Pairs) == 0 {
		return nil, fmt.Errorf("source %s: it has no lengths", j.Source)
	}
	resolved := &jointSampler{all: pairsOf(cellsOf(l.Pairs))}
	for hour, pairs := range l.Hours {
		if j.IsHourly && len(pairs) > 0 {
			from := time.Duration(hour) * time.Hour
			resolved.parts = append(resolved.parts, jointPart{from, from + time.Hour, pairsOf(cellsOf(pairs))})
		}
	}
	return resolved, nil
}

func cellsOf(pairs []Pair) []Cell {
	cells := make([]Cell, len(pairs))
	for i, p := range pairs {
		cells[i] = Cell{[2]int{p.Input, p.Input}, [2]int{p.Output, p.Output}, float64(p.Count)}
	}
	return cells
}
