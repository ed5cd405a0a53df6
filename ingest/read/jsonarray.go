package read

import (
	"encoding/json"
	"fmt"
	"io"

	"tidemark/internal/hint"
)

// EachOfArray reads a JSON array one element at a time, numbered from 1, so that
// it may be longer than memory.
func EachOfArray(r io.Reader, use func(number int64, element json.RawMessage) error) error {
	held := &boundedElement{from: r}
	decoder := json.NewDecoder(held)
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('[') {
		return hint.Errorf("not a JSON array").Hint("it is cut or broken; take it from its source again")
	}
	for number := int64(1); decoder.More(); number++ {
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return broken(number, err)
		}
		held.read = 0
		if err := use(number, element); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return broken(0, err)
	}
	return nil
}

// boundedElement ends a text in which one element takes too much.
type boundedElement struct {
	from io.Reader
	read int
}

const maxElementBytes = 256 << 20

func (b *boundedElement) Read(into []byte) (int, error) {
	if b.read > maxElementBytes {
		return 0, hint.Errorf("one element of more than %d MB", maxElementBytes>>20).Hint("check where the file came from")
	}
	n, err := b.from.Read(into)
	b.read += n
	return n, err
}

// broken says where a JSON array ends too early; a reader's own error is kept.
func broken(number int64, err error) error {
	if _, isSyntax := err.(*json.SyntaxError); !isSyntax && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if number == 0 {
		return hint.Errorf("the JSON array is not closed").Hint("it is cut or broken; take it from its source again")
	}
	return hint.Errorf("element %d is not JSON, or cut", number).Hint("take the file from its source again")
}

const ElementBytes = 16 << 20

// EachElement calls use with the elements of a JSON array, counted from 1.
func EachElement(reader io.Reader, use func(number int64, element []byte) error) error {
	source := Capped(reader, ElementBytes)
	decoder := json.NewDecoder(source)
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("the JSON array: %w", WithoutText(err))
	}
	for number := int64(1); decoder.More(); number++ {
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return fmt.Errorf("element %d: %w", number, WithoutText(err))
		}
		if err := use(number, element); err != nil {
			return err
		}
		source.Next()
	}
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("the JSON array: %w", WithoutText(err))
	}
	return nil
}

// CappedReader refuses to read more than its limit for one element.
type CappedReader struct {
	reader      io.Reader
	limit, left int
}

func Capped(reader io.Reader, limit int) *CappedReader { return &CappedReader{reader, limit, limit} }

// Next begins another element.
func (c *CappedReader) Next() { c.left = c.limit }

func (c *CappedReader) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, hint.Errorf("one element of more than %d MB", c.limit>>20).Hint("write one object a line, or split it")
	}
	n, err := c.reader.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
