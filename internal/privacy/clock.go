//go:build duckdb_arrow

package privacy

import (
	"cmp"
	"slices"
	"time"
)

// spread moves each request to a random millisecond of its tick. The number of
// requests per tick is kept; where in the tick they came, and in which order,
// is lost. Only the requests of one session keep their order, because a turn
// cannot come before the one that it continues.
func (t *Trace) spread(key Key, seed uint64, tick int64) {
	random := key.source("spread", seed)
	roots := t.roots()
	for from := 0; from < len(t.Rows); {
		begin := floorTo(t.Rows[from].At, tick)
		until := from
		for until < len(t.Rows) && t.Rows[until].At < begin+tick {
			until++
		}
		inTick := t.Rows[from:until]
		for i := range inTick {
			inTick[i].At = begin + random.Int64N(tick/int64(time.Millisecond))*int64(time.Millisecond)
		}
		keepOrder(inTick, roots)
		slices.SortStableFunc(inTick, func(a, b Row) int { return cmp.Compare(a.At, b.At) })
		from = until
	}
}

// keepOrder gives each session's requests their new times in the old order.
func keepOrder(rows []Row, roots []int32) {
	bySession := map[int32][]int{}
	for i, row := range rows {
		if root := roots[row.Session]; root != 0 {
			bySession[root] = append(bySession[root], i)
		}
	}
	for _, theirs := range bySession {
		times := make([]int64, len(theirs))
		for i, at := range theirs {
			times[i] = rows[at].At
		}
		slices.Sort(times)
		for i, at := range theirs {
			rows[at].At = times[i]
		}
	}
}

// A trace that keeps its weekdays is moved to one of these weeks, which start
// on a Monday. No server of tokens ran in the 1970s to 1990s, so nobody can
// mistake a drawn date for a real one, and a check recognises a date that was
// not drawn.
var (
	firstMonday = time.Date(1971, 1, 4, 0, 0, 0, 0, time.UTC)
	weeks       = int64(1300)
)

const week = 7 * 24 * hour

// shift moves the clock: to a week that the key selects, with weekday and hour
// kept, or so that the trace starts in its own first minute (or hour).
func (t *Trace) shift(key Key, seed uint64, keepsWeekday bool, step int64) {
	if len(t.Rows) == 0 {
		return
	}
	first := t.Rows[0].At
	by := -floorTo(first, step)
	if keepsWeekday {
		monday := firstMonday.UnixNano()
		began := floorTo(first-monday, week) + monday
		by = monday + key.source("epoch", seed).Int64N(weeks)*week - began
	}
	for i := range t.Rows {
		t.Rows[i].At += by
	}
	t.IsDated = keepsWeekday
}

// pseudonymize replaces the names of sessions, tenants and blocks. Only the key
// connects the new names with the old ones.
func (t *Trace) pseudonymize(key Key) {
	for list, purpose := range map[*[]string]string{&t.Sessions: "session", &t.Tenants: "tenant"} {
		for i, name := range *list {
			if name != "" && name != other {
				(*list)[i] = key.pseudonym(purpose, name)
			}
		}
	}
	numbers := key.dense(t.firstUses())
	for _, row := range t.Rows {
		for i, id := range row.Blocks {
			row.Blocks[i] = numbers[id]
		}
	}
}
