package splitmix

import (
	"hash/fnv"
	"testing"
)

// The first numbers of splitmix64 from state 0, as Vigna's splitmix64.c prints them.
func TestMixIsSplitmix64(t *testing.T) {
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		state := uint64(i)
		if got := Mix(state * Gamma); got != want {
			t.Errorf("Mix(%d steps): got %#x, want %#x", i, got, want)
		}
	}
}

func TestHashIsFNV1a(t *testing.T) {
	for _, text := range []string{"", "a", "session-17", "naïve"} {
		h := fnv.New64a()
		h.Write([]byte(text))
		if got := Hash(text); got != h.Sum64() {
			t.Errorf("Hash(%q): got %#x, want %#x", text, got, h.Sum64())
		}
	}
}
