//go:build duckdb_arrow

package privacy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// differences subtracts the cells of a class and hour from the rates of the
// same class and hour, and reports a difference that would be a small cell (a
// differencing attack). Requests that left an hour or a class on the ladder
// show up here. An hour is only compared where no window of the rates reaches
// across its end. Without rates there is nothing to subtract from.
func differences(lengths []lengthCell, rates []rateCell, k int64) (looked int, problem string) {
	if len(lengths) == 0 || len(rates) == 0 {
		return 0, ""
	}
	byClass := map[string][]rateCell{}
	for _, r := range rates {
		byClass[r.class] = append(byClass[r.class], r)
	}
	cellsOf := map[string]map[float64]float64{} // requests by class and start of the hour
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
		if class == other { // also the name of cells of several classes
			left = math.Abs(left)
		}
		looked++
		if isSmall(left) {
			return looked, fmt.Sprintf("the rates of a class less its cells leave %.6g, k is %d", left, k)
		}
	}
	return looked, ""
}
