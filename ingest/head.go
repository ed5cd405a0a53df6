package ingest

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// head is the begin of a file, which its format is recognised by. What several
// formats ask of it is worked out once.
type head struct {
	data []byte // up to blockSize bytes, without a byte order mark
	name string // of the file, without its folder and the endings of its packing; "-" for stdin

	said map[string]string // which column is which, as the user says; see Options.Columns

	line    []byte
	columns []string
	keys    []string
	element []string
}

func newHead(data []byte, name string) *head {
	h := &head{data: bytes.TrimPrefix(data, utf8BOM), name: name}
	h.line = firstLine(h.data)
	switch {
	case bytes.HasPrefix(h.line, []byte("{")):
		h.keys = topKeys(h.data)
	case bytes.HasPrefix(h.line, []byte("[")):
		_, inside, _ := bytes.Cut(h.data, []byte("["))
		h.element = topKeys(inside)
	case bytes.IndexByte(h.line, ',') >= 0:
		h.columns = headerNames(h.line)
	}
	return h
}

// has says whether the first JSON object has all of these keys. It may be the
// whole file or its first line.
func (h *head) has(keys ...string) bool { return hasKeys(h.keys, keys...) }

// elementHas says the same of the first object of a JSON array.
func (h *head) elementHas(keys ...string) bool { return hasKeys(h.element, keys...) }

// columnsHave says whether the first line is a CSV header with all of these.
func (h *head) columnsHave(names ...string) bool { return hasKeys(h.columns, names...) }

// isLines says that the first line is a whole JSON object.
func (h *head) isLines() bool {
	return bytes.HasPrefix(h.line, []byte("{")) && json.Valid(h.line)
}

// isLinesOfText says that the file is neither JSON, whose end shows, nor binary.
func (h *head) isLinesOfText() bool {
	text := bytes.TrimSpace(h.data)
	return len(text) > 0 && text[0] != '{' && text[0] != '[' && bytes.IndexByte(h.line, 0) < 0 && utf8.Valid(h.line)
}

// topKeys are the keys of the JSON object that a text begins with, in their
// order, as far as the text goes; nil where it begins with something else.
func topKeys(text []byte) []string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	keys := []string{}
	for decoder.More() {
		token, err := decoder.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return keys
		}
		keys = append(keys, key)
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return keys
		}
	}
	return keys
}
