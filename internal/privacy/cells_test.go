//go:build duckdb_arrow

package privacy

import (
	"cmp"
	"math"
	random "math/rand/v2"
	"slices"
	"testing"

	"tidemark/internal/proof"
)

// made is a trace of three hours with classes and tenants, rare ones among them.
func made(seed uint64, n int) *Trace {
	source := random.New(random.NewPCG(seed, 1))
	t := &Trace{Sessions: []string{"", "x", "y", "z"}, Tenants: []string{"", "a", "b", "c"}, Classes: []string{"", "chat", "code"}}
	for range n {
		t.Rows = append(t.Rows, Row{
			At:    source.Int64N(3 * hour),
			Input: int64(math.Exp(source.NormFloat64()*1.5 + 6)), Output: int64(math.Exp(source.NormFloat64() + 4)),
			Tenant: int32(source.IntN(4)), Session: int32(source.IntN(4)), Class: int32(min(2, source.IntN(20))), Turn: -1, ParentTurn: -1, Failed: -1,
		})
	}
	b := builder{trace: *t, sessions: &names{list: t.Sessions}, tenants: &names{list: t.Tenants}, classes: &names{list: t.Classes}}
	return b.done()
}

// Whatever the trace: no cell of 1 to k-1, and not a request more or less.
func TestNoSmallCellsAndNoneLost(t *testing.T) {
	for seed := uint64(0); seed < 30; seed += uint64(proof.Many(7, 1)) {
		for _, k := range []int64{2, 10, 50} {
			n := int(k) + int(seed*seed)*6
			trace := made(seed, n)
			trace.mergeRareNames(k)
			cells, _ := histogram(trace, k)
			sum := int64(0)
			for _, cell := range cells {
				if sum += cell.Requests; cell.Requests < k {
					t.Errorf("seed %d, %d requests, k %d: a cell of %d", seed, n, k, cell.Requests)
				}
			}
			if sum != int64(n) {
				t.Errorf("seed %d, k %d: %d requests in the cells, want %d", seed, k, sum, n)
			}
			windows := rates(trace, k, minute)
			if _, problem := differencesOf(trace, cells, windows, k); problem != "" {
				t.Errorf("seed %d, %d requests, k %d: %s", seed, n, k, problem)
			}
			perClass := map[int32]int64{}
			for _, window := range windows {
				if perClass[window.Class] += window.Requests; window.Requests > 0 && window.Requests < k {
					t.Errorf("seed %d, k %d: a window of %d", seed, k, window.Requests)
				}
			}
			for _, row := range trace.Rows {
				perClass[row.Class]--
			}
			for class, left := range perClass {
				if left != 0 {
					t.Errorf("seed %d, k %d: class %d has %d requests more or less in its windows", seed, k, class, left)
				}
			}
		}
	}
}

// differencesOf is what a reader of both files finds.
func differencesOf(t *Trace, cells []Cell, windows []Rate, k int64) (int, string) {
	var lengths []lengthCell
	for _, c := range cells {
		l := lengthCell{class: word(t.Classes, c.Class), requests: float64(c.Requests)}
		if c.Window != all {
			l.fromS, l.untilS = float64(c.Window)*3600, float64(c.Window+1)*3600
		}
		lengths = append(lengths, l)
	}
	var counts []rateCell
	for _, w := range windows {
		counts = append(counts, rateCell{float64(w.From / second), float64(w.Until / second), word(t.Classes, w.Class), float64(w.Requests)})
	}
	return differences(lengths, counts, k)
}

// Two hours of 20 requests of one length and three of another: the three, gone up
// the ladder, would be seen where 23 came and the cells have 20. So the 20 go too.
func TestNoSmallCellBySubtraction(t *testing.T) {
	trace := &Trace{Sessions: []string{""}, Tenants: []string{""}, Classes: []string{""}}
	for h := range int64(2) {
		for i := range int64(23) {
			row := Row{At: h*hour + i*2*minute, Input: 100, Output: 50}
			if i%8 == 3 {
				row.Input = 5000
			}
			trace.Rows = append(trace.Rows, row)
		}
	}
	cells, _ := histogram(trace, 5)
	windows := rates(trace, 5, minute)
	if looked, problem := differencesOf(trace, cells, windows, 5); problem != "" || looked == 0 {
		t.Errorf("%d differences looked at, %s", looked, problem)
	}
	for _, cell := range cells {
		if cell.Window != all {
			t.Errorf("%+v is of one hour, though three of that hour are not in it", cell)
		}
	}
	// 43 rates, 40 in cells of their hours: three in each hour are seen.
	seen := []lengthCell{{untilS: 3600, requests: 20}, {fromS: 3600, untilS: 7200, requests: 20}, {requests: 6}}
	if _, problem := differences(seen, []rateCell{{untilS: 3600, requests: 23}, {fromS: 3600, untilS: 7200, requests: 23}}, 5); problem == "" {
		t.Error("three of an hour can be seen by subtraction, and are not found")
	}
}

// A window of rates holds more than one user: twenty requests of one session in a
// minute wait for another's.
func TestWindowsAreOfMoreThanOneUser(t *testing.T) {
	trace := &Trace{Sessions: []string{"", "heavy", "x"}, Tenants: []string{""}, Classes: []string{""}}
	for i := range int64(20) {
		trace.Rows = append(trace.Rows, Row{At: i * second, Session: 1}, Row{At: 5*minute + i*second, Session: 1 + int32(i%2)})
	}
	slices.SortFunc(trace.Rows, func(a, b Row) int { return cmp.Compare(a.At, b.At) })
	got := rates(trace, 3, minute)
	if len(got) != 1 || got[0].Requests != 40 || got[0].Until != 6*minute {
		t.Errorf("got %+v, want one window of six minutes and 40 requests", got)
	}
}

// The cells hold the requests that they count: each of them lies in one, and by
// k = 1 each cell is one rung of one hour.
func TestCellsByHand(t *testing.T) {
	row := func(at int64, input, output int64) Row { return Row{At: at, Input: input, Output: output} }
	trace := &Trace{Sessions: []string{""}, Tenants: []string{""}, Classes: []string{""}, Rows: []Row{
		row(0, 100, 10), row(1, 100, 10), row(2, 101, 12), // one rung: 96 to 111, 1 to 15
		row(3, 120, 10), row(4, 120, 10), // one rung further
		row(5, 5000, 10), // far from all
	}}
	cells, alone := histogram(trace, 3)
	// The three stand for themselves. The two and the one go up; 120 and 5000 meet
	// where a cell is wide enough for both, that is the whole width.
	if len(cells) != 2 || alone != 3 {
		t.Fatalf("got %+v, %d alone; want 2 cells, 3 alone", cells, alone)
	}
	near, far := cells[0], cells[1]
	if near.Window != 0 {
		near, far = far, near
	}
	if rungs[near.InFrom] != 96 || rungs[near.InUntil] != 112 || rungs[near.OutFrom] != 1 || rungs[near.OutUntil] != 16 || near.Requests != 3 {
		t.Errorf("got %+v, want 3 requests of 96 to 111 tokens", near)
	}
	if far.Window != all || rungs[far.InFrom] > 120 || rungs[far.InUntil] <= 5000 || far.Requests != 3 {
		t.Errorf("got %+v, want 3 requests of all hours, 120 and 5000 among them", far)
	}
}

// Five requests and k = 3: two of them find nobody, so the whole becomes one cell.
func TestWhatRemainsJoinsTheSmallest(t *testing.T) {
	trace := &Trace{Sessions: []string{""}, Tenants: []string{""}, Classes: []string{"", "x", "y"}}
	for i := range 5 {
		trace.Rows = append(trace.Rows, Row{At: int64(i), Input: 100, Output: 50, Class: 1 + int32(i/3)})
	}
	cells, _ := histogram(trace, 3)
	if len(cells) != 1 || cells[0].Requests != 5 || cells[0].Class != several {
		t.Errorf("got %+v, want one cell of 5 requests of several classes", cells)
	}
}

// Twelve requests of one session are no cell of their own, though k is 3: they go up
// until another user's are among them.
func TestCellsAreOfMoreThanOneUser(t *testing.T) {
	trace := &Trace{Sessions: []string{"", "heavy", "x", "y", "z"}, Tenants: []string{""}, Classes: []string{""}}
	for i := range 12 {
		trace.Rows = append(trace.Rows, Row{At: int64(i), Input: 100, Output: 50, Session: 1})
	}
	for i := range int32(3) {
		trace.Rows = append(trace.Rows, Row{At: int64(i), Input: 900, Output: 50, Session: 2 + i})
	}
	cells, moved := histogram(trace, 3)
	if len(cells) != 1 || cells[0].Requests != 15 || moved != 12 {
		t.Errorf("got %+v, %d moved; want the 12 in one cell with the 3 of others", cells, moved)
	}
}
