//go:build duckdb_arrow

package privacy

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"

	"tidemark/internal/hint"
)

// most is how many rows one user may have, so that nobody has more than the
// share of what remains once all keep to it; 0 where no number does. The limit
// and the remainder depend on each other: a lower limit also makes the total
// smaller.
func most(counts []int64, share float64) int64 {
	slices.Sort(counts)
	sums := make([]int64, len(counts)+1)
	for i, n := range counts {
		sums[i+1] = sums[i] + n
	}
	kept := func(limit int64) int64 {
		over := sort.Search(len(counts), func(i int) bool { return counts[i] > limit })
		return sums[over] + int64(len(counts)-over)*limit
	}
	// What is kept grows slower and slower with the limit, so the limits that
	// hold are those up to one.
	largest := counts[len(counts)-1]
	first := sort.Search(int(largest), func(i int) bool {
		limit := int64(i) + 1
		return float64(limit) > share*float64(kept(limit))
	})
	return int64(first)
}

// countsOf is how many rows each user has.
func countsOf(users []int32) (counts []int64, byUser map[int32]int64) {
	byUser = map[int32]int64{}
	for _, user := range users {
		if user < 0 {
			counts = append(counts, 1)
		} else {
			byUser[user]++
		}
	}
	for _, n := range byUser {
		counts = append(counts, n)
	}
	return counts, byUser
}

// capUsers drops rows of users who have more than the share. Whole sessions go,
// in an order that the key determines; of the last one its first turns stay,
// because a session must start at its start. It returns how many rows a user
// has at most.
func (t *Trace) capUsers(key Key, share float64) (limit, dropped int64, err error) {
	users, some := t.users()
	if !some || share >= 1 {
		return t.largestUser(), 0, nil
	}
	counts, byUser := countsOf(users)
	limit = most(counts, share)
	if limit == 0 {
		return 0, 0, hint.Errorf("%d users: at least one of them has more than a share of %g", len(counts), share).
			Hint("%s", "say a larger one: --user-cap "+capFor(counts))
	}
	rows := map[int32][]int{}
	for i, user := range users {
		if byUser[user] > limit && user >= 0 {
			rows[user] = append(rows[user], i)
		}
	}
	gone := make([]bool, len(t.Rows))
	for _, theirs := range rows {
		slices.SortStableFunc(theirs, func(a, b int) int { return cmp.Compare(t.draw(key, a), t.draw(key, b)) })
		for _, i := range theirs[limit:] {
			gone[i] = true
		}
	}
	kept := t.Rows[:0]
	for i, row := range t.Rows {
		if !gone[i] {
			kept = append(kept, row)
		}
	}
	dropped = int64(len(t.Rows) - len(kept))
	t.Rows = kept
	t.cutOrphans()
	return min(limit, t.largestUser()), dropped, nil
}

// draw puts the sessions of one user into an order; a row without one is its
// own.
func (t *Trace) draw(key Key, row int) uint64 {
	if session := t.Rows[row].Session; session != 0 {
		return key.number("keep", []byte(t.Sessions[session]))
	}
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], uint64(row))
	return key.number("keep", number[:])
}

// cutOrphans forgets parents whose turn was dropped.
func (t *Trace) cutOrphans() {
	type turn struct{ session, turn int32 }
	there := make(map[turn]bool, len(t.Rows))
	for _, row := range t.Rows {
		there[turn{row.Session, row.Turn}] = true
	}
	for i := range t.Rows {
		if row := &t.Rows[i]; row.Parent != 0 && row.ParentTurn >= 0 && !there[turn{row.Parent, row.ParentTurn}] {
			row.Parent, row.ParentTurn = 0, -1
		}
	}
}

func (t *Trace) largestUser() int64 {
	users, _ := t.users()
	largest := int64(min(1, len(users)))
	_, byUser := countsOf(users)
	for _, n := range byUser {
		largest = max(largest, n)
	}
	return largest
}

// capFor is the smallest usual cap under which nine in ten rows stay. It goes
// into a hint.
func capFor(counts []int64) string {
	all := int64(0)
	for _, n := range counts {
		all += n
	}
	for _, share := range []float64{0.02, 0.05, 0.1, 0.2, 0.5} {
		limit, kept := most(counts, share), int64(0)
		for _, n := range counts {
			kept += min(n, limit)
		}
		if float64(kept) >= 0.9*float64(all) {
			return fmt.Sprint(share)
		}
	}
	return "1"
}

// toMerge finds the names that must be renamed to "other": those that too few
// rows have, those of one user only, and those that are not words. If all of
// these together may not be shown either, the rarest of the rest is merged with
// them. A name that all rows have says nothing about anybody.
func toMerge(rows []group, mustGo map[int32]bool, mayStand func(group) bool) (renamed map[int32]bool) {
	renamed = map[int32]bool{}
	var order []int32
	for place, g := range rows {
		if g.requests > 0 {
			order = append(order, int32(place))
		}
	}
	if len(order) == 1 && !mustGo[order[0]] {
		return renamed
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(rows[a].requests, rows[b].requests), cmp.Compare(a, b))
	})
	var together group
	take := func(place int32) {
		renamed[place] = true
		together = together.with(rows[place])
	}
	for _, place := range order {
		if mustGo[place] || !mayStand(rows[place]) {
			take(place)
		}
	}
	for _, place := range order {
		if together.requests == 0 || mayStand(together) {
			break
		}
		if !renamed[place] {
			take(place)
		}
	}
	return renamed
}

// mergeRareNames merges rare classes and tenants, classes of one user, and
// classes that are not words. unfit counts the last.
func (t *Trace) mergeRareNames(k int64) (classes, tenants, unfit int) {
	users, _ := t.users()
	noWords := map[int32]bool{}
	for i, class := range t.Classes {
		if class != "" && !isWord(class) {
			noWords[int32(i)] = true
		}
	}
	each := func(list *[]string, of func(*Row) *int32, mustGo map[int32]bool, mayStand func(group) bool) (gone, forced int) {
		groups := make([]group, len(*list))
		for i := range t.Rows {
			at := *of(&t.Rows[i])
			groups[at] = groups[at].with(group{1, users[i]})
		}
		renamed := toMerge(groups, mustGo, mayStand)
		if len(renamed) == 0 {
			return 0, 0
		}
		place := int32(slices.Index(*list, other))
		if place < 0 {
			place = int32(len(*list))
			*list = append(*list, other)
		}
		for i := range t.Rows {
			if at := of(&t.Rows[i]); renamed[*at] {
				*at = place
			}
		}
		for at := range renamed {
			if mustGo[at] {
				forced++
			}
		}
		return len(renamed), forced
	}
	classes, unfit = each(&t.Classes, func(r *Row) *int32 { return &r.Class }, noWords, func(g group) bool { return g.isShown(k) })
	// A tenant is one user; rule 6 says how large it may be.
	tenants, _ = each(&t.Tenants, func(r *Row) *int32 { return &r.Tenant }, nil, func(g group) bool { return g.requests >= k })
	return classes, tenants, unfit
}

// rankCorrelation is Spearman's, of the values with their positions. No two
// values may be equal.
func rankCorrelation(values []uint64) float64 {
	n := float64(len(values))
	ranks := make([]int, len(values))
	for i := range ranks {
		ranks[i] = i
	}
	slices.SortFunc(ranks, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	sum := 0.0
	for rank, at := range ranks {
		sum += math.Pow(float64(rank-at), 2)
	}
	return 1 - 6*sum/(n*(n*n-1))
}
