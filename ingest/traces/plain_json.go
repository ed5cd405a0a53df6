package traces

import (
	"bytes"
	"encoding/json"
	"slices"

	"tidemark/ingest/read"
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

func ReadJSONTable(d *read.Document, t *requestTable, names *columnMeanings) error {
	p := newObjects(t, names)
	err := d.Lines(t.out, func(number int64, line []byte) (*read.Reject, error) {
		if line = bytes.TrimSpace(line); line[0] != '{' || !json.Valid(line) {
			return &read.Reject{Reason: read.NotJSON}, nil
		}
		return nil, p.object(number, line)
	})
	p.notePassedOver()
	return err
}

// readJSONArray reads one object after the other, none of more than elementBytes.
func readJSONArray(d *read.Document, t *requestTable, names *columnMeanings) error {
	p := newObjects(t, names)
	err := read.EachElement(d.Reader(), func(number int64, element []byte) error {
		if element[0] != '{' {
			return t.out.Reject(number, "", read.NotJSON)
		}
		return p.object(number, element)
	})
	p.notePassedOver()
	return err
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
		if m.Part == NoPart {
			if failed == nil && isText(name, value) {
				failed = p.textual(string(name))
			}
			return
		}
		if isNull(value) {
			return
		}
		switch {
		case p.names[m.Part] == "" || ranks[m.Part] > m.rank+1: // the first object that has it, or a surer key of the same
			p.is(m, string(name))
			ranks[m.Part] = m.rank + 1
		case p.names[m.Part] != string(name):
			return
		}
		r[m.Part] = value
	})
	if failed != nil {
		return failed
	}
	if !p.checked {
		p.checked = true
		if err := p.Complete(); err != nil {
			return err
		}
	}
	return p.add(number, &r)
}

// mostPaths are remembered; a file may have any number of them.
const mostPaths = 10_000

func (p *objects) meaning(path string) meaning {
	m := p.columns.Of(path)
	if len(p.known) < mostPaths {
		p.known[path] = m
	}
	if m.Part == NoPart && len(p.passed) < 16 {
		p.passed = append(p.passed, path)
	}
	return m
}

func (p *objects) notePassedOver() {
	if len(p.passed) > 0 {
		slices.Sort(p.passed)
		p.out.Note("keys passed over: %s", read.ListNames(p.passed))
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
	return read.Unquoted(quoted)
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
