//go:build duckdb_arrow

package privacy

import (
	"math"
	"slices"
)

// topShare of the lengths of a class are told as they are; what is longer is told
// as the length at that share.
const topShare = 0.999

// tops are the longest lengths that are told of each class: the 99.9th percentile,
// or less where fewer than k requests are as long as that.
func tops(rows []Row, classes int, k int64, length func(*Row) int64) []int64 {
	all := make([][]int64, classes)
	for i := range rows {
		all[rows[i].Class] = append(all[rows[i].Class], length(&rows[i]))
	}
	limits := make([]int64, classes)
	for class, lengths := range all {
		if len(lengths) == 0 {
			continue
		}
		slices.Sort(lengths)
		quantile := lengths[max(0, int(math.Ceil(topShare*float64(len(lengths))))-1)]
		limits[class] = roundedDown(min(quantile, lengths[max(0, len(lengths)-int(k))]))
	}
	return limits
}

func input(r *Row) int64  { return r.Input }
func output(r *Row) int64 { return r.Output }

// roundLengths tells each length by its rung, at most the top of its class, and
// cuts what blocks the shorter prompt has no longer. Answers may be told by the
// middle of their rung.
func (t *Trace) roundLengths(k int64, answersAtMiddle bool) (toppedInputs, toppedOutputs int64) {
	topInput := tops(t.Rows, len(t.Classes), k, input)
	topOutput := tops(t.Rows, len(t.Classes), k, output)
	answer := roundedDown
	if answersAtMiddle {
		answer = middle
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		if top := topInput[row.Class]; roundedDown(row.Input) > top {
			row.Input = top
			toppedInputs++
		}
		if top := topOutput[row.Class]; roundedDown(row.Output) > top {
			row.Output = top
			toppedOutputs++
		}
		row.Input, row.Output = roundedDown(row.Input), answer(row.Output)
		if t.BlockTokens > 0 {
			blocks := (row.Input + t.BlockTokens - 1) / t.BlockTokens
			row.Blocks = row.Blocks[:min(int64(len(row.Blocks)), blocks)]
		}
	}
	return toppedInputs, toppedOutputs
}

// fewestAtTop is how many requests stand on the longest length of a class, at
// least; the classes with none left out.
func fewestAtTop(t *Trace, length func(*Row) int64) int64 {
	longest := make([]int64, len(t.Classes))
	count := make([]int64, len(t.Classes))
	for i := range t.Rows {
		class := t.Rows[i].Class
		switch at := length(&t.Rows[i]); {
		case count[class] == 0 || at > longest[class]:
			longest[class], count[class] = at, 1
		case at == longest[class]:
			count[class]++
		}
	}
	least := int64(math.MaxInt64)
	for _, n := range count {
		if n > 0 {
			least = min(least, n)
		}
	}
	return least
}
