// Package jsonscan reads one JSON object of a line as programs write it: from left to right, once, without allocating. It is either sure of
// what it reads or says no, right or wrong, and its caller leaves that line to encoding/json. So it never reports an error; it says no to a
// string that is wanted and has escapes or is beyond ASCII, to integers too large, and to any line end within the object.
package jsonscan

import (
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// Scanner is at a place in a line. After a no, the line is another's.
type Scanner struct {
	text []byte
	at   int
}

// On is a scanner at the beginning of a line, whose memory it shares with what it reads.
func On(line []byte) Scanner { return Scanner{text: line} }

func (s *Scanner) blanks() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

// Take consumes one byte, if it is the next one that is not blank.
func (s *Scanner) Take(c byte) bool {
	s.blanks()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// AtEnd says that nothing but blanks is left.
func (s *Scanner) AtEnd() bool {
	s.blanks()
	return s.at == len(s.text)
}

// Key reads "name": and the blanks behind it, so that a value is next.
func (s *Scanner) Key() ([]byte, bool) {
	name, ok := s.Text()
	if !ok || !s.Take(':') {
		return nil, false
	}
	s.blanks()
	return name, true
}

// Word consumes a literal such as true.
func (s *Scanner) Word(word string) bool {
	if end := s.at + len(word); end <= len(s.text) && string(s.text[s.at:end]) == word {
		s.at = end
		return true
	}
	return false
}

// Text reads a string of printable ASCII without escapes.
func (s *Scanner) Text() ([]byte, bool) {
	if !s.Take('"') {
		return nil, false
	}
	text := s.text[s.at:]
	for i, c := range text {
		switch {
		case c == '"':
			s.at += i + 1
			return text[:i], true
		case c-' ' > '~'-' ' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// Whole reads an integer of up to 18 digits, which always fit. It says no to -0, because not all who read integers take a sign there.
func (s *Scanner) Whole() (int64, bool) {
	text, at := s.text, s.at
	isNegative := at < len(text) && text[at] == '-'
	if isNegative {
		at++
	}
	start, value := at, int64(0)
	for at < len(text) && text[at]-'0' <= 9 {
		value = value*10 + int64(text[at]-'0')
		at++
	}
	s.at = at
	width := at - start
	if width == 0 || width > 18 || text[start] == '0' && (width > 1 || isNegative) || at < len(text) && (text[at] == '.' || text[at]|0x20 == 'e') {
		return 0, false
	}
	if isNegative {
		return -value, true
	}
	return value, true
}

// Real reads a number that fits a float64.
func (s *Scanner) Real() (float64, bool) {
	text := s.number()
	if text == nil {
		return 0, false
	}
	value, err := strconv.ParseFloat(unsafe.String(&text[0], len(text)), 64) // an error copies what it quotes
	return value, err == nil
}

// number reads a number in JSON's grammar; nil: there is none.
func (s *Scanner) number() []byte {
	start := s.at
	if s.at < len(s.text) && s.text[s.at] == '-' {
		s.at++
	}
	first := s.at
	if digits := s.digits(); digits == 0 || digits > 1 && s.text[first] == '0' {
		return nil
	}
	if s.at < len(s.text) && s.text[s.at] == '.' {
		s.at++
		if s.digits() == 0 {
			return nil
		}
	}
	if s.at < len(s.text) && s.text[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.text) && (s.text[s.at] == '-' || s.text[s.at] == '+') {
			s.at++
		}
		if s.digits() == 0 {
			return nil
		}
	}
	return s.text[start:s.at]
}

func (s *Scanner) digits() (count int) {
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
		s.at++
		count++
	}
	return count
}

// Integers appends an array of integers of 0 and more that fit N.
func Integers[N int64 | uint64](s *Scanner, into []N) ([]N, bool) {
	const mostDigits = 19 // always fit into 64 bits
	if !s.Take('[') {
		return into, false
	}
	if s.Take(']') {
		return into, true
	}
	most := uint64(math.MaxUint64)
	if _, isSigned := any(N(0)).(int64); isSigned {
		most = math.MaxInt64
	}
	text, at := s.text, s.at
	for {
		at = behindBlanks(text, at)
		start, value := at, uint64(0)
		for at < len(text) && text[at]-'0' <= 9 {
			value = value*10 + uint64(text[at]-'0')
			at++
		}
		width := at - start
		if width == 0 || width > mostDigits || width > 1 && text[start] == '0' || value > most {
			return into, false
		}
		into = append(into, N(value))
		at = behindBlanks(text, at)
		if at == len(text) {
			return into, false
		}
		at++
		switch text[at-1] {
		case ',':
		case ']':
			s.at = at
			return into, true
		default:
			return into, false
		}
	}
}

func behindBlanks(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
		at++
	}
	return at
}

// Skip passes over any value. What it passes over may have texts with escapes and beyond ASCII, but no such keys.
func (s *Scanner) Skip() bool { return s.skip(0) }

// Raw passes over a value as Skip does and returns it as it is written.
func (s *Scanner) Raw() ([]byte, bool) {
	s.blanks()
	start := s.at
	ok := s.skip(0)
	return s.text[start:s.at], ok
}

// skipText passes over a string, escapes included; the next byte is its first quote.
func (s *Scanner) skipText() bool {
	text := s.text
	for i := s.at + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			s.at = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			n := escape(text[i+1:])
			if n == 0 {
				return false
			}
			i += n
		}
	}
	return false
}

// escape is how many bytes of an escape stand behind its backslash; 0: it is none.
func escape(text []byte) int {
	const short, long = 1, len("u0041")
	if len(text) > 0 && strings.IndexByte(`"\/bfnrt`, text[0]) >= 0 {
		return short
	}
	if len(text) < long || text[0] != 'u' {
		return 0
	}
	for _, c := range text[1:long] {
		if isHex := c-'0' <= 9 || c|0x20-'a' <= 5; !isHex {
			return 0
		}
	}
	return long
}

func (s *Scanner) skip(depth int) bool {
	const deepest = 8
	s.blanks()
	if s.at == len(s.text) || depth > deepest {
		return false
	}
	switch c := s.text[s.at]; c {
	case '"':
		return s.skipText()
	case '[', '{':
		s.at++
		end := c + 2 // ] and } are two behind in ASCII
		if s.Take(end) {
			return true
		}
		for {
			if c == '{' {
				if _, ok := s.Key(); !ok {
					return false
				}
			}
			if !s.skip(depth + 1) {
				return false
			}
			if !s.Take(',') {
				return s.Take(end)
			}
		}
	case 'n', 't', 'f':
		return s.Word("null") || s.Word("true") || s.Word("false")
	default:
		return s.number() != nil
	}
}
