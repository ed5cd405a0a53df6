//go:build duckdb_arrow

package privacy

import (
	"cmp"
	"slices"
)

// Cell is a cell of a length histogram: requests of one window, class and tenant
// on some rungs, from the one up to but without the other.
type Cell struct {
	Window            int32 // -1: of all windows
	Class, Tenant     int32 // as in the trace; -1: of several
	InFrom, InUntil   int32 // rungs
	OutFrom, OutUntil int32
	Requests          int64
}

// place is a cell of one step of the ladder: its lengths are 2^shift rungs wide.
type place struct {
	window, class, tenant int32
	inShift, outShift     uint8
	in, out               int32
}

const (
	several = int32(-1)
	all     = int32(-1)
)

func widerInputs(p place) place {
	p.inShift, p.in = p.inShift+1, p.in>>1
	return p
}

func widerOutputs(p place) place {
	p.outShift, p.out = p.outShift+1, p.out>>1
	return p
}

func anyTenant(p place) place {
	if p.tenant != 0 {
		p.tenant = several
	}
	return p
}

func anyHour(p place) place {
	p.window = all
	return p
}

func anyOne(p place) place {
	if p.class != 0 {
		p.class = several
	}
	return p
}

// Lengths go together up to so many rungs, a sixth of a length or so, before
// tenants and hours do.
const nearShift = 3

// steps is the ladder up which small cells go, always the same: first lengths that
// are near each other, then tenants, then hours, then all other lengths, at last
// the classes.
func steps(height span) []func(place) place {
	ladder := []func(place) place{func(p place) place { return p }}
	for shift := 1; 1<<(shift-1) < max(height.in, height.out) || shift <= nearShift; shift++ {
		if 1<<(shift-1) < height.in {
			ladder = append(ladder, widerInputs)
		}
		if 1<<(shift-1) < height.out {
			ladder = append(ladder, widerOutputs)
		}
		if shift == nearShift {
			ladder = append(ladder, anyTenant, anyHour)
		}
	}
	return append(ladder, anyOne)
}

// span is how many rungs the prompts and the answers take up.
type span struct{ in, out int32 }

// histogram counts requests per hour, class, tenant and lengths. Cells of fewer
// than k go up the ladder until they are k together; what remains at its top joins
// the smallest cell, so that none is lost. Alone is how many requests were in a
// cell of fewer than k at first. There must be k requests.
func histogram(t *Trace, k int64) (cells []Cell, alone int64) {
	var height span
	counts := map[place]int64{}
	for _, row := range t.Rows {
		p := place{class: row.Class, tenant: row.Tenant, window: int32(floorTo(row.At, hour) / hour),
			in: int32(rungOf(row.Input)), out: int32(rungOf(row.Output))}
		height.in, height.out = max(height.in, p.in+1), max(height.out, p.out+1)
		counts[p]++
	}
	for i, step := range steps(height) {
		above := map[place]int64{}
		for p, n := range counts {
			above[step(p)] += n
		}
		counts = map[place]int64{}
		for p, n := range above {
			if n >= k {
				cells = append(cells, p.cell(n, height))
				continue
			}
			counts[p] = n
			if i == 0 {
				alone += n
			}
		}
	}
	slices.SortFunc(cells, compareCells)
	left := int64(0)
	for _, n := range counts {
		left += n
	}
	if left > 0 {
		smallest := 0
		for i := range cells {
			if cells[i].Requests < cells[smallest].Requests {
				smallest = i
			}
		}
		rest := Cell{all, anyOf(t.Classes), anyOf(t.Tenants), 0, height.in, 0, height.out, left + cells[smallest].Requests}
		cells = append(slices.Delete(cells, smallest, smallest+1), rest)
	}
	return cells, alone
}

// anyOf several names, or of none where there are none.
func anyOf(list []string) int32 {
	if len(list) == 1 {
		return 0
	}
	return several
}

func (p place) cell(requests int64, height span) Cell {
	in, out := int32(1)<<p.inShift, int32(1)<<p.outShift
	return Cell{p.window, p.class, p.tenant,
		p.in * in, min(height.in, (p.in+1)*in), p.out * out, min(height.out, (p.out+1)*out), requests}
}

func compareCells(a, b Cell) int {
	return cmp.Or(cmp.Compare(a.Window, b.Window), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Tenant, b.Tenant),
		cmp.Compare(a.InFrom, b.InFrom), cmp.Compare(a.InUntil, b.InUntil), cmp.Compare(a.OutFrom, b.OutFrom), cmp.Compare(a.OutUntil, b.OutUntil))
}

// Rate is how many requests of a class came from one instant until another.
type Rate struct {
	From, Until int64 // nanoseconds
	Class       int32
	Requests    int64
}

// rates counts requests per window of the width. A window with fewer than k goes
// together with those after it until they are k, at the end of the trace with
// those before; windows without any stand for themselves.
func rates(t *Trace, k, width int64) (windows []Rate) {
	if len(t.Rows) == 0 {
		return nil
	}
	first, last := floorTo(t.Rows[0].At, width), floorTo(t.Rows[len(t.Rows)-1].At, width)+width
	counts := map[int32]map[int64]int64{}
	for _, row := range t.Rows {
		if counts[row.Class] == nil {
			counts[row.Class] = map[int64]int64{}
		}
		counts[row.Class][floorTo(row.At, width)]++
	}
	for class := range int32(len(t.Classes)) {
		if counts[class] == nil {
			continue
		}
		var mine []Rate
		open := Rate{From: first, Class: class}
		for at := first; at < last; at += width {
			open.Until = at + width
			open.Requests += counts[class][at]
			if open.Requests == 0 || open.Requests >= k {
				mine = append(mine, open)
				open = Rate{From: open.Until, Class: class}
			}
		}
		for open.Requests > 0 && open.Requests < k && len(mine) > 0 {
			before := mine[len(mine)-1]
			mine = mine[:len(mine)-1]
			open.From, open.Requests = before.From, open.Requests+before.Requests
		}
		if open.Requests > 0 {
			mine = append(mine, open)
		}
		windows = append(windows, mine...)
	}
	return windows
}
