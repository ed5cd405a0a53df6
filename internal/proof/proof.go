// Package proof has what the tests of several packages share, first of all how much a test repeats. Every day it takes one case of each
// kind; with TIDEMARK_PROOF=1, as in make proof, whole series: many seeds, many kills, statistics.
package proof

import "os"

// IsFull says that whole series are asked for.
func IsFull() bool { return os.Getenv("TIDEMARK_PROOF") == "1" }

// Many is how often a test repeats what it does: so often every day, and so often in a proof.
func Many(daily, full int) int {
	if IsFull() {
		return full
	}
	return daily
}
