package privacy

import (
	"slices"
	"sort"
)

// Lengths are written in rungs: 0, 1, and then steps of 16 tokens or 2 %,
// whichever is wider. A length is rounded down to its rung, so that a prompt
// never grows beyond its blocks. 16 tokens is the usual size of a KV block, so
// a replay reuses nearly the same blocks; 2 % is finer than any prediction of a
// step time.
const (
	rungTokens = 16
	rungShare  = 50 // a step is a 50th of the rung below it
	mostTokens = int64(1) << 40
)

var rungs = func() []int64 {
	steps := []int64{0, 1, rungTokens}
	for last := int64(rungTokens); last < mostTokens; {
		last += max(rungTokens, last/rungShare)
		steps = append(steps, last)
	}
	return steps
}()

// rungOf is the index of the last rung that is not above the length.
func rungOf(tokens int64) int {
	return sort.Search(len(rungs), func(i int) bool { return rungs[i] > tokens }) - 1
}

func roundedDown(tokens int64) int64 { return rungs[rungOf(tokens)] }

// middle is the length halfway up to the next rung. Answers may be written this
// way, where a correct mean matters more than never growing.
func middle(tokens int64) int64 {
	i := rungOf(tokens)
	if i == 0 || i+1 == len(rungs) {
		return rungs[i]
	}
	return (rungs[i] + rungs[i+1]) / 2
}

func isRung(tokens int64) bool {
	_, found := slices.BinarySearch(rungs, tokens)
	return found
}
