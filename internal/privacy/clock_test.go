//go:build duckdb_arrow

package privacy

import (
	"math"
	random "math/rand/v2"
	"testing"
	"time"

	"tidemark/internal/proof"
)

// arrivals of an hour: bursts and lulls, to the nanosecond.
func arrivals(seed uint64, begin int64) *Trace {
	source := random.New(random.NewPCG(seed, 2))
	b := newBuilder()
	rate := 1.0
	for at := 0.0; at < 3600; at += source.ExpFloat64() / rate {
		if source.IntN(50) == 0 {
			rate = math.Exp(source.NormFloat64()) * 3
		}
		b.trace.Rows = append(b.trace.Rows, Row{At: begin + int64(at*1e9), Input: 1, Output: 1, ThinkS: math.NaN(),
			Session: b.sessions.place(string(rune('a' + source.IntN(20))))})
	}
	return b.done()
}

// Counts per minute stay as they are; in windows of 10 s, wherever they begin, the
// dispersion of the counts changes by less than 5 %.
func TestTimesKeepTheShape(t *testing.T) {
	for seed := range uint64(proof.Many(2, 10)) {
		for _, tick := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
			trace := arrivals(seed, int64(seed)*1234567891)
			before, shape, n := minutes(trace.Rows), *dispersion(trace.Rows, 10*second), len(trace.Rows)
			trace.spread(keyOf(byte(seed)), 1, int64(tick))
			if moved := changed(before, minutes(trace.Rows)); moved != 0 || len(trace.Rows) != n {
				t.Errorf("seed %d, %v: %d minutes have another count", seed, tick, moved)
			}
			for i, row := range trace.Rows {
				if row.At%1e6 != 0 || i > 0 && row.At < trace.Rows[i-1].At {
					t.Fatalf("seed %d, %v: row %d at %d ns: finer than a millisecond, or out of order", seed, tick, i, row.At)
				}
			}
			if after := *dispersion(trace.Rows, 10*second); tick == time.Second && math.Abs(after/shape-1) >= 0.05 {
				t.Errorf("seed %d: dispersion %v, then %v", seed, shape, after)
			}
		}
	}
}

// The order of a session's turns stays, also of those that came in one second; of
// the others it does not.
func TestTurnsStayInOrder(t *testing.T) {
	trace := arrivals(3, 0)
	last := map[int32]int32{}
	for i := range trace.Rows {
		row := &trace.Rows[i]
		row.Turn = last[row.Session]
		row.Input = int64(i)
		last[row.Session]++
	}
	trace.spread(keyOf(5), 1, second)
	next, mixed := map[int32]int32{}, 0
	for i, row := range trace.Rows {
		if row.Turn != next[row.Session] {
			t.Fatalf("turn %d of session %d comes after turn %d", next[row.Session], row.Session, row.Turn)
		}
		next[row.Session]++
		if row.Input != int64(i) {
			mixed++
		}
	}
	if mixed < len(trace.Rows)/4 {
		t.Errorf("only %d of %d rows changed their place", mixed, len(trace.Rows))
	}
}

// 2023-11-16 was a Thursday.
func TestShiftKeepsWeekdayAndHour(t *testing.T) {
	began := time.Date(2023, 11, 16, 18, 17, 3, 979960000, time.UTC)
	weeksSeen := map[int64]bool{}
	for key := range byte(20) {
		trace := &Trace{IsDated: true, Rows: []Row{{At: began.UnixNano()}}}
		trace.shift(keyOf(key), 1, true, minute)
		at := time.Unix(0, trace.Rows[0].At).UTC()
		if at.Weekday() != time.Thursday || at.Format("15:04:05.000000") != "18:17:03.979960" || at.Year() < 1971 || at.Year() > 1996 {
			t.Errorf("key %d: got %v, want a Thursday at 18:17:03.97996", key, at)
		}
		weeksSeen[trace.Rows[0].At] = true
	}
	if len(weeksSeen) < 15 {
		t.Errorf("20 keys drew %d weeks", len(weeksSeen))
	}
	trace := &Trace{IsDated: true, Rows: []Row{{At: began.UnixNano()}}}
	if trace.shift(keyOf(1), 1, false, minute); trace.Rows[0].At != 3979960000 || trace.IsDated {
		t.Errorf("got %d ns, dated %v; want 3.97996 s into the first minute", trace.Rows[0].At, trace.IsDated)
	}
}

// A thousand think times of 2.5 s in the mean keep their mean at every tick, and a
// tick has one of them; as they were, the check refuses them.
func TestThinkTimesKeepTheirMean(t *testing.T) {
	for _, tick := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
		trace := &Trace{}
		source := random.New(random.NewPCG(3, 3))
		for range 1000 {
			trace.Rows = append(trace.Rows, Row{ThinkS: source.ExpFloat64() * 2.5})
		}
		trace.Rows = append(trace.Rows, Row{ThinkS: math.NaN()})
		if trace.thinkProblem(int64(tick), 10) == "" {
			t.Errorf("%v: exact think times pass", tick)
		}
		before, after := trace.roundThinks(int64(tick), 10)
		if math.Abs(*after-*before) > 0.001 {
			t.Errorf("%v: the mean was %v and is %v", tick, *before, *after)
		}
		if problem := trace.thinkProblem(int64(tick), 10); problem != "" {
			t.Errorf("%v: %s", tick, problem)
		}
	}
}
