package vllmsim

import "tidemark/internal/splitmix"

// tokens is the prefix of a sequence whose tokens are known. Hashes of blocks are chained: a block's covers all tokens up to
// its end, so equal hashes mean equal prefixes.
type tokens struct {
	prompt []int32
	output func(i int) int32 // its i-th token
	start  uint64            // of the chain; differs with the cache salt
	hashes []uint64          // of the leading blocks; those of the prompt come with it, so that the engine need not make them
}

// hash makes the hashes up to that block, whose tokens the sequence has by now.
func (t *tokens) hash(block, size int) uint64 {
	for len(t.hashes) <= block {
		hash := t.start
		if n := len(t.hashes); n > 0 {
			hash = t.hashes[n-1]
		}
		for at := len(t.hashes) * size; at < (len(t.hashes)+1)*size; at++ {
			if at < len(t.prompt) {
				hash = chain(hash, t.prompt[at])
				continue
			}
			hash = chain(hash, t.output(at-len(t.prompt)))
		}
		t.hashes = append(t.hashes, hash)
	}
	return t.hashes[block]
}

// chainStart is the first link of the hash chain of a prompt without a cache
// salt.
const chainStart uint64 = 0x243f6a8885a308d3

// chain hashes one more token.
func chain(hash uint64, id int32) uint64 {
	return splitmix.Mix(hash ^ uint64(uint32(id)))
}

// hashBlocks is the hashes of the prompt's full blocks.
func hashBlocks(ids []int32, start uint64, size int) []uint64 {
	t := tokens{prompt: ids, start: start, hashes: make([]uint64, 0, len(ids)/size+1)}
	if full := len(ids) / size; full > 0 {
		t.hash(full-1, size)
	}
	return t.hashes
}
