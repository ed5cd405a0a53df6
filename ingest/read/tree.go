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
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/hint"
)

// Trees: small reports held as maps and lists, JSON and YAML alike. A report
// changes its keys from version to version, so a format asks for a path (At,
// TextAt, NumberAt) and gets nothing where there is nothing.

// MaxTreeBytes is the longest report that is held as a tree, which takes many times
// the bytes of its text.
const MaxTreeBytes = 8 << 20

// Tree is a small report: maps, lists, float64, bool and string. What is none of
// these, or not a finite number, is left out.
func (d *Document) Tree() (map[string]any, error) {
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
func ParseTree(text []byte) (map[string]any, error) {
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

// At follows keys down a tree; nil where there is nothing.
func At(value any, keys ...string) any {
	for _, key := range keys {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

// TextAt is the text at the end of a path, or "".
func TextAt(value any, keys ...string) string {
	text, _ := At(value, keys...).(string)
	return text
}

// NumberAt is the number at the end of a path.
func NumberAt(value any, keys ...string) Number {
	number, is := At(value, keys...).(float64)
	return Number{number, is}
}

// TreeOfPart is the tree of a small part of a document; nil where there is none.
func TreeOfPart(raw json.RawMessage) any {
	if len(raw) == 0 || len(raw) > MaxTreeBytes {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return plainTree(value, 0)
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

// VersionOf is a version that YAML may have read as a number: 0.2.
func VersionOf(value any) string {
	if number, isNumber := value.(float64); isNumber {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	text, _ := value.(string)
	return text
}

// ListAt is the list at the end of a path.
func ListAt(value any, keys ...string) []any {
	list, _ := At(value, keys...).([]any)
	return list
}

// OnlyOne is a text that all elements of a list agree on.
func OnlyOne(list []any, key string) (string, bool) {
	first := ""
	for i, element := range list {
		text := VersionOf(At(element, key))
		if i > 0 && text != first {
			return "", false
		}
		first = text
	}
	return first, len(list) > 0
}

// Int32Of is a small count.
func Int32Of(m Number) *int32 {
	if count := m.Count(); count != nil && *count < 1<<31 {
		return new(int32(*count))
	}
	return nil
}
