// Which blocks earlier prompts had, for a plan of a million requests with a billion tokens. Ids that are numbered from 0
// need a bit each, in pages that are made when they are touched; hashed ids need a map.

package plan

// blockSet knows how many tokens of each block were in a prompt. Whole blocks cost a bit each where ids are small and
// lie close together, as numbered ids do; ids that are hashes cost a map entry.
type blockSet struct {
	pages map[uint64]*[pageWords]uint64
	far   map[uint64]struct{} // whole blocks with ids too large to be numbers
	parts map[uint64]int32    // blocks that prompts only ended in -> tokens of the longest
}

const (
	pageWords = 64
	farID     = 1 << 40
)

// newBlockSet is empty and costs nothing until blocks are added.
func newBlockSet() blockSet {
	return blockSet{map[uint64]*[pageWords]uint64{}, map[uint64]struct{}{}, map[uint64]int32{}}
}

// tokens of the block that a prompt had; whole is a block's size.
func (b *blockSet) tokens(id uint64, whole int) int {
	if b.isWhole(id) {
		return whole
	}
	return int(b.parts[id])
}

// isWhole says whether an earlier prompt had the whole block.
func (b *blockSet) isWhole(id uint64) bool {
	if id >= farID {
		_, had := b.far[id]
		return had
	}
	page := b.pages[id/(64*pageWords)]
	return page != nil && page[id/64%pageWords]>>(id%64)&1 == 1
}

// add notes a block of which a prompt had so many tokens; a whole one replaces the parts that were known of it.
func (b *blockSet) add(id uint64, tokens, whole int) {
	switch {
	case tokens < whole:
		if !b.isWhole(id) && int(b.parts[id]) < tokens {
			b.parts[id] = int32(tokens)
		}
		return
	case id >= farID:
		b.far[id] = struct{}{}
	default:
		page := b.pages[id/(64*pageWords)]
		if page == nil {
			page = new([pageWords]uint64)
			b.pages[id/(64*pageWords)] = page
		}
		page[id/64%pageWords] |= 1 << (id % 64)
	}
	delete(b.parts, id)
}
