//go:build duckdb_arrow

package privacy

import (
	"math"
	"slices"
)

// topShare is the share of a class's lengths that are written as they are.
// Longer ones are written as the length at that share (top coding), because the
// longest prompt of a trace identifies whoever sent it.
const topShare = 0.999

// tops is the longest length written for each class: the 99.9th percentile, or
// less where fewer than k requests are that long.
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

// roundLengths rounds each length to its rung, at most the top of its class,
// and drops the blocks that the shorter prompt no longer has. Answers may be
// written as the middle of their rung.
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

// fewestAtTop is the smallest number of requests that share the longest length
// of their class; classes without requests are left out.
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
