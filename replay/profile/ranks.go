package profile

import "tidemark/internal/splitmix"

// strata is the number of equal parts of a distribution. Each part is drawn
// once before any is drawn again (stratified sampling), so that shares and
// quantiles match the profile after some thousand draws. Within a round the
// order is random, as in real traffic. With fewer parts the shares would settle
// earlier but stay coarser: 2 % of a class of 72 sessions needs ten parts, and
// with ten a reader could tell who comes next.
const strata = 256

// rankStream yields stratified ranks in (0, 1) for one quantity. It is a pure
// function of the seed and of what it is for: the k-th rank can be computed
// without those before it.
type rankStream uint64

func newRanks(seed uint64, of ...string) rankStream {
	key := splitmix.Mix(seed)
	for _, word := range of {
		key = splitmix.Mix(key ^ splitmix.Hash(word))
	}
	return rankStream(key)
}

// nth is the stream for the n-th turn that is described.
func (d rankStream) nth(n int) rankStream { return rankStream(splitmix.Mix(uint64(d) + uint64(n))) }

// rank is the k-th rank. within, in [0, 1), places it inside its part.
func (d rankStream) rank(k uint64, within float64) float64 {
	key := splitmix.Mix(uint64(d) ^ k/strata)
	// Four rounds of a Feistel network over two halves of four bits are a
	// permutation of the 256 parts, different for each key (Luby and Rackoff
	// 1988), without a table.
	left, right := k%strata>>4, k%strata&15
	for round := range uint64(4) {
		left, right = right, left^splitmix.Mix(key+round<<8+right)&15
	}
	const least = 1e-12 // the normal quantile of 0 and of 1 is infinite
	return (float64(left<<4|right) + max(least, min(within, 1-least))) / strata
}
