package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"tidemark/internal/hint"
)

// objects reads objects that are requests. Which key is which is settled by the
// first object that has it.
type objects struct {
	*requestTable
	columns *columnMeanings
	known   map[string]meaning // by path
	ranks   [partCount]int
	passed  []string
	path    []byte
	checked bool
}

func newObjects(t *requestTable, names *columnMeanings) *objects {
	p := &objects{requestTable: t, columns: names, known: map[string]meaning{}, path: make([]byte, 0, 1<<10)}
	for theirs, m := range names.said {
		p.is(m, theirs)
	}
	return p
}

func readJSONTable(d *document, t *requestTable, names *columnMeanings) error {
	p := newObjects(t, names)
	err := d.lines(t.out, func(number int64, line []byte) (*reject, error) {
		if line = bytes.TrimSpace(line); line[0] != '{' || !json.Valid(line) {
			return &reject{reason: notJSON}, nil
		}
		return nil, p.object(number, line)
	})
	p.notePassedOver()
	return err
}

// readJSONArray reads one object after the other, none of more than elementBytes.
func readJSONArray(d *document, t *requestTable, names *columnMeanings) error {
	p := newObjects(t, names)
	err := eachElement(d.reader(), func(number int64, element []byte) error {
		if element[0] != '{' {
			return t.out.reject(number, "", notJSON)
		}
		return p.object(number, element)
	})
	p.notePassedOver()
	return err
}

const elementBytes = 16 << 20

// eachElement calls use with the elements of a JSON array, counted from 1.
func eachElement(reader io.Reader, use func(number int64, element []byte) error) error {
	source := capped(reader, elementBytes)
	decoder := json.NewDecoder(source)
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("the JSON array: %w", withoutText(err))
	}
	for number := int64(1); decoder.More(); number++ {
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return fmt.Errorf("element %d: %w", number, withoutText(err))
		}
		if err := use(number, element); err != nil {
			return err
		}
		source.next()
	}
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("the JSON array: %w", withoutText(err))
	}
	return nil
}

// withoutText keeps what a JSON error says of the file's content out of sight.
func withoutText(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return errors.New("not JSON")
	case errors.As(err, &kind):
		return fmt.Errorf("%s: not of the kind that it has to be", kind.Field)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON ends before its end")
	}
	return err
}

// cappedReader refuses to read more than its limit for one element.
type cappedReader struct {
	reader      io.Reader
	limit, left int
}

func capped(reader io.Reader, limit int) *cappedReader { return &cappedReader{reader, limit, limit} }

// next begins another element.
func (c *cappedReader) next() { c.left = c.limit }

func (c *cappedReader) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, hint.Errorf("one element of more than %d MB", c.limit>>20).Hint("write one object a line, or split it")
	}
	n, err := c.reader.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// object takes in one object.
func (p *objects) object(number int64, object []byte) error {
	var r request
	var failed error
	var ranks [partCount]int
	eachValue(object, p.path[:0], 0, func(name, value []byte) {
		m, ok := p.known[string(name)]
		if !ok {
			m = p.meaning(string(name))
		}
		if m.part == noPart {
			if failed == nil && isText(name, value) {
				failed = p.textual(string(name))
			}
			return
		}
		if isNull(value) {
			return
		}
		switch {
		case p.names[m.part] == "" || ranks[m.part] > m.rank+1: // the first object that has it, or a surer key of the same
			p.is(m, string(name))
			ranks[m.part] = m.rank + 1
		case p.names[m.part] != string(name):
			return
		}
		r[m.part] = value
	})
	if failed != nil {
		return failed
	}
	if !p.checked {
		p.checked = true
		if err := p.complete(); err != nil {
			return err
		}
	}
	return p.add(number, &r)
}

// mostPaths are remembered; a file may have any number of them.
const mostPaths = 10_000

func (p *objects) meaning(path string) meaning {
	m := p.columns.of(path)
	if len(p.known) < mostPaths {
		p.known[path] = m
	}
	if m.part == noPart && len(p.passed) < 16 {
		p.passed = append(p.passed, path)
	}
	return m
}

func (p *objects) notePassedOver() {
	if len(p.passed) > 0 {
		slices.Sort(p.passed)
		p.out.note("keys passed over: %s", listed(p.passed))
	}
}

// eachValue calls use with the path and the text of each value of an object that
// is no object itself; its strings come without their quotes. The object must be
// valid JSON. The path is good until the next one.
func eachValue(object, prefix []byte, depth int, use func(path, value []byte)) {
	const deepest = 6
	if depth > deepest {
		return
	}
	for at := bytes.IndexByte(object, '"'); at >= 0 && at < len(object); {
		end := valueEnd(object, at)
		path := append(prefix[:len(prefix):cap(prefix)], unquotedText(object[at:end])...)
		at = afterBlanks(object, end) + 1 // behind the colon
		at = afterBlanks(object, at)
		end = valueEnd(object, at)
		if end <= at {
			return
		}
		switch value := object[at:end]; value[0] {
		case '{':
			eachValue(value, append(path, '.'), depth+1, use)
		case '"':
			use(path, bytes.TrimSpace(unquotedText(value)))
		default:
			use(path, value)
		}
		next := bytes.IndexByte(object[end:], '"')
		if next < 0 {
			return
		}
		at = end + next
	}
}

// unquotedText is a JSON string without its quotes; it is copied only where it
// has escapes.
func unquotedText(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 && len(quoted) > 1 {
		return quoted[1 : len(quoted)-1]
	}
	return unquoted(quoted)
}

func afterBlanks(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
		at++
	}
	return at
}

// valueEnd is where the JSON value that begins at an index ends.
func valueEnd(text []byte, at int) int {
	depth := 0
	for ; at < len(text); at++ {
		switch text[at] {
		case '"':
			for at++; at < len(text) && text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return min(at+1, len(text))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}
