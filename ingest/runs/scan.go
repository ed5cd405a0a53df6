package runs

import (
	"bytes"
	"strconv"
	"unsafe"
)

// value is a field of a line. Its memory is used again for the next line.
type value struct {
	isSet   bool
	whole   int64
	real    float64
	text    []byte
	numbers []int32
	is      bool
}

// scan reads a line as replay writes it, from left to right and without allocating: with fifty million chunks this is what taking a run in costs.
// It is either sure, or leaves the line to encoding/json, right or wrong. FuzzLinesByHand holds both to the same answer.
func scan(line []byte, places map[string]int, columns []jsonColumn, into []value) bool {
	for i := range into {
		into[i].isSet = false
	}
	s := scanner{text: line}
	if !s.take('{') {
		return false
	}
	for {
		key, ok := s.plain()
		if !ok || !s.take(':') {
			return false
		}
		s.blanks()
		place, isOurs := places[string(key)]
		switch {
		case !isOurs:
			// encoding/json takes SEQ for seq.
			ok = isLower(key) && s.skip(0)
		case into[place].isSet: // given twice
			return false
		default:
			ok = s.read(columns[place].kind, &into[place])
		}
		if !ok {
			return false
		}
		if s.take(',') {
			continue
		}
		return s.take('}') && s.atEnd()
	}
}

func isLower(key []byte) bool {
	for _, c := range key {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}

type scanner struct {
	text []byte
	at   int
}

func (s *scanner) blanks() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

// take consumes one byte, if it is the next one that is not blank.
func (s *scanner) take(c byte) bool {
	s.blanks()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) atEnd() bool {
	s.blanks()
	return s.at == len(s.text)
}

// word consumes a literal such as true.
func (s *scanner) word(word string) bool {
	if bytes.HasPrefix(s.text[s.at:], []byte(word)) {
		s.at += len(word)
		return true
	}
	return false
}

// plain reads a string of printable ASCII without escapes.
func (s *scanner) plain() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	for start := s.at; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return s.text[start : s.at-1], true
		case c < ' ' || c == '\\' || c > '~':
			return nil, false
		}
	}
	return nil, false
}

// number reads a number in JSON's grammar.
func (s *scanner) number() (text []byte, isWhole bool) {
	start := s.at
	if s.at < len(s.text) && s.text[s.at] == '-' {
		s.at++
	}
	first := s.at
	if digits := s.digits(); digits == 0 || digits > 1 && s.text[first] == '0' {
		return nil, false
	}
	isWhole = true
	if s.at < len(s.text) && s.text[s.at] == '.' {
		s.at++
		if isWhole = false; s.digits() == 0 {
			return nil, false
		}
	}
	if s.at < len(s.text) && s.text[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.text) && (s.text[s.at] == '-' || s.text[s.at] == '+') {
			s.at++
		}
		if isWhole = false; s.digits() == 0 {
			return nil, false
		}
	}
	return s.text[start:s.at], isWhole
}

func (s *scanner) digits() (count int) {
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
		s.at++
		count++
	}
	return count
}

// read reads a value of a column. An absent value and null are the same.
func (s *scanner) read(kind columnKind, into *value) (ok bool) {
	if s.word("null") {
		return true
	}
	into.isSet = true
	switch kind {
	case wholeColumn, realColumn:
		text, isWhole := s.number()
		if text == nil || kind == wholeColumn && (!isWhole || len(text) > 18) { // 18 digits always fit
			return false
		}
		if kind == wholeColumn {
			into.whole = wholeOf(text)
			return true
		}
		var err error
		into.real, err = strconv.ParseFloat(unsafe.String(&text[0], len(text)), 64) // an error copies what it quotes
		return err == nil
	case textColumn:
		into.text, ok = s.plain()
		return ok
	case boolColumn:
		into.is = s.word("true")
		return into.is || s.word("false")
	default:
		end := bytes.IndexByte(s.text[s.at:], ']')
		if end < 0 {
			return false
		}
		into.numbers, ok = plainIntegers(s.text[s.at:s.at+end+1], into.numbers[:0])
		s.at += end + 1
		return ok
	}
}

// wholeOf is the value of digits, with or without a minus.
func wholeOf(text []byte) (value int64) {
	digits := bytes.TrimPrefix(text, []byte("-"))
	for _, c := range digits {
		value = value*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		return -value
	}
	return value
}

// skip passes over any value that is plain.
func (s *scanner) skip(depth int) bool {
	const deepest = 8
	s.blanks()
	if s.at == len(s.text) || depth > deepest {
		return false
	}
	switch c := s.text[s.at]; c {
	case '"':
		_, ok := s.plain()
		return ok
	case '[', '{':
		s.at++
		end := c + 2 // ] and } are two behind in ASCII
		if s.take(end) {
			return true
		}
		for {
			if c == '{' {
				if _, ok := s.plain(); !ok || !s.take(':') {
					return false
				}
			}
			if !s.skip(depth + 1) {
				return false
			}
			if !s.take(',') {
				return s.take(end)
			}
		}
	case 'n', 't', 'f':
		return s.word("null") || s.word("true") || s.word("false")
	default:
		text, _ := s.number()
		return text != nil
	}
}
