package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"path"
	"regexp"
	"strings"
	"time"

	"tidemark/internal/hint"
)

// Result files of other tools are JSON as Python writes it: one object, several
// one after another, or an array of them, with Infinity and NaN as they come.

// resultObject is one JSON object, its values not read yet.
type resultObject map[string]json.RawMessage

// resultObjects calls use with every object of the document, and with the requests
// that its arrays are of; number counts them from 1. What is no object is a reject.
func resultObjects(d *document, out *rows, use func(number int64, o resultObject, r *resultRequests) error) error {
	stream := newJSONStream(d.reader())
	number := int64(0)
	one := func() error {
		number++
		c, err := stream.next()
		if err == nil && c != '{' {
			if err := stream.skip(); err != nil {
				return err
			}
			return out.reject(number, "", notJSON)
		}
		o, r := resultObject{}, &resultRequests{}
		if err == nil {
			err = stream.object(o, r)
		}
		if err != nil {
			return err
		}
		return use(number, o, r)
	}
	for {
		c, err := stream.next()
		switch {
		case err != nil || c == 0:
			return err
		case c == '[':
			err = stream.elements(one)
		default:
			err = one()
		}
		if errors.Is(err, errNotJSON) { // what follows cannot be told apart any more
			return out.reject(max(number, 1), "", notJSON)
		}
		if err != nil {
			return err
		}
	}
}

// object reads a result: arrays of requests into r, all else as it is into o.
func (j *jsonStream) object(o resultObject, r *resultRequests) error {
	size := 0
	return j.members(func(key string) error {
		if isArray, err := r.array(j, key); isArray || err != nil {
			return err
		}
		value, err := j.value(nil, 0)
		if err != nil {
			return err
		}
		if size += len(key) + len(value); size > maxResultBytes {
			return hint.Errorf("a result with more than %d MB beside its requests", maxResultBytes>>20).
				Hint("check where the file came from")
		}
		o[key] = value
		return nil
	})
}

const maxResultBytes = 16 << 20

// value reads a value of any kind as JSON, Python's Infinity as "inf" and NaN as
// null.
func (j *jsonStream) value(into json.RawMessage, depth int) (json.RawMessage, error) {
	c, err := j.next()
	switch {
	case err != nil:
		return nil, err
	case depth > maxJSONDepth || len(into) > maxResultBytes:
		return nil, hint.Errorf("JSON nested too deeply, or too long").Hint("check where the file came from")
	case c == '{':
		into = append(into, '{')
		err = j.members(func(key string) error {
			into = append(append(betweenValues(into), quoted([]byte(key))...), ':')
			into, err = j.value(into, depth+1)
			return err
		})
		return append(into, '}'), err
	case c == '[':
		into = append(into, '[')
		err = j.elements(func() error {
			into, err = j.value(betweenValues(into), depth+1)
			return err
		})
		return append(into, ']'), err
	case c == '"':
		text, err := j.text()
		return append(into, quoted(text)...), err
	}
	text, err := j.bare()
	switch {
	case err != nil:
		return nil, err
	case string(text) == "NaN":
		return append(into, "null"...), nil
	case string(text) == "Infinity":
		return append(into, `"inf"`...), nil
	case !json.Valid(text):
		return nil, errNotJSON
	}
	return append(into, text...), nil
}

// betweenValues is with a comma where one value stands already.
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
	if err != nil || !isOfThisAge(at) {
		out.nonsense(key, "no possible date", 1)
		return nil
	}
	out.about.zone = "dates are the client's local time, zone not given, read as UTC"
	return &at
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
	stream := newJSONStream(bytes.NewReader(h.data))
	var keys []string
	if bytes.HasPrefix(h.line, []byte("[")) {
		_ = stream.take('[')
	}
	_ = stream.members(func(key string) error { // as far as the head goes
		keys = append(keys, key)
		return stream.skip()
	})
	return keys
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
