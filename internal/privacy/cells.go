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

// step of the ladder, and what goes together at it beside lengths.
type step struct {
	up      func(place) place
	gathers int
}

const (
	hours = 1 + iota
	classes
)

// steps is the ladder up which small cells go, always the same: first lengths that
// are near each other, then tenants, then hours, then all other lengths, at last
// the classes. Its top is one place for all.
func steps(height span, top place) []step {
	ladder := []step{{up: func(p place) place { return p }}}
	for shift := 1; 1<<(shift-1) < max(height.in, height.out) || shift <= nearShift; shift++ {
		if 1<<(shift-1) < height.in {
			ladder = append(ladder, step{up: widerInputs})
		}
		if 1<<(shift-1) < height.out {
			ladder = append(ladder, step{up: widerOutputs})
		}
		if shift == nearShift {
			ladder = append(ladder, step{up: anyTenant}, step{anyHour, hours})
		}
	}
	return append(ladder, step{func(place) place { return top }, classes})
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

// isShown says whether a cell may stand: it is of k requests, and not of one user.
func (g group) isShown(k int64) bool { return g.requests >= k && g.user == several }

// histogram counts requests per hour, class, tenant and lengths. Cells of fewer
// than k, and those of one user alone, go up the ladder until they are k of more
// than one; what remains at its top joins the smallest cell, so that none is lost.
// Moved is how many requests could not stay where they were. There must be k
// requests.
//
// The rates say how many requests of a class came in an hour. What an hour lacks
// in the cells would be a small cell by subtraction; so before hours, and before
// classes, go together, what goes must be nothing or a cell that may stand, and
// where it is less, the smallest cell that had found its place goes with it.
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
	ladder := steps(height, top)
	shown := &settled{k: k, ladder: ladder}
	for i, step := range ladder {
		switch {
		case step.gathers == hours:
			shown.fillUp(groups, i, func(p place) place { return place{class: p.class, window: p.window} })
		case step.gathers == classes:
			shown.fillUp(groups, i, func(p place) place { return place{class: p.class} })
		}
		above := map[place]group{}
		for p, g := range groups {
			above[step.up(p)] = above[step.up(p)].with(g)
		}
		groups = map[place]group{}
		for p, g := range above {
			if g.isShown(k) {
				shown.list = append(shown.list, standing{p, g, i})
				continue
			}
			groups[p] = g
			if i == 0 {
				moved += g.requests
			}
		}
	}
	for _, s := range shown.list {
		cells = append(cells, s.place.cell(s.group.requests, height))
	}
	slices.SortFunc(cells, compareCells)
	if rest := groups[top]; rest.requests > 0 {
		cells = joined(cells, top.cell(rest.requests, height))
	}
	return cells, moved
}

// standing is a cell that found its place, and at which step of the ladder.
type standing struct {
	place place
	group group
	step  int
}

// settled are the cells that found their places.
type settled struct {
	k      int64
	ladder []step
	list   []standing
}

// fillUp takes cells back, smallest first, until what is about to leave each whole
// - an hour of a class, a class - is nothing or may be shown.
func (s *settled) fillUp(groups map[place]group, at int, whole func(place) place) {
	leaving := map[place]group{}
	for p, g := range groups {
		leaving[whole(p)] = leaving[whole(p)].with(g)
	}
	for of := range leaving {
		if leaving[of].isShown(s.k) {
			delete(leaving, of)
		}
	}
	if len(leaving) == 0 {
		return
	}
	slices.SortFunc(s.list, func(a, b standing) int {
		return cmp.Or(cmp.Compare(a.group.requests, b.group.requests), comparePlaces(a.place, b.place))
	})
	s.list = slices.DeleteFunc(s.list, func(c standing) bool {
		g, isShort := leaving[whole(c.place)]
		if !isShort || g.isShown(s.k) {
			return false
		}
		leaving[whole(c.place)] = g.with(c.group)
		p := c.place
		for _, step := range s.ladder[c.step+1 : at] {
			p = step.up(p)
		}
		groups[p] = groups[p].with(c.group)
		return true
	})
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.window, b.window), cmp.Compare(a.class, b.class), cmp.Compare(a.tenant, b.tenant),
		cmp.Compare(a.inShift, b.inShift), cmp.Compare(a.in, b.in), cmp.Compare(a.outShift, b.outShift), cmp.Compare(a.out, b.out))
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

// rates counts requests per window of the width. A window with fewer than k, or of
// one user alone, goes together with those after it until it may stand, at the end
// of the trace with those before; windows without any stand for themselves.
func rates(t *Trace, k, width int64) (windows []Rate) {
	if len(t.Rows) == 0 {
		return nil
	}
	users, _ := t.users()
	first, last := floorTo(t.Rows[0].At, width), floorTo(t.Rows[len(t.Rows)-1].At, width)+width
	counts := map[int32]map[int64]group{}
	for i, row := range t.Rows {
		if counts[row.Class] == nil {
			counts[row.Class] = map[int64]group{}
		}
		at := floorTo(row.At, width)
		counts[row.Class][at] = counts[row.Class][at].with(group{1, users[i]})
	}
	for class := range int32(len(t.Classes)) {
		if counts[class] != nil {
			windows = append(windows, ratesOf(counts[class], Rate{From: first, Until: last, Class: class}, k, width)...)
		}
	}
	return windows
}

func ratesOf(counts map[int64]group, whole Rate, k, width int64) (windows []Rate) {
	type window struct {
		from, until int64
		group       group
	}
	var closed []window
	open := window{from: whole.From}
	for at := whole.From; at < whole.Until; at += width {
		open.until = at + width
		if counts[at].requests > 0 {
			open.group = open.group.with(counts[at])
		}
		if open.group.requests == 0 || open.group.isShown(k) {
			closed = append(closed, open)
			open = window{from: open.until}
		}
	}
	for open.group.requests > 0 && !open.group.isShown(k) && len(closed) > 0 {
		before := closed[len(closed)-1]
		closed = closed[:len(closed)-1]
		open.from = before.from
		if before.group.requests > 0 {
			open.group = open.group.with(before.group)
		}
	}
	if open.group.requests > 0 {
		closed = append(closed, open)
	}
	for _, w := range closed {
		windows = append(windows, Rate{w.from, w.until, whole.Class, w.group.requests})
	}
	return windows
}
