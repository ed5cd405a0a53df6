package traces

import (
	"bytes"
	"encoding/json"
	"slices"

	"tidemark/ingest/read"
)

// Tables of requests as JSON objects, one per line or in an array. A log of a
// gateway has a hundred keys per request of which ten are of use, so the walk over
// an object (eachValue) allocates nothing and unescapes only what has escapes.

// objects reads objects that are requests. Which key is which is settled by the
// first object that has it.
type objects struct {
	*requestTable
	columns *columnMeanings
	known   map[string]meaning // by path
	passed  []string
	path    []byte
	checked bool
}

// newObjects starts with what the user says; names are looked up as they come.
func newObjects(t *requestTable, names *columnMeanings) *objects {
	p := &objects{requestTable: t, columns: names, known: map[string]meaning{}, path: make([]byte, 0, 1<<10)}
	for theirs, m := range names.said {
		p.is(m, theirs)
	}
	return p
}

// readJSONTable reads an object per line.
func readJSONTable(d *read.Document, t *requestTable, names *columnMeanings) error {
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

// maxObjectBytes is the longest request of a trace; those that hold a prompt are long.
const maxObjectBytes = 16 << 20

// readJSONArray reads a JSON array whose elements are requests.
func readJSONArray(d *read.Document, t *requestTable, names *columnMeanings) error {
	p := newObjects(t, names)
	err := read.EachElement(d.Reader(), maxObjectBytes, func(number int64, element json.RawMessage) error {
		if element[0] != '{' {
			return t.out.Reject(number, "", read.NotJSON)
		}
		return p.object(number, element)
	})
	p.notePassedOver()
	return err
}

// object takes in one object. Of two keys that mean the same, the surer one counts,
// in each object anew.
func (p *objects) object(number int64, object []byte) error {
	if problem := read.RepeatedKey(object); problem != nil {
		return p.out.Reject(number, problem.Column, problem.Reason)
	}
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
				failed = p.out.TextIn(string(name), "a column")
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

// mostPaths are remembered; a hostile file may have a new key in every object.
const mostPaths = 10_000

// meaning looks a path up once.
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

// notePassedOver lists the first keys that were not read.
func (p *objects) notePassedOver() {
	if len(p.passed) > 0 {
		slices.Sort(p.passed)
		p.out.Note("keys passed over: %s", read.ListNames(p.passed))
	}
}

// eachValue calls use with the path and the text of each value of an object that is
// not an object itself; strings come without their quotes. The object must be valid
// JSON. The path is valid until the next call.
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

// unquotedText is a JSON string without its quotes. It is copied only where it has
// escapes.
func unquotedText(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 && len(quoted) > 1 {
		return quoted[1 : len(quoted)-1]
	}
	return read.Unquoted(quoted)
}

// afterBlanks is the place of the next byte that is not a blank.
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
