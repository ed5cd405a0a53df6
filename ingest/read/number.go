package read

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Number is a number that may be null, missing, or not a number at all. It is how
// results of other tools are read: one odd value does not cost the rest of the
// file.
type Number struct {
	Value float64
	Known bool
}

// UnmarshalJSON takes a number, or a text that is one; anything else, and what is
// not finite, is unknown. It never fails.
func (m *Number) UnmarshalJSON(text []byte) error {
	*m = ParseNumber(strings.Trim(string(text), `"`))
	return nil
}

// ParseNumber reads a number from a text; N/A, NaN and the like are unknown.
func ParseNumber(text string) Number {
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return Number{}
	}
	return Number{value, true}
}

// StrictNumber reads a number as JSON writes it; anything else, such as 007 or a date, is unknown.
func StrictNumber(text string) Number {
	if text == "" || text[0] != '-' && text[0]-'0' > 9 || !json.Valid([]byte(text)) {
		return Number{}
	}
	return ParseNumber(text)
}

// Times is the number in another unit; nil where it is unknown.
func (m Number) Times(factor float64) *float64 {
	if !m.Known {
		return nil
	}
	return new(m.Value * factor)
}

// Float is the number as it is; nil where it is unknown.
func (m Number) Float() *float64 { return m.Times(1) }

// Count is the number if it is whole, not negative, and exact in a float64.
func (m Number) Count() *int64 {
	if !m.Known || m.Value < 0 || m.Value > 1<<53 || m.Value != math.Trunc(m.Value) {
		return nil
	}
	return new(int64(m.Value))
}

// Text is a text that may be missing or be something else.
type Text string

// UnmarshalJSON reads anything that is not a text as "". It never fails.
func (t *Text) UnmarshalJSON(text []byte) error {
	var value string
	_ = json.Unmarshal(text, &value)
	*t = Text(value)
	return nil
}

// Presence says whether there is something: a text that is not empty, a list or an
// object with something in it. The content is not kept; that is how fields with
// prompts are declared.
type Presence bool

// UnmarshalJSON never fails, and allocates nothing for the content.
func (p *Presence) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "null", `""`, "[]", "{}", "false", "0":
	default:
		*p = true
	}
	return nil
}

// Finite is the number for settings; "" where it is unknown, which Settings drops.
func Finite(m Number) any {
	if !m.Known {
		return ""
	}
	return m.Value
}
