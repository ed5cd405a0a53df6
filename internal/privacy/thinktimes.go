//go:build duckdb_arrow

package privacy

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tidemark/internal/show"
)

// roundThinks replaces each think time by the mean of all think times in its
// tick, so that the overall mean stays and a tick has one think time
// (microaggregation). Ticks with fewer than k merge with those after them, and
// at the end with those before. Fewer than k think times in all are removed. It
// returns the mean before and after.
func (t *Trace) roundThinks(tick, k int64) (before, after *float64) {
	var having []int
	sum := 0.0
	for i, row := range t.Rows {
		if !math.IsNaN(row.ThinkS) {
			having = append(having, i)
			sum += row.ThinkS
		}
	}
	if len(having) == 0 {
		return nil, nil
	}
	before = new(sum / float64(len(having)))
	if int64(len(having)) < k {
		for _, i := range having {
			t.Rows[i].ThinkS = math.NaN()
		}
		return before, nil
	}
	slices.SortStableFunc(having, func(a, b int) int { return cmp.Compare(t.Rows[a].ThinkS, t.Rows[b].ThinkS) })
	total := 0.0
	for from := 0; from < len(having); {
		until := from + 1
		for until < len(having) && (int64(until-from) < k || t.tickOfThink(having[until], tick) == t.tickOfThink(having[until-1], tick)) {
			until++
		}
		if rest := having[until:]; int64(len(rest)) < k {
			until = len(having)
		}
		mean := 0.0
		for _, i := range having[from:until] {
			mean += t.Rows[i].ThinkS / float64(until-from)
		}
		for _, i := range having[from:until] {
			t.Rows[i].ThinkS = math.Floor(mean*1e3+1e-6) / 1e3 // rounded down, to stay in its tick
			total += t.Rows[i].ThinkS
		}
		from = until
	}
	return before, new(total / float64(len(having)))
}

func (t *Trace) tickOfThink(row int, tick int64) int64 { return tickOf(t.Rows[row].ThinkS, tick) }

// tickOf is the tick in which a duration ends. It counts whole milliseconds, so
// that writing and reading a time does not move it to another tick.
func tickOf(thinkS float64, tick int64) int64 {
	return floorTo(int64(math.Floor(min(thinkS, longestTrace.Seconds())*1e3+1e-6))*1e6, tick) / tick
}

// thinkProblem checks that a tick has one think time and that k requests share
// it.
func (t *Trace) thinkProblem(tick, k int64) string {
	of := map[int64]float64{}
	having := map[float64]int64{}
	for _, row := range t.Rows {
		if math.IsNaN(row.ThinkS) {
			continue
		}
		at := tickOf(row.ThinkS, tick)
		if one, known := of[at]; known && one != row.ThinkS {
			return fmt.Sprintf("think times are finer than the tick of %g s", float64(tick)/1e9)
		}
		of[at] = row.ThinkS
		having[row.ThinkS]++
	}
	for _, n := range having {
		if n < k {
			return fmt.Sprintf("a think time of %s alone, k is %d", show.Things(n, "request", "requests"), k)
		}
	}
	return ""
}
