package traces

import (
	"strconv"

	"tidemark/ingest/read"
)

// ownBlocks makes the ids of one scope distinct from those of every other: two
// sessions that count from 1 share nothing. Small ids keep their order, so that
// prompts of one session differ from their first tokens on.
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

// covers says whether block ids reach to the end of a prompt, but for a last block
// that some traces leave out because it is not whole.
func covers(blocks []uint64, size int, inputTokens int64) bool {
	return len(blocks) == 0 || int64(len(blocks)+1)*int64(size) > inputTokens
}
