package profile

// strata are the equal parts of a distribution that are each drawn once before any is drawn again. Shares and quantiles
// are so those of the profile after some thousand draws; within a deck, order is random, as traffic's is. Fewer parts would
// be nearer sooner, at a price: for 2 % of a tenth of 720 sessions they must be ten, and then it can be told who comes next.
const strata = 256

// deck deals ranks in (0, 1) for one thing that varies.
type rankStream uint64

func newRanks(seed uint64, of ...string) rankStream {
	key := mix(seed)
	for _, word := range of {
		key = mix(key ^ hashString(word))
	}
	return rankStream(key)
}

// nth is the deck of the n-th turn that is described.
func (d rankStream) nth(n int) rankStream { return rankStream(mix(uint64(d) + uint64(n))) }

// rank is the k-th of the deck; within, in [0, 1), places it in its part.
func (d rankStream) rank(k uint64, within float64) float64 {
	key := mix(uint64(d) ^ k/strata)
	// Four rounds of a Feistel network over two halves of four bits: every part once, in an order of the key.
	left, right := k%strata>>4, k%strata&15
	for round := range uint64(4) {
		left, right = right, left^mix(key+round<<8+right)&15
	}
	const least = 1e-12 // a rank of 0 or 1 has no normal quantile
	return (float64(left<<4|right) + max(least, min(within, 1-least))) / strata
}

func hashString(s string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return h
}

// mix is the finaliser of splitmix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
