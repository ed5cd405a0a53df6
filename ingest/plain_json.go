package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// objects reads objects that are requests. Which key is which is settled by the
// first object that has it.
type objects struct {
	*requestTable
	columns *columnMeanings
	known   map[string]meaning // by path
	ranks   [partCount]int
	passed  []string
	checked bool
}

func newObjects(t *requestTable, names *columnMeanings) *objects {
	p := &objects{requestTable: t, columns: names, known: map[string]meaning{}}
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
		return 0, hinted{fmt.Sprintf("one element of more than %d MB", c.limit>>20), "write one object a line, or split it"}
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
	eachValue(object, "", 0, func(path string, value []byte) {
		m := p.meaning(path)
		if m.part == noPart {
			if failed == nil && isText(path, value) {
				failed = p.textual(path)
			}
			return
		}
		if isNull(value) {
			return
		}
		switch {
		case p.names[m.part] == "" || ranks[m.part] > m.rank+1: // the first object that has it, or a surer key of the same
			p.is(m, path)
			ranks[m.part] = m.rank + 1
		case p.names[m.part] != path:
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
	m, ok := p.known[path]
	if ok {
		return m
	}
	m = p.columns.of(path)
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
// is no object itself. Its strings come without their quotes.
func eachValue(object []byte, prefix string, depth int, use func(path string, value []byte)) {
	const deepest = 6
	var values map[string]json.RawMessage
	if depth > deepest || json.Unmarshal(object, &values) != nil {
		return
	}
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		value := values[key]
		switch {
		case value[0] == '{':
			eachValue(value, prefix+key+".", depth+1, use)
		case value[0] == '"' && bytes.IndexByte(value, '\\') < 0:
			use(prefix+key, value[1:len(value)-1])
		case value[0] == '"':
			var text string
			if json.Unmarshal(value, &text) == nil {
				use(prefix+key, []byte(strings.TrimSpace(text)))
			}
		default:
			use(prefix+key, value)
		}
	}
}
