package ingest

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"tidemark/internal/hint"
)

// jsonStream walks through a JSON text of any length and holds no more of it than
// the value in hand. encoding/json's tokens cost ten times as much, and its
// values are whole.
type jsonStream struct {
	reader *bufio.Reader
	hand   []byte // the last text or number
}

func newJSONStream(from io.Reader) *jsonStream {
	return &jsonStream{reader: bufio.NewReaderSize(from, 256<<10)}
}

var errNotJSON = errors.New("not JSON from here on, or cut")

const (
	maxJSONText  = 64 << 10 // of one string that is read
	maxJSONDepth = 64
)

// next is the next byte that is no blank, left unread. At the end it is 0.
func (j *jsonStream) next() (byte, error) {
	for {
		c, err := j.reader.ReadByte()
		if err == io.EOF {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if c > ' ' {
			return c, j.reader.UnreadByte()
		}
	}
}

// take wants one byte.
func (j *jsonStream) take(want byte) error {
	c, err := j.next()
	if err == nil && c != want {
		return errNotJSON
	}
	if err == nil {
		_, err = j.reader.ReadByte()
	}
	return err
}

// members calls use with each key of an object; use reads the value.
func (j *jsonStream) members(use func(key string) error) error {
	return j.inside('{', '}', func() error {
		key, err := j.text()
		if err != nil {
			return err
		}
		name := string(key)
		if err := j.take(':'); err != nil {
			return err
		}
		return use(name)
	})
}

// elements calls use before each element of an array; use reads it.
func (j *jsonStream) elements(use func() error) error { return j.inside('[', ']', use) }

func (j *jsonStream) inside(open, close byte, use func() error) error {
	if err := j.take(open); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := j.next()
		switch {
		case err != nil:
			return err
		case c == close:
			return j.take(close)
		case !first:
			if err := j.take(','); err != nil {
				return err
			}
		}
		if err := use(); err != nil {
			return err
		}
	}
}

// text reads a string. It holds until the next is read.
func (j *jsonStream) text() ([]byte, error) {
	if err := j.take('"'); err != nil {
		return nil, err
	}
	j.hand = j.hand[:0]
	for {
		c, err := j.reader.ReadByte()
		switch {
		case err == io.EOF, err == nil && c < ' ':
			return nil, errNotJSON
		case err != nil:
			return nil, err
		case c == '"':
			return j.hand, nil
		case c == '\\':
			if err := j.escaped(); err != nil {
				return nil, err
			}
		default:
			j.hand = append(j.hand, c)
		}
		if len(j.hand) > maxJSONText {
			return nil, hint.Errorf("a text of more than 64 kB where a label or a number should be").Hint("check where the file came from")
		}
	}
}

func (j *jsonStream) escaped() error {
	c, err := j.reader.ReadByte()
	if err != nil {
		return errNotJSON
	}
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'u':
		r, err := j.unicode()
		if utf16.IsSurrogate(r) && err == nil {
			var low rune
			if low, err = j.lowSurrogate(); err == nil {
				r = utf16.DecodeRune(r, low)
			}
		}
		j.hand = utf8.AppendRune(j.hand, r)
		return err
	case '"', '\\', '/':
	default:
		return errNotJSON
	}
	j.hand = append(j.hand, c)
	return nil
}

func (j *jsonStream) lowSurrogate() (rune, error) {
	var prefix [2]byte
	if _, err := io.ReadFull(j.reader, prefix[:]); err != nil || prefix != [2]byte{'\\', 'u'} {
		return 0, errNotJSON
	}
	return j.unicode()
}

func (j *jsonStream) unicode() (rune, error) {
	var digits [4]byte
	if _, err := io.ReadFull(j.reader, digits[:]); err != nil {
		return 0, errNotJSON
	}
	value, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return 0, errNotJSON
	}
	return rune(value), nil
}

// bare reads a number, or a word such as null. It holds until the next is read.
func (j *jsonStream) bare() ([]byte, error) {
	if _, err := j.next(); err != nil {
		return nil, err
	}
	j.hand = j.hand[:0]
	for {
		c, err := j.reader.ReadByte()
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case err == io.EOF || c <= ' ' || c == ',' || c == '}' || c == ']' || c == ':':
			if err == nil {
				err = j.reader.UnreadByte()
			}
			if len(j.hand) == 0 || err != nil {
				return nil, errNotJSON
			}
			return j.hand, nil
		case len(j.hand) >= 64 || c == '"' || c == '{' || c == '[':
			return nil, errNotJSON
		}
		j.hand = append(j.hand, c)
	}
}

// number reads a number, written bare or in quotes.
func (j *jsonStream) number() ([]byte, error) {
	c, err := j.next()
	if err == nil && c == '"' {
		return j.text()
	}
	if err != nil {
		return nil, err
	}
	return j.bare()
}

// skip passes over a value of any kind and length.
func (j *jsonStream) skip() error { return j.skipAt(0) }

func (j *jsonStream) skipAt(depth int) error {
	if depth > maxJSONDepth {
		return hint.Errorf("JSON nested too deeply").Hint("check where the file came from")
	}
	c, err := j.next()
	switch {
	case err != nil:
		return err
	case c == '{':
		return j.members(func(string) error { return j.skipAt(depth + 1) })
	case c == '[':
		return j.elements(func() error { return j.skipAt(depth + 1) })
	case c == '"':
		return j.skipText()
	}
	_, err = j.bare()
	return err
}

func (j *jsonStream) skipText() error {
	if err := j.take('"'); err != nil {
		return err
	}
	for {
		c, err := j.reader.ReadByte()
		if err == nil && c == '\\' {
			_, err = j.reader.ReadByte()
			c = 0
		}
		switch {
		case err == io.EOF:
			return errNotJSON
		case err != nil || c == '"':
			return err
		}
	}
}
