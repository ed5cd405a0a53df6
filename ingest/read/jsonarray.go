package read

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"tidemark/internal/hint"
)

// MaxElementBytes is the longest element of an array of results: one request with the
// arrival of every token of its answer.
const MaxElementBytes = 256 << 20

// EachElement reads a JSON array one element at a time, numbered from 1, so that the
// array may be longer than memory. An element may have up to limit bytes.
func EachElement(r io.Reader, limit int, use func(number int64, element json.RawMessage) error) error {
	source := Capped(r, limit)
	decoder := json.NewDecoder(source)
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('[') {
		return hint.Errorf("not a JSON array").Hint("it is cut or broken; take it from its source again")
	}
	for number := int64(1); decoder.More(); number++ {
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return cutArray(number, err)
		}
		source.Next()
		if err := use(number, element); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return cutArray(0, err)
	}
	return nil
}

// cutArray says where an array ends too early, without a word of its content; what went
// wrong below the JSON (a cut gzip stream, too long an element) is kept as it is.
func cutArray(number int64, err error) error {
	if _, isSyntax := err.(*json.SyntaxError); !isSyntax && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if number == 0 {
		return hint.Errorf("the JSON array is not closed").Hint("it is cut or broken; take it from its source again")
	}
	return hint.Errorf("element %d is not JSON, or cut", number).Hint("take the file from its source again")
}

// CappedReader refuses to read more than its limit for one element of a stream, so that
// a decoder that holds whole elements cannot be made to fill the memory.
type CappedReader struct {
	reader      io.Reader
	limit, left int
}

// Capped allows limit bytes for the first element, and as many after each Next.
func Capped(reader io.Reader, limit int) *CappedReader { return &CappedReader{reader, limit, limit} }

// Next starts another element.
func (c *CappedReader) Next() { c.left = c.limit }

func (c *CappedReader) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, hint.Errorf("one element of more than %d MB", c.limit>>20).Hint("write one object a line, or split it")
	}
	n, err := c.reader.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// WithoutText keeps what a JSON error quotes of the file's content out of the message.
func WithoutText(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return errors.New("not JSON")
	case errors.As(err, &kind):
		return fmt.Errorf("%s: %s", kind.Field, notItsKind)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON is cut")
	}
	return err
}
