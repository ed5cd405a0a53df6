package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"strings"
	"time"
)

// Result files of other tools are JSON as Python writes it: one object, several
// one after another, or an array of them, with Infinity and NaN as they come.

// resultObject is one JSON object, its values not read yet.
type resultObject map[string]json.RawMessage

// resultObjects calls use with every object of the document; number counts them
// from 1. What is no object is a reject.
func resultObjects(d *document, out *rows, use func(number int64, o resultObject) error) error {
	limited := &io.LimitedReader{R: &pythonJSON{from: d.reader()}, N: maxWholeBytes}
	decoder := json.NewDecoder(limited)
	for number := int64(1); ; {
		var values resultValues
		err := decoder.Decode(&values)
		switch {
		case limited.N <= 0:
			return hinted{fmt.Sprintf("results of more than %d MB in one file", maxWholeBytes>>20), "split it"}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && isReadError(err):
			return err
		case err != nil: // what follows cannot be told apart any more
			return out.reject(number, "", notJSON)
		}
		for _, o := range values {
			if o == nil {
				err = out.reject(number, "", notJSON)
			} else {
				err = use(number, o)
			}
			if err != nil {
				return err
			}
			number++
		}
	}
}

// resultValues are the objects of a JSON value: itself, or the elements of an
// array; nil for each that is none.
type resultValues []resultObject

// UnmarshalJSON is given a part of the decoder's own buffer, so that a large
// object is not copied as a whole.
func (v *resultValues) UnmarshalJSON(text []byte) error {
	var elements []json.RawMessage
	if bytes.HasPrefix(text, []byte("[")) {
		if err := json.Unmarshal(text, &elements); err != nil {
			return err
		}
	} else {
		elements = []json.RawMessage{text}
	}
	for _, element := range elements {
		var o resultObject
		if json.Unmarshal(element, &o) != nil {
			o = nil
		}
		*v = append(*v, o)
	}
	return nil
}

// isReadError tells what the disk or the decompression says from what is wrong
// with the JSON.
func isReadError(err error) bool {
	var syntax *json.SyntaxError
	return !errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF)
}

// number is nil where the key is missing or holds no finite number. A number may
// be written as a string, as vLLM's --metadata does.
func (o resultObject) number(key string) *float64 {
	text := bytes.Trim(o[key], `"`)
	if len(text) == 0 || (text[0] != '-' && (text[0] < '0' || text[0] > '9')) {
		return nil
	}
	var value float64
	if json.Unmarshal(text, &value) != nil {
		return nil
	}
	return &value
}

// count is a number that counts something.
func (o resultObject) count(key string) *int64 {
	value := o.number(key)
	if value == nil || *value < 0 || *value > math.MaxInt32 || *value != math.Trunc(*value) {
		return nil
	}
	return new(int64(*value))
}

// word is a short string that names something; nil for anything else.
func (o resultObject) word(key string) *string {
	var text string
	if json.Unmarshal(o[key], &text) != nil {
		return nil
	}
	return orNil(word(strings.TrimSpace(text)))
}

// modelName is a model's name. Of a path only the end is kept: what comes before
// names folders and often users.
func (o resultObject) modelName(key string) *string {
	name := o.word(key)
	if name == nil {
		return nil
	}
	text := strings.TrimRight(strings.ReplaceAll(*name, `\`, "/"), "/")
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "~") || strings.Contains(text, ":/") {
		text = path.Base(text)
	}
	return &text
}

// scalar is the number, word or truth value that a key holds; nil for anything
// else.
func (o resultObject) scalar(key string) any {
	if number := o.number(key); number != nil {
		return *number
	}
	switch string(o[key]) {
	case "true":
		return true
	case "false":
		return false
	}
	if word := o.word(key); word != nil {
		return *word
	}
	return nil
}

// clientDate reads a date as the clients write it: Python's in local time, the
// Rust one in UTC.
func (o resultObject) clientDate(key string, out *rows) *time.Time {
	text := o.word(key)
	if text == nil {
		return nil
	}
	if at, err := time.Parse(time.RFC3339, *text); err == nil {
		return &at
	}
	at, err := time.Parse("20060102-150405", *text)
	if err != nil || at.Year() < 2000 {
		return nil
	}
	out.about.zone = "dates are the client's local time, zone not given, read as UTC"
	return &at
}

// pythonJSON makes JSON of what Python calls JSON: Infinity becomes "inf" and NaN
// an empty string, of the same length so that places stay. -Infinity, which no
// measurement is, stays and is refused.
type pythonJSON struct {
	from     io.Reader
	inString bool
	escaped  bool
	spelling string // what is still to come of the word
	writing  string // what stands for it
}

var pythonWords = map[byte][2]string{'I': {"nfinity", `inf"   `}, 'N': {"aN", `" `}}

func (p *pythonJSON) Read(into []byte) (int, error) {
	n, err := p.from.Read(into)
	text := into[:n]
	for i := 0; i < len(text); {
		if p.inString || p.spelling != "" {
			p.step(&text[i])
			i++
			continue
		}
		skip := bytes.IndexAny(text[i:], `"IN`)
		if skip < 0 {
			break
		}
		i += skip
		p.begin(&text[i])
		i++
	}
	return n, err
}

func (p *pythonJSON) begin(c *byte) {
	if *c == '"' {
		p.inString = true
		return
	}
	p.spelling, p.writing = pythonWords[*c][0], pythonWords[*c][1]
	*c = '"'
}

func (p *pythonJSON) step(c *byte) {
	switch {
	case p.spelling != "":
		if *c != p.spelling[0] {
			*c, p.spelling = 0, "" // no JSON at all: let it be refused
			return
		}
		*c = p.writing[0]
		p.spelling, p.writing = p.spelling[1:], p.writing[1:]
	case p.escaped:
		p.escaped = false
	case *c == '\\':
		p.escaped = true
	case *c == '"':
		p.inString = false
	}
}

// resultKeys are the keys of a head's first object, or of the first object of its
// array, with Python's numbers read.
func resultKeys(h *head) []string {
	if !bytes.HasPrefix(h.line, []byte("{")) && !bytes.HasPrefix(h.line, []byte("[")) {
		return nil
	}
	if !bytes.Contains(h.data, []byte("Infinity")) && !bytes.Contains(h.data, []byte("NaN")) {
		if h.keys != nil {
			return h.keys
		}
		return h.element
	}
	reader := &pythonJSON{from: bytes.NewReader(h.data)}
	text, _ := io.ReadAll(reader)
	text = bytes.TrimLeft(text, " \t\r\n")
	if bytes.HasPrefix(text, []byte("[")) {
		text = text[1:]
	}
	return topKeys(text)
}

// object is an object inside this one; empty where there is none.
func (o resultObject) object(key string) resultObject {
	var inner resultObject
	if json.Unmarshal(o[key], &inner) != nil {
		return nil
	}
	return inner
}

// percentileKey is a percentile as a key: "99", "99.9".
var percentileKey = regexp.MustCompile(`^\d{1,2}(\.\d{1,6})?$`)
