package read

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"tidemark/internal/jsonscan"
)

// JSONReject is what is wrong with a line by encoding/json's error, without what
// that quotes.
func JSONReject(err error) *Reject {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return &Reject{Column: kind.Field, Reason: notItsKind}
	}
	return &Reject{Reason: NotJSON}
}

// JSONRow reads a line that is one JSON object.
func JSONRow(line []byte, into any) *Reject {
	if err := json.Unmarshal(line, into); err != nil {
		return JSONReject(err)
	}
	return RepeatedKey(line)
}

// RepeatedKey rejects an object with a key that is there twice: it may mean either value.
func RepeatedKey(line []byte) *Reject {
	var keys [][]byte
	s := jsonscan.On(bytes.TrimSpace(line))
	for more := s.Take('{'); more; more = s.Take(',') {
		key, ok := s.Key()
		if !ok {
			return nil // it is empty, or has a key with an escape in it
		}
		if slices.ContainsFunc(keys, func(known []byte) bool { return bytes.Equal(known, key) }) {
			return &Reject{Column: nameOrNone(key), Reason: KeyTwice}
		}
		keys = append(keys, key)
		if !s.Skip() {
			return nil
		}
	}
	return nil
}

// nameOrNone is a key that looks like a name; others may be content.
func nameOrNone(key []byte) string {
	if NameLike().Match(key) {
		return string(key)
	}
	return ""
}

// WithoutNaN writes an empty text over each NaN and Infinity outside of texts,
// which Python puts into JSON and no strict reader takes. It works in place.
func WithoutNaN(text []byte) []byte {
	inText := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == 'N' && bytes.HasPrefix(text[i:], []byte("NaN")):
			copy(text[i:], `"" `)
			i += len("NaN") - 1
		case c == 'I' && bytes.HasPrefix(text[i:], []byte("Infinity")):
			from := i
			if i > 0 && text[i-1] == '-' {
				from--
			}
			copy(text[from:], []byte(`""         `)[:i+8-from])
			i += len("Infinity") - 1
		}
	}
	return text
}

// JSONNumber reads a number as times 10^digits; with no digits it is a number of
// tokens.
func JSONNumber(raw json.RawMessage, digits int) (int64, string) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, Missing
	}
	if digits > 0 {
		return WholeDecimal(raw, digits, NotANumber)
	}
	value, used, reason := TokenCount(raw)
	if reason == "" && used != len(raw) {
		reason = NotAnInteger
	}
	return value, reason
}

// JSONText is a string's content, or a number as it is written; nil for anything else.
func JSONText(raw json.RawMessage) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return []byte(text)
	}
	if len(raw) > 0 && (raw[0] == '-' || raw[0]-'0' <= 9) {
		return raw
	}
	return nil
}

// Unquoted is a JSON value without its quotes.
func Unquoted(value json.RawMessage) []byte {
	var text string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return []byte(text)
	}
	return value
}

// JSONWhole reads a number of tokens of a JSON document.
func JSONWhole(column string, number json.Number, into *int64) *Reject {
	return WholeTokens(column, number.String(), into)
}
