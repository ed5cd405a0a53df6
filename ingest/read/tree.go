package read

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/hint"
)

// Small reports held as maps and lists, JSON and YAML alike. A report changes its
// keys from version to version, so a format asks an Object for the value at the end
// of a path of keys, and gets nothing where there is nothing of that kind.

// MaxTreeBytes is the longest report that is held as a tree, which takes many times
// the bytes of its text.
const MaxTreeBytes = 8 << 20

// Object is a JSON or YAML object: maps, lists, float64, bool and string. A number
// that is not finite is "", which OddNumber tells of; "inf" in what JSONStream.Value read.
type Object map[string]any

// Tree is the document as an object.
func (d *Document) Tree() (Object, error) {
	text, err := io.ReadAll(io.LimitReader(d.Reader(), MaxTreeBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxTreeBytes {
		return nil, hint.Errorf("a report of more than %d MB", MaxTreeBytes>>20).Hint("what is read here are summaries; split it")
	}
	return ParseTree(text)
}

// ParseTree reads JSON, with Python's NaN and Infinity, or YAML.
func ParseTree(text []byte) (Object, error) {
	var value any
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		decoder := json.NewDecoder(bytes.NewReader(WithoutNaN(text)))
		decoder.UseNumber()
		if decoder.Decode(&value) != nil {
			return nil, hint.Errorf("not a whole JSON object").Hint("it is cut or broken; take it from its source again")
		}
	} else if yaml.Unmarshal(text, &value) != nil {
		return nil, hint.Errorf("not YAML").Hint("it is cut or broken; take it from its source again")
	}
	root, ok := plainTree(value, 0).(map[string]any)
	if !ok {
		return nil, hint.Errorf("not an object").Hint("it is cut or broken; take it from its source again")
	}
	return root, nil
}

// plainTree brings the types of both decoders to the few of a tree, and bounds its
// depth.
func plainTree(value any, depth int) any {
	const deepest = 64
	if depth > deepest {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = plainTree(inner, depth+1)
		}
		return value
	case map[any]any:
		plain := make(map[string]any, len(value))
		for key, inner := range value {
			plain[fmt.Sprint(key)] = plainTree(inner, depth+1)
		}
		return plain
	case []any:
		for i, inner := range value {
			value[i] = plainTree(inner, depth+1)
		}
		return value
	case json.Number:
		return Finite(ParseNumber(value.String()))
	case int, int64, uint64:
		return Finite(ParseNumber(fmt.Sprint(value)))
	case float64:
		return Finite(Number{value, !math.IsInf(value, 0) && !math.IsNaN(value)})
	case time.Time:
		return value.UTC().Format(time.RFC3339Nano)
	case string, bool:
		return value
	}
	return nil
}

// UnmarshalJSON takes anything but an object, and one that is too long, for none. It
// never fails.
func (o *Object) UnmarshalJSON(text []byte) error {
	*o = ObjectOf(TreeOfPart(text))
	return nil
}

// TreeOfPart is a value of any kind in a document; nil where there is none.
func TreeOfPart(raw json.RawMessage) any {
	if len(raw) == 0 || len(raw) > MaxTreeBytes {
		return nil
	}
	switch first := raw[0]; { // a decoder costs more than most values
	case first == '-' || first-'0' <= 9:
		return Finite(ParseNumber(string(raw)))
	case first == '"':
		var text string
		_ = json.Unmarshal(raw, &text)
		return text
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return plainTree(value, 0)
}

// IDOfPart is TreeOfPart of an id, whose digits stay as they are where float64 would round them: 9007199254740993 is not 9007199254740992.
func IDOfPart(raw json.RawMessage) any {
	const exactBelow = 1 << 53
	value := TreeOfPart(raw)
	if number, isNumber := value.(float64); isNumber && math.Abs(number) >= exactBelow {
		return string(raw)
	}
	return value
}

// ObjectOf is the value if it is an object; else nil, which has no keys.
func ObjectOf(value any) Object {
	if object, is := value.(Object); is {
		return object
	}
	object, _ := value.(map[string]any)
	return object
}

// At is the value at the end of a path of keys.
func (o Object) At(keys ...string) any {
	for _, key := range keys[:len(keys)-1] {
		o = ObjectOf(o[key])
	}
	return o[keys[len(keys)-1]]
}

// Object is an object inside this one.
func (o Object) Object(keys ...string) Object { return ObjectOf(o.At(keys...)) }

// Objects are the elements of a list; those that are no objects have no keys.
func (o Object) Objects(keys ...string) []Object {
	list := o.List(keys...)
	objects := make([]Object, len(list))
	for i, element := range list {
		objects[i] = ObjectOf(element)
	}
	return objects
}

// HasAny says whether one of the keys is there, whatever it holds.
func (o Object) HasAny(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { _, is := o[key]; return is })
}

// List is a list of anything.
func (o Object) List(keys ...string) []any {
	list, _ := o.At(keys...).([]any)
	return list
}

// Text is a text as it is.
func (o Object) Text(keys ...string) string {
	text, _ := o.At(keys...).(string)
	return text
}

// Word is a short text that names something.
func (o Object) Word(keys ...string) *string {
	return WordOrNil(strings.TrimSpace(o.Text(keys...)))
}

// ModelName is a model's name, without the folders of somebody's disk.
func (o Object) ModelName(keys ...string) *string {
	return ModelName(strings.TrimSpace(o.Text(keys...)))
}

// Version is a version that YAML may have read as a number: 0.2.
func (o Object) Version(keys ...string) string {
	if number, isNumber := o.At(keys...).(float64); isNumber {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return o.Text(keys...)
}

// Number is a number, which may be written as a text, as by --metadata of vLLM's client.
func (o Object) Number(keys ...string) Number {
	switch value := o.At(keys...).(type) {
	case float64:
		return Number{value, true}
	case string:
		return StrictNumber(value)
	}
	return Number{}
}

// Float is a number; nil where there is none.
func (o Object) Float(keys ...string) *float64 { return o.Number(keys...).Float() }

// Count is a number that counts something.
func (o Object) Count(keys ...string) *int64 { return o.Number(keys...).Count() }

// Int32 is a small count, as of the GPUs that share a model.
func (o Object) Int32(keys ...string) *int32 { return Int32Of(o.Number(keys...)) }

// Scalar is the number, truth value or word that a key holds; nil for anything else.
func (o Object) Scalar(key string) any {
	if number := o.Number(key); number.Known {
		return number.Value
	}
	if word := o.Word(key); word != nil {
		return *word
	}
	if is, isBool := o[key].(bool); isBool {
		return is
	}
	return nil
}

// SortedKeys are a map's keys in order, so that the same file always makes the same
// rows.
func SortedKeys[V any](of map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(of)), maps.Keys(of))
	slices.Sort(keys)
	return keys
}

// IsList says that a JSON value is an array.
func IsList(text json.RawMessage) bool { return bytes.HasPrefix(text, []byte("[")) }

// OnlyOne is a word that all elements of a list agree on.
func OnlyOne(list []Object, key string) *string {
	for _, element := range list {
		if element.Version(key) != list[0].Version(key) {
			return nil
		}
	}
	if len(list) == 0 {
		return nil
	}
	return WordOrNil(list[0].Version(key))
}

// Int32Of is a small count.
func Int32Of(m Number) *int32 {
	if count := m.Count(); count != nil && *count < 1<<31 {
		return new(int32(*count))
	}
	return nil
}
