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

// Lengths go together up to so many rungs, a sixth of a length or so, before
// tenants and hours do.
const nearShift = 3

// steps is the ladder up which small cells go, always the same: first lengths that
// are near each other, then tenants, then hours, then all other lengths, at last
// the classes. Its top is one place for all.
func steps(height span, top place) []func(place) place {
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
	return append(ladder, func(place) place { return top })
}

// span is how many rungs the prompts and the answers take up.
type span struct{ in, out int32 }

// group is the requests of a place, and the user whose they all are; several where
// they are of more than one, or of users that nobody can tell apart.
type group struct {
	requests int64
	user     int32
}

func (g group) with(other group) group {
	if g.requests > 0 && (g.user != other.user || other.user < 0) {
		other.user = several
	}
	return group{g.requests + other.requests, other.user}
}

// histogram counts requests per hour, class, tenant and lengths. Cells of fewer
// than k, and those of one user alone, go up the ladder until they are k of more
// than one; what remains at its top joins the smallest cell, so that none is lost.
// Moved is how many requests could not stay where they were. There must be k
// requests.
func histogram(t *Trace, k int64) (cells []Cell, moved int64) {
	users, _ := t.users()
	var height span
	groups := map[place]group{}
	for i, row := range t.Rows {
		p := place{class: row.Class, tenant: row.Tenant, window: int32(floorTo(row.At, hour) / hour),
			in: int32(rungOf(row.Input)), out: int32(rungOf(row.Output))}
		height.in, height.out = max(height.in, p.in+1), max(height.out, p.out+1)
		groups[p] = groups[p].with(group{1, users[i]})
	}
	top := place{window: all, class: anyOf(t.Classes), tenant: anyOf(t.Tenants), inShift: 31, outShift: 31}
	for i, step := range steps(height, top) {
		above := map[place]group{}
		for p, g := range groups {
			above[step(p)] = above[step(p)].with(g)
		}
		groups = map[place]group{}
		for p, g := range above {
			if g.requests >= k && g.user == several {
				cells = append(cells, p.cell(g.requests, height))
				continue
			}
			groups[p] = g
			if i == 0 {
				moved += g.requests
			}
		}
	}
	slices.SortFunc(cells, compareCells)
	if rest := groups[top]; rest.requests > 0 {
		cells = joined(cells, top.cell(rest.requests, height))
	}
	return cells, moved
}

// joined puts what is too small to stand alone into the smallest of the others.
func joined(cells []Cell, rest Cell) []Cell {
	if len(cells) == 0 {
		return []Cell{rest}
	}
	smallest := 0
	for i := range cells {
		if cells[i].Requests < cells[smallest].Requests {
			smallest = i
		}
	}
	rest.Requests += cells[smallest].Requests
	return append(slices.Delete(cells, smallest, smallest+1), rest)
}

// anyOf several names, or of none where there are none.
func anyOf(list []string) int32 {
	if len(list) == 1 {
		return 0
	}
	return several
}

func (p place) cell(requests int64, height span) Cell {
	side := func(at int32, shift uint8, height int32) (from, until int32) {
		if shift >= 31 { // all of it
			return 0, height
		}
		return at << shift, min(height, (at+1)<<shift)
	}
	c := Cell{Window: p.window, Class: p.class, Tenant: p.tenant, Requests: requests}
	c.InFrom, c.InUntil = side(p.in, p.inShift, height.in)
	c.OutFrom, c.OutUntil = side(p.out, p.outShift, height.out)
	return c
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
