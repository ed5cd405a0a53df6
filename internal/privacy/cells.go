//go:build duckdb_arrow

package privacy

import (
	"cmp"
	"slices"
)

// The histogram of an export has no cell of fewer than k requests and none of a
// single user. Small cells are not dropped, which would bias the lengths, but
// merged with others along a fixed generalization ladder, as in full-domain
// generalization (Samarati and Sweeney, 1998): wider lengths first, then all
// tenants, all hours, still wider lengths, and all classes at last.

// Cell is a cell of the histogram of lengths: requests of one window, class and
// tenant whose lengths lie on some rungs, from the first up to but not
// including the second.
type Cell struct {
	Window            int32 // -1: of all windows
	Class, Tenant     int32 // as in the trace; -1: of several
	InFrom, InUntil   int32 // rungs
	OutFrom, OutUntil int32
	Requests          int64
}

// place identifies a cell at one step of the ladder. Its lengths are 2^shift
// rungs wide.
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

// nearShift bounds the first widening of lengths: about a sixth of a length.
// Only after that do tenants and hours merge, because a replay needs the hours
// more than exact lengths.
const nearShift = 3

// step is a step of the ladder: how a cell generalizes there, and what merges
// besides lengths.
type step struct {
	up      func(place) place
	gathers int
}

const (
	hours = 1 + iota
	classes
)

// steps is the ladder, the same for every trace of that height: lengths that
// are near each other, tenants, hours, all other lengths, classes. At its top
// is one cell for everything.
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

// span is the number of rungs that prompts and answers take up.
type span struct{ in, out int32 }

// group counts the requests of a cell and remembers whose they are: one user,
// or several. Users that nobody can tell apart count as several.
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

// isShown reports whether a cell may appear: it has k requests, and they are
// not all of one user.
func (g group) isShown(k int64) bool { return g.requests >= k && g.user == several }

// histogram counts requests per hour, class, tenant and lengths. Cells of fewer
// than k requests, and those of one user, climb the ladder until they hold k
// requests of several users. What remains at the top joins the smallest cell,
// so that no request is lost. moved is the number of requests that could not
// stay in their cell. There must be at least k requests.
//
// The table of rates says how many requests of a class came in an hour. What an
// hour's cells lack in comparison would be a small cell by subtraction. So
// before hours merge, and before classes merge, the requests that are about to
// leave an hour (a class) must be none or enough to be shown. Where they are
// too few, the smallest settled cell of that hour leaves with them.
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

// standing is a cell that has found its place, and the step of the ladder where
// it did.
type standing struct {
	place place
	group group
	step  int
}

// settled are the cells that have found their place.
type settled struct {
	k      int64
	ladder []step
	list   []standing
}

// fillUp takes settled cells back, smallest first, until what is about to leave
// each whole (an hour of a class, or a class) is nothing or may be shown.
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

// joined adds what is too small to stand alone to the smallest of the other
// cells.
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

// anyOf stands for all names of a list: for the only name where there is no
// other.
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

// Rate is the number of requests of a class between two instants.
type Rate struct {
	From, Until int64 // nanoseconds
	Class       int32
	Requests    int64
}

// rates counts requests per window of a width. A window with fewer than k
// requests, or with those of one user, merges with the windows after it until
// it may be shown, and at the end of the trace with those before it. Windows
// without any request stand alone: that nothing came is no secret.
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

// ratesOf merges the windows of one class.
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
