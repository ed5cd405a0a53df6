package engine

import "tidemark/internal/splitmix"

// Tokens is the prefix of a sequence whose tokens are known. Hashes of blocks are chained: a block's covers all tokens up to
// its end, so equal hashes mean equal prefixes.
type Tokens struct {
	Prompt []int32
	Output func(i int) int32 // its i-th token
	Start  uint64            // of the chain; differs with the cache salt
	Hashes []uint64          // of the leading blocks; those of the prompt come with it, so that the engine need not make them
}

// hash makes the hashes up to that block, whose tokens the sequence has by now.
func (t *Tokens) hash(block, size int) uint64 {
	for len(t.Hashes) <= block {
		hash := t.Start
		if n := len(t.Hashes); n > 0 {
			hash = t.Hashes[n-1]
		}
		for at := len(t.Hashes) * size; at < (len(t.Hashes)+1)*size; at++ {
			if at < len(t.Prompt) {
				hash = Chain(hash, t.Prompt[at])
				continue
			}
			hash = Chain(hash, t.Output(at-len(t.Prompt)))
		}
		t.Hashes = append(t.Hashes, hash)
	}
	return t.Hashes[block]
}

// ChainStart is the first link of the hash chain of a prompt without a cache
// salt.
const ChainStart uint64 = 0x243f6a8885a308d3

// Chain hashes one more token.
func Chain(hash uint64, id int32) uint64 {
	return splitmix.Mix(hash ^ uint64(uint32(id)))
}

// HashBlocks is the hashes of the prompt's full blocks.
func HashBlocks(ids []int32, start uint64, size int) []uint64 {
	t := Tokens{Prompt: ids, Start: start, Hashes: make([]uint64, 0, len(ids)/size+1)}
	if full := len(ids) / size; full > 0 {
		t.hash(full-1, size)
	}
	return t.Hashes
}
