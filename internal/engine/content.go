package engine

import "tidemark/internal/splitmix"

// Content is the prefix of a request whose tokens nobody reads: it says what they share with those of others. Two requests
// with an equal id at a place share all tokens up to there.
type Content struct {
	Blocks      []uint64 // ids of the leading blocks of the prompt
	BlockTokens int      // tokens in each of them
	BlocksEnd   int      // tokens of the prompt that they cover
	Answers     []Span   // of earlier turns, which stand in place of blocks, and the answer itself
	Own         uint64   // the id of everything else
	// Findable is how many leading tokens, of prompt and answer together, a later request may have too.
	Findable int
}

// Span is the tokens [Start, End).
type Span struct {
	Start, End int
	ID         uint64
}

// hash is that of a block of the engine: the id of what its last token belongs to, and its place.
func (c *Content) hash(block, size int) uint64 {
	return splitmix.Mix(c.idAt((block+1)*size-1) ^ splitmix.Mix(uint64(block)))
}

func (c *Content) idAt(token int) uint64 {
	for _, span := range c.Answers {
		if token >= span.Start && token < span.End {
			return span.ID
		}
	}
	if token < c.BlocksEnd {
		return c.Blocks[token/c.BlockTokens]
	}
	return c.Own
}
