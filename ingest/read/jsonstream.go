package read

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"tidemark/internal/hint"
)

// JSONStream walks through a JSON text of any length and holds no more of it than
// the current value. encoding/json's tokens cost ten times as much, and its values
// are held whole. It accepts Python's NaN and Infinity as bare words.
type JSONStream struct {
	reader *bufio.Reader
	hand   []byte // the last text or number
}

// NewJSONStream starts at the first byte of a text.
func NewJSONStream(from io.Reader) *JSONStream {
	return &JSONStream{reader: bufio.NewReaderSize(from, 256<<10)}
}

// ErrNotJSON is all that is said about broken JSON; the text is not quoted.
var ErrNotJSON = errors.New("not JSON from here on, or cut")

const (
	maxJSONText  = 64 << 10 // of one string that is read
	maxJSONDepth = 64
)

// Next is the next byte that is not a blank, without consuming it. At the end it is 0.
func (j *JSONStream) Next() (byte, error) {
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

// Take consumes one byte, which must be the wanted one.
func (j *JSONStream) Take(want byte) error {
	c, err := j.Next()
	if err == nil && c != want {
		return ErrNotJSON
	}
	if err == nil {
		_, err = j.reader.ReadByte()
	}
	return err
}

// Members calls use with each key of an object; use must consume the value.
func (j *JSONStream) Members(use func(key string) error) error {
	return j.inside('{', '}', func() error {
		key, err := j.Text()
		if err != nil {
			return err
		}
		name := string(key)
		if err := j.Take(':'); err != nil {
			return err
		}
		return use(name)
	})
}

// Elements calls use before each element of an array; use must consume it.
func (j *JSONStream) Elements(use func() error) error { return j.inside('[', ']', use) }

// inside consumes what is between two brackets, with commas between.
func (j *JSONStream) inside(open, close byte, use func() error) error {
	if err := j.Take(open); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := j.Next()
		switch {
		case err != nil:
			return err
		case c == close:
			return j.Take(close)
		case !first:
			if err := j.Take(','); err != nil {
				return err
			}
		}
		if err := use(); err != nil {
			return err
		}
	}
}

// Text reads a string. It is valid until the next call.
func (j *JSONStream) Text() ([]byte, error) {
	if err := j.Take('"'); err != nil {
		return nil, err
	}
	j.hand = j.hand[:0]
	for {
		c, err := j.reader.ReadByte()
		switch {
		case err == io.EOF, err == nil && c < ' ':
			return nil, ErrNotJSON
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

// escaped reads what follows a backslash.
func (j *JSONStream) escaped() error {
	c, err := j.reader.ReadByte()
	if err != nil {
		return ErrNotJSON
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
		return ErrNotJSON
	}
	j.hand = append(j.hand, c)
	return nil
}

// lowSurrogate reads the second half of a character outside the 16-bit range.
func (j *JSONStream) lowSurrogate() (rune, error) {
	var prefix [2]byte
	if _, err := io.ReadFull(j.reader, prefix[:]); err != nil || prefix != [2]byte{'\\', 'u'} {
		return 0, ErrNotJSON
	}
	return j.unicode()
}

func (j *JSONStream) unicode() (rune, error) {
	var digits [4]byte
	if _, err := io.ReadFull(j.reader, digits[:]); err != nil {
		return 0, ErrNotJSON
	}
	value, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		return 0, ErrNotJSON
	}
	return rune(value), nil
}

// Bare reads a number, or a word such as null. It is valid until the next call.
func (j *JSONStream) Bare() ([]byte, error) {
	if _, err := j.Next(); err != nil {
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
				return nil, ErrNotJSON
			}
			return j.hand, nil
		case len(j.hand) >= 64 || c == '"' || c == '{' || c == '[':
			return nil, ErrNotJSON
		}
		j.hand = append(j.hand, c)
	}
}

// Number reads a number, bare or in quotes.
func (j *JSONStream) Number() ([]byte, error) {
	c, err := j.Next()
	if err == nil && c == '"' {
		return j.Text()
	}
	if err != nil {
		return nil, err
	}
	return j.Bare()
}

// Skip passes over a value of any kind and length.
func (j *JSONStream) Skip() error { return j.skipAt(0) }

func (j *JSONStream) skipAt(depth int) error {
	if depth > maxJSONDepth {
		return hint.Errorf("JSON nested too deeply").Hint("check where the file came from")
	}
	c, err := j.Next()
	switch {
	case err != nil:
		return err
	case c == '{':
		return j.Members(func(string) error { return j.skipAt(depth + 1) })
	case c == '[':
		return j.Elements(func() error { return j.skipAt(depth + 1) })
	case c == '"':
		return j.skipText()
	}
	_, err = j.Bare()
	return err
}

// skipText passes over a string without holding it.
func (j *JSONStream) skipText() error {
	if err := j.Take('"'); err != nil {
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
			return ErrNotJSON
		case err != nil || c == '"':
			return err
		}
	}
}

// MaxResultBytes is how much of a value is held as text.
const MaxResultBytes = 16 << 20

// Value reads a value of any kind as strict JSON: Python's Infinity, and what no
// float64 holds, as "inf" or "-inf", and NaN as null.
func (j *JSONStream) Value(into json.RawMessage, depth int) (json.RawMessage, error) {
	c, err := j.Next()
	switch {
	case err != nil:
		return nil, err
	case depth > maxJSONDepth || len(into) > MaxResultBytes:
		return nil, hint.Errorf("JSON nested too deeply, or too long").Hint("check where the file came from")
	case c == '{':
		into = append(into, '{')
		err = j.Members(func(key string) error {
			into = append(append(betweenValues(into), quoted([]byte(key))...), ':')
			into, err = j.Value(into, depth+1)
			return err
		})
		return append(into, '}'), err
	case c == '[':
		into = append(into, '[')
		err = j.Elements(func() error {
			into, err = j.Value(betweenValues(into), depth+1)
			return err
		})
		return append(into, ']'), err
	case c == '"':
		text, err := j.Text()
		return append(into, quoted(text)...), err
	}
	text, err := j.Bare()
	switch {
	case err != nil:
		return nil, err
	case string(text) == "NaN":
		return append(into, "null"...), nil
	case string(text) == "Infinity":
		return append(into, `"inf"`...), nil
	case !json.Valid(text):
		return nil, ErrNotJSON
	case bytes.ContainsAny(text, "eE") && (text[0] == '-' || text[0]-'0' <= 9) && !ParseNumber(string(text)).Known:
		if text[0] == '-' {
			return append(into, `"-inf"`...), nil
		}
		return append(into, `"inf"`...), nil
	}
	return append(into, text...), nil
}

// betweenValues adds a comma where one value stands already.
func betweenValues(into json.RawMessage) json.RawMessage {
	if last := into[len(into)-1]; last == '{' || last == '[' {
		return into
	}
	return append(into, ',')
}

func quoted(text []byte) []byte {
	made, _ := json.Marshal(string(text)) // of a string it cannot fail
	return made
}

// SkipsEmpty passes over a string and says whether it was empty.
func (j *JSONStream) SkipsEmpty() (bool, error) {
	next, err := j.reader.Peek(2)
	if err != nil {
		return false, ErrNotJSON
	}
	isEmpty := next[1] == '"'
	return isEmpty, j.skipText()
}
