// The scanner reads a chunk of a stream once, from left to right, and keeps the few fields that matter: no map, no string,
// no allocation. With hundreds of streams this is most of the client's work. It never guesses: it is either sure, or gives
// the whole chunk up to decodeChunk. A fuzz test holds both to the same answer.

package wire

import "tidemark/internal/jsonscan"

// Chunk is what one event of a stream says, as far as a measurement needs it.
type Chunk struct {
	HasChoices   bool
	HasText      bool // text, reasoning or a tool call that is not empty
	HasRole      bool // a chat stream's opening
	HasPromptIDs bool // an opening that repeats the prompt
	Tokens       int  // entries of token_ids over all choices; noTokens without any such list
	Finish       string
	HasUsage     bool
	Usage        Usage
	Timing       Timing
	Failure      *ServerError // only decodeChunk fills it
}

// NoTokenIDs says that no choice had a list of token ids, which is not the same as an empty one.
const NoTokenIDs = -1

// Usage is the server's count; unknownCount where it does not say.
type Usage struct{ Prompt, Completion, Cached int64 }

// UnknownCount stands for a number that the server does not say; 0 is a number.
const UnknownCount = -1

// Timing is the server's own, in seconds; negative where it does not say. Its TTFT runs from when it began with the
// request, after its queue.
type Timing struct{ Ttft, Generation, Queue, Itl float64 }

// unknownTime is any negative time: a server never says one.
const unknownTime = -1

// EmptyChunk is a chunk that says nothing: every number unknown.
func EmptyChunk() Chunk {
	return Chunk{Tokens: NoTokenIDs, Usage: Usage{UnknownCount, UnknownCount, UnknownCount},
		Timing: Timing{unknownTime, unknownTime, unknownTime, unknownTime}}
}

// scanChunk reads a chunk without allocating. It gives up (false) on all that is legal but rare: repeated keys, an error object, keys and reasons
// with escapes, numbers that are no plain integers where one is wanted. decodeChunk then decides. Token ids are appended to ids, unless that is nil.
func scanChunk(data []byte, ids *[]int32) (Chunk, bool) {
	s := scanner{Scanner: jsonscan.On(data), chunk: EmptyChunk(), ids: ids}
	ok := s.object(topObject) && s.AtEnd()
	return s.chunk, ok
}

// scanner is at a place in one event's data. It lives on the stack of scanChunk.
type scanner struct {
	jsonscan.Scanner
	seen  uint32 // a bit for each key that matters and was met in the object being read
	chunk Chunk
	ids   *[]int32
}

// objectKind says which keys of an object matter. It is no function value: that would put the scanner on the heap.
type objectKind int

const (
	topObject objectKind = iota
	choiceObject
	deltaObject
	usageObject
	detailsObject
	metricsObject
)

// object reads {...}.
func (s *scanner) object(kind objectKind) bool {
	if !s.Take('{') {
		return false
	}
	if s.Take('}') {
		return true
	}
	outer := s.seen
	s.seen = 0
	for more := true; more; more = s.Take(',') {
		key, ok := s.Key()
		if !ok || !s.field(kind, key) {
			return false
		}
	}
	s.seen = outer
	return s.Take('}')
}

// field reads the value of a key by the kind of object that it stands in.
func (s *scanner) field(kind objectKind, key []byte) bool {
	switch kind {
	case topObject:
		return s.topField(key)
	case choiceObject:
		return s.choiceField(key)
	case deltaObject:
		return s.deltaField(key)
	case usageObject:
		return s.usageField(key)
	case detailsObject:
		return s.detailsField(key)
	}
	return s.metricsField(key)
}

// list passes [...], counts its entries, and keeps them as token ids where ids is not nil.
func (s *scanner) list(ids *[]int32) (n int, ok bool) {
	if !s.Take('[') {
		return 0, false
	}
	if s.Take(']') {
		return 0, true
	}
	for more := true; more; more = s.Take(',') {
		raw, ok := s.Raw()
		if !ok {
			return n, false
		}
		if ids != nil {
			*ids = append(*ids, tokenID(raw))
		}
		n++
	}
	return n, s.Take(']')
}

// count reads a plain integer that is not negative; null leaves it unknown.
func (s *scanner) count(into *int64) (ok bool) {
	if s.Word("null") {
		return true
	}
	*into, ok = s.Whole()
	return ok && *into >= 0 && *into <= 1e15 // as countOf
}
