package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/lazy"
	"tidemark/internal/maybe"
)

// Result files of other clients are JSON as Python writes it: one object, several
// one after another, or an array of them, with Infinity and NaN as they come. A run
// saved in detail holds every gap between every two tokens, hundreds of megabytes
// of numbers, so objects are read in a stream: arrays of requests go into
// requestArrays as numbers, and only what is left is kept as text.

// resultObject is one JSON object whose values are still text: which of them are of
// use depends on the tool.
type resultObject map[string]json.RawMessage

// resultObjects calls use with every object of the document and with the requests
// that its arrays hold; number counts the objects from 1. An element that is not an
// object is a reject.
func resultObjects(d *read.Document, out *read.Rows, use func(number int64, o resultObject, r *requestArrays) error) error {
	stream := read.NewJSONStream(d.Reader())
	number := int64(0)
	one := func() error {
		number++
		c, err := stream.Next()
		if err == nil && c != '{' {
			if err := stream.Skip(); err != nil {
				return err
			}
			return out.Reject(number, "", read.NotJSON)
		}
		o, r := resultObject{}, &requestArrays{}
		if err == nil {
			err = readObject(stream, o, r)
		}
		if err != nil {
			return err
		}
		return use(number, o, r)
	}
	for {
		c, err := stream.Next()
		switch {
		case err != nil || c == 0:
			return err
		case c == '[':
			err = stream.Elements(one)
		default:
			err = one()
		}
		if errors.Is(err, read.ErrNotJSON) { // what follows cannot be read
			return out.Reject(max(number, 1), "", read.NotJSON)
		}
		if err != nil {
			return err
		}
	}
}

// readObject reads one result: arrays of requests into r, everything else as text
// into o. The text is bounded; the arrays bound themselves.
func readObject(j *read.JSONStream, o resultObject, r *requestArrays) error {
	size := 0
	return j.Members(func(key string) error {
		if isArray, err := r.array(j, key); isArray || err != nil {
			return err
		}
		value, err := j.Value(nil, 0)
		if err != nil {
			return err
		}
		if size += len(key) + len(value); size > read.MaxResultBytes {
			return hint.Errorf("a result with more than %d MB apart from its requests", read.MaxResultBytes>>20).
				Hint("check where the file came from")
		}
		o[key] = value
		return nil
	})
}

// number is nil where the key is missing or holds no finite number. A number may be
// written as a string, as vLLM's --metadata does.
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

// count is a number that counts something: whole, not negative, and of 31 bits.
func (o resultObject) count(key string) *int64 {
	return wholeNumber(o.number(key))
}

// word is a short string that names something; nil for anything else, such as an
// object where an older version has a name.
func (o resultObject) word(key string) *string {
	var text string
	if json.Unmarshal(o[key], &text) != nil {
		return nil
	}
	return maybe.Known(read.Word(strings.TrimSpace(text)))
}

// modelName is a model's name, without the folders of somebody's disk.
func (o resultObject) modelName(key string) *string {
	if name := o.word(key); name != nil {
		return read.ModelName(*name)
	}
	return nil
}

// size is a small count, as of the GPUs that share a model; nil where the key is
// missing.
func (o resultObject) size(key string) *int32 {
	if count := o.count(key); count != nil {
		return new(int32(*count))
	}
	return nil
}

// scalar is the number, word or truth value that a key holds; nil for anything else.
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

// clientDate reads a date as the clients write it: Python's in the client's local
// time, the Rust client's in UTC. Local time is read as UTC, and a note says so.
func (o resultObject) clientDate(key string, out *read.Rows) *time.Time {
	text := o.word(key)
	if text == nil {
		return nil
	}
	if at, err := time.Parse(time.RFC3339, *text); err == nil {
		return &at
	}
	at, err := time.Parse("20060102-150405", *text)
	if err != nil || !read.IsOfThisAge(at) {
		out.Implausible(key, "no possible date", 1)
		return nil
	}
	out.About.Zone = "dates are the client's local time, zone not given, read as UTC"
	return &at
}

// resultKeys are the keys of a head's first object, or of the first object of its
// array. encoding/json stops at Infinity and NaN, so a head that has them is walked
// by our own reader.
func resultKeys(h *read.Head) []string {
	if !bytes.HasPrefix(h.Line, []byte("{")) && !bytes.HasPrefix(h.Line, []byte("[")) {
		return nil
	}
	if !bytes.Contains(h.Data, []byte("Infinity")) && !bytes.Contains(h.Data, []byte("NaN")) {
		if h.Keys != nil {
			return h.Keys
		}
		return h.Element
	}
	stream := read.NewJSONStream(bytes.NewReader(h.Data))
	var keys []string
	if bytes.HasPrefix(h.Line, []byte("[")) {
		_ = stream.Take('[')
	}
	_ = stream.Members(func(key string) error { // as far as the head goes
		keys = append(keys, key)
		return stream.Skip()
	})
	return keys
}

// object is an object inside this one; nil, which has no keys, where there is none.
func (o resultObject) object(key string) resultObject {
	var inner resultObject
	if json.Unmarshal(o[key], &inner) != nil {
		return nil
	}
	return inner
}

// percentileKey is a percentile as a key: "99", "99.9".
var percentileKey = lazy.Regexp(`^\d{1,2}(\.\d{1,6})?$`)

// firstName is the first of ["model", ...] or [{"name": "model"}, ...].
func firstName(list json.RawMessage) *string {
	var names []json.RawMessage
	if json.Unmarshal(list, &names) != nil || len(names) == 0 {
		return nil
	}
	if strings.HasPrefix(string(names[0]), "{") {
		var o resultObject
		_ = json.Unmarshal(names[0], &o)
		return o.modelName("name")
	}
	return resultObject{"name": names[0]}.modelName("name")
}

// objectsOf are the objects of an array; none where it is anything else.
func objectsOf(list json.RawMessage) []resultObject {
	var objects []resultObject
	if json.Unmarshal(list, &objects) != nil {
		return nil
	}
	return objects
}

// odd notes keys that hold something, but not a number that can be.
func (o resultObject) odd(out *read.Rows, keys ...string) {
	for _, key := range keys {
		text := string(o[key])
		switch {
		case text == "" || text == "null" || text == `""`:
		case o.number(key) == nil:
			out.Implausible(key, "no finite number", 1)
		case *o.number(key) > 0 && key != "duration" && o.count(key) == nil:
			out.Implausible(key, "no count", 1)
		case *o.number(key) < 0:
			out.Implausible(key, "negative", 1)
			o[key] = json.RawMessage("null")
		}
	}
}

// floats is an array of finite numbers; false where the key holds anything else. It
// is taken out of the object, so that it is not listed among the settings.
func (o resultObject) floats(key string) ([]float64, bool) {
	if len(o[key]) == 0 || string(o[key]) == "null" {
		return nil, true
	}
	var values []float64
	err := json.Unmarshal(o[key], &values)
	delete(o, key)
	return values, err == nil
}
