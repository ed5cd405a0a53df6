//go:build duckdb_arrow

package privacy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// differences takes the cells of a class and hour from the rates of the same, and
// tells of one that would be a small cell: what the hours of a class lack in the
// cells went up the ladder, and so did what a class lacks. Hours are those that the
// windows of the rates do not reach across. Without rates there is nothing to take
// from.
func differences(lengths []lengthCell, rates []rateCell, k int64) (looked int, problem string) {
	if len(lengths) == 0 || len(rates) == 0 {
		return 0, ""
	}
	byClass := map[string][]rateCell{}
	for _, r := range rates {
		byClass[r.class] = append(byClass[r.class], r)
	}
	cellsOf := map[string]map[float64]float64{} // requests by class and begin of the hour
	total := map[string]float64{}
	for _, c := range lengths {
		if cellsOf[c.class] == nil {
			cellsOf[c.class] = map[float64]float64{}
		}
		total[c.class] += c.requests
		if c.untilS > c.fromS {
			cellsOf[c.class][c.fromS] += c.requests
		}
	}
	isSmall := func(requests float64) bool { return math.Abs(requests) > 1e-6 && !(requests >= float64(k)) }
	for class, windows := range byClass {
		slices.SortFunc(windows, func(a, b rateCell) int { return cmp.Compare(a.fromS, b.fromS) })
		var begins []float64
		for begin := range cellsOf[class] {
			begins = append(begins, begin)
		}
		slices.Sort(begins)
		open, whole, next := 0.0, 0.0, 0
		for i, w := range windows {
			open, whole = open+w.requests, whole+w.requests
			if isLast := i == len(windows)-1; math.Mod(w.untilS, 3600) == 0 || isLast {
				for next < len(begins) && (begins[next] < w.untilS || isLast) {
					open -= cellsOf[class][begins[next]]
					next++
				}
				looked++
				if isSmall(open) {
					return looked, fmt.Sprintf("the rates up to second %.0f less the cells of the same hours and class leave %.6g, k is %d", w.untilS, open, k)
				}
				open = 0
			}
		}
		left := whole - total[class]
		if class == other { // cells of several classes are called so too
			left = math.Abs(left)
		}
		looked++
		if isSmall(left) {
			return looked, fmt.Sprintf("the rates of a class less its cells leave %.6g, k is %d", left, k)
		}
	}
	return looked, ""
}
