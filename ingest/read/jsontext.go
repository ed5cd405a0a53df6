package read

import (
	"bytes"
	"encoding/json"
	"errors"
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
