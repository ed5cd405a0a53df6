package privacy

import (
	"slices"
	"sort"
)

// Lengths are told in rungs: 0, 1, and then steps of 16 tokens or 2 %, whichever is
// wider. A length is rounded down to its rung, so that a prompt never grows past
// its blocks.
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

// rungOf is the place of the last rung that is not above the length.
func rungOf(tokens int64) int {
	return sort.Search(len(rungs), func(i int) bool { return rungs[i] > tokens }) - 1
}

func roundedDown(tokens int64) int64 { return rungs[rungOf(tokens)] }

// middle is the length halfway up the rung that it stands on: what an answer is
// told as, where its mean matters more than that it never grows.
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
