package engine

import (
	"math/rand/v2"
	"testing"
)

// TestIndexIsAMap does the same to an index and to Go's map. Few hashes that differ only in their low or high bits make long clusters.
func TestIndexIsAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var x index
	want := map[uint64]int32{}
	for range 200_000 {
		hash := random.Uint64N(300)
		if random.IntN(2) == 0 {
			hash <<= 40
		}
		_, isWanted := want[hash]
		switch {
		case isWanted && random.IntN(3) > 0:
			x.remove(hash)
			delete(want, hash)
		default:
			block := random.Int32N(1000)
			x.set(hash, block)
			want[hash] = block
		}
		hash = random.Uint64N(300)
		block, isThere := x.get(hash)
		if wanted, isWanted := want[hash]; isThere != isWanted || isWanted && block != wanted {
			t.Fatalf("hash %d: block %d, %t; want %d, %t", hash, block, isThere, wanted, isWanted)
		}
		if x.used != len(want) {
			t.Fatalf("%d slots are used, want %d", x.used, len(want))
		}
	}
}
