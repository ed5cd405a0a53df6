package engine

// index finds the first block with a hash. It is a table with linear probing, at most half full: prompts of thousands of tokens look up, add and
// remove hundreds of blocks each, and Go's map took two thirds of their rehearsal.
type index struct {
	slots []slot // a power of two of them
	used  int
}

type slot struct {
	hash  uint64
	block int32 // plus 1; 0: the slot is free
}

// of is the slot of a hash, or the free one where it would go.
func (x *index) of(hash uint64) int {
	mask := len(x.slots) - 1
	i := int(hash*0x9e3779b97f4a7c15>>32) & mask // Fibonacci hashing: a server's own hashes may be uneven in their low bits
	for x.slots[i].block != 0 && x.slots[i].hash != hash {
		i = (i + 1) & mask
	}
	return i
}

func (x *index) get(hash uint64) (block int32, isThere bool) {
	if x.used == 0 {
		return 0, false
	}
	s := x.slots[x.of(hash)]
	return s.block - 1, s.block != 0
}

func (x *index) set(hash uint64, block int32) {
	if 2*x.used >= len(x.slots) {
		x.grow()
	}
	s := &x.slots[x.of(hash)]
	if s.block == 0 {
		x.used++
	}
	*s = slot{hash, block + 1}
}

func (x *index) grow() {
	old := x.slots
	x.slots = make([]slot, max(64, 2*len(old)))
	for _, s := range old {
		if s.block != 0 {
			x.slots[x.of(s.hash)] = s
		}
	}
}

// remove frees the slot of a hash that is there, and moves up those behind it that were pushed on by it (Knuth, volume 3, 6.4, algorithm R).
func (x *index) remove(hash uint64) {
	free := x.of(hash)
	x.slots[free] = slot{}
	x.used--
	mask := len(x.slots) - 1
	for i := (free + 1) & mask; x.slots[i].block != 0; i = (i + 1) & mask {
		s := x.slots[i]
		x.slots[i] = slot{}
		x.slots[x.of(s.hash)] = s
	}
}
