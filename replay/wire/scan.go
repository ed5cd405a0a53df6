// The scanner reads a chunk of a stream once, from left to right, and keeps the few fields that matter: no map, no string,
// no allocation. With hundreds of streams this is most of the client's work. It never guesses: it is either sure, or gives
// the whole chunk up to decodeChunk. A fuzz test holds both to the same answer.

package wire

import "bytes"

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

// scanChunk reads a chunk without allocating. It is strict where encoding/json is, and gives up (false) on all that is
// legal but rare: escaped or repeated keys, an error object, numbers that are no plain integers where one is wanted.
// decodeChunk then decides. Token ids are appended to ids, unless that is nil.
func scanChunk(data []byte, ids *[]int32) (Chunk, bool) {
	s := scanner{data: data, chunk: EmptyChunk(), ids: ids}
	ok := s.object(topObject) && s.atEnd()
	return s.chunk, ok
}

// scanner is a cursor over one event's data. It lives on the stack of scanChunk.
type scanner struct {
	data  []byte
	at    int
	depth int
	seen  uint32 // a bit for each key that matters and was met in the object being read
	chunk Chunk
	ids   *[]int32
}

// objectKind says which keys of an object matter. It is no function value: that would put the scanner on the heap.
type objectKind int

const (
	anyObject objectKind = iota
	topObject
	choiceObject
	deltaObject
	usageObject
	detailsObject
	metricsObject
)

// maxDepth of nested values; deeper ones are left to encoding/json, which has a limit of its own.
const maxDepth = 64

// space skips JSON's four blanks; servers send none, but they are legal between any two tokens.
func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) atEnd() bool {
	s.space()
	return s.at == len(s.data)
}

// take skips space and consumes the byte if it is the next one.
func (s *scanner) take(b byte) bool {
	s.space()
	if s.at < len(s.data) && s.data[s.at] == b {
		s.at++
		return true
	}
	return false
}

// peek is 0 at the end, which no JSON value starts with.
func (s *scanner) peek() byte {
	s.space()
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

// word consumes one of the literals null, true and false.
func (s *scanner) word(w string) bool {
	s.space()
	if len(s.data)-s.at >= len(w) && string(s.data[s.at:s.at+len(w)]) == w {
		s.at += len(w)
		return true
	}
	return false
}

// object reads {...}.
func (s *scanner) object(kind objectKind) bool {
	if !s.take('{') || s.depth >= maxDepth {
		return false
	}
	s.depth++
	outer := s.seen
	s.seen = 0
	if !s.take('}') {
		for {
			s.space()
			key, plain := s.str()
			if !plain || !s.take(':') || !s.field(kind, key) {
				return false
			}
			if s.take('}') {
				break
			}
			if !s.take(',') {
				return false
			}
		}
	}
	s.seen = outer
	s.depth--
	return true
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
	case metricsObject:
		return s.metricsField(key)
	}
	return s.skip()
}

// list passes [...] and counts its entries.
func (s *scanner) list() (n int, ok bool) {
	if !s.take('[') || s.depth >= maxDepth {
		return 0, false
	}
	if s.take(']') {
		return 0, true
	}
	s.depth++
	for {
		if !s.skip() {
			return n, false
		}
		n++
		if s.take(']') {
			s.depth--
			return n, true
		}
		if !s.take(',') {
			return n, false
		}
	}
}

// str reads a string at the cursor; plain is false when it is broken or holds an escape, and the raw bytes are then
// not what it says.
func (s *scanner) str() (raw []byte, plain bool) {
	if s.at >= len(s.data) || s.data[s.at] != '"' {
		return nil, false
	}
	start := s.at + 1
	for i := start; i < len(s.data); i++ {
		switch b := s.data[i]; {
		case b == '"':
			s.at = i + 1
			return s.data[start:i], true
		case b == '\\' || b < 0x20:
			return nil, false
		}
	}
	return nil, false
}

// skipStr passes a string, escapes included, and says whether anything is in it.
func (s *scanner) skipStr() (notEmpty, ok bool) {
	if s.peek() != '"' {
		return false, false
	}
	start := s.at + 1
	for i := start; i < len(s.data); i++ {
		switch b := s.data[i]; {
		case b == '"':
			s.at = i + 1
			return i > start, true
		case b < 0x20:
			return false, false
		case b == '\\':
			n := escapeLen(s.data[i:])
			if n == 0 {
				return false, false
			}
			i += n - 1
		}
	}
	return false, false
}

// escapeLen is the length of the escape at the head of data; 0 when it is none.
func escapeLen(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	if data[1] != 'u' {
		if bytes.IndexByte([]byte(`"\/bfnrt`), data[1]) < 0 {
			return 0
		}
		return 2
	}
	if len(data) < 6 {
		return 0
	}
	for _, b := range data[2:6] {
		if !(b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F') {
			return 0
		}
	}
	return 6
}

// skip passes any value.
func (s *scanner) skip() bool {
	switch s.peek() {
	case '"':
		_, ok := s.skipStr()
		return ok
	case '{':
		return s.object(anyObject)
	case '[':
		_, ok := s.list()
		return ok
	case 'n':
		return s.word("null")
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	}
	return s.number()
}

// number passes a number as the JSON grammar has it.
func (s *scanner) number() bool {
	if s.at < len(s.data) && s.data[s.at] == '-' {
		s.at++
	}
	if s.at < len(s.data) && s.data[s.at] == '0' {
		s.at++
	} else if !s.digits() {
		return false
	}
	if s.at < len(s.data) && s.data[s.at] == '.' {
		s.at++
		if !s.digits() {
			return false
		}
	}
	if s.at < len(s.data) && s.data[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.data) && (s.data[s.at] == '+' || s.data[s.at] == '-') {
			s.at++
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.data) && s.data[s.at]-'0' <= 9 {
		s.at++
	}
	return s.at > start
}

// count reads a plain non-negative integer, or null as unknownCount.
func (s *scanner) count() (int64, bool) {
	if s.peek() == 'n' {
		return UnknownCount, s.word("null")
	}
	start := s.at
	if !s.digits() || s.at-start > 15 || s.at-start > 1 && s.data[start] == '0' {
		return 0, false
	}
	n := int64(0)
	for _, b := range s.data[start:s.at] {
		n = n*10 + int64(b-'0')
	}
	if s.at < len(s.data) && (s.data[s.at] == '.' || s.data[s.at]|0x20 == 'e') {
		return 0, false
	}
	return n, true
}
