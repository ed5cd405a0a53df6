package traces

import (
	"strconv"

	"tidemark/ingest/read"
)

// Prefix blocks: ids that stand for a fixed number of prompt tokens each. Equal ids
// at the start of two prompts mean that a prefix cache can serve the second from
// the first.

// ownBlocks makes the ids of one scope distinct from those of every other: two
// sessions that both count from 1 share nothing. Small ids keep their order in the
// low 24 bits; larger ones are hashed.
func ownBlocks(scope string, ids []uint64) []uint64 {
	const bits = 24
	space := read.HashText(scope) << bits
	own := make([]uint64, len(ids))
	for i, id := range ids {
		if own[i] = space | id; id >= 1<<bits {
			own[i] = read.HashText(scope + "/" + strconv.FormatUint(id, 10))
		}
	}
	return own
}

// covers says whether block ids reach to the end of a prompt, except for a last
// block that some traces leave out because it is not full.
func covers(blocks []uint64, size int, inputTokens int64) bool {
	return len(blocks) == 0 || int64(len(blocks)+1)*int64(size) > inputTokens
}
