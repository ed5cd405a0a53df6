package read

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// What results of other tools have in common: numbers that may be missing, trees
// of settings, statistics by many names.

// Number is a number that may be null, missing, or no number at all.
type Number struct {
	Value float64
	Known bool
}

// UnmarshalJSON takes a number, or a text that is one; anything else, and what is
// not finite, is no number. It never fails: one odd value does not cost the rest.
func (m *Number) UnmarshalJSON(text []byte) error {
	*m = ParseNumber(strings.Trim(string(text), `"`))
	return nil
}

func ParseNumber(text string) Number {
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return Number{}
	}
	return Number{value, true}
}

// Times is the number in another unit; nil for none.
func (m Number) Times(factor float64) *float64 {
	if !m.Known {
		return nil
	}
	return new(m.Value * factor)
}

func (m Number) Float() *float64 { return m.Times(1) }

// Count is the number where it is a whole one that is not negative.
func (m Number) Count() *int64 {
	if !m.Known || m.Value < 0 || m.Value > 1<<53 || m.Value != math.Trunc(m.Value) {
		return nil
	}
	return new(int64(m.Value))
}

// Text is a text that may be missing or be something else.
type Text string

func (t *Text) UnmarshalJSON(text []byte) error {
	var value string
	_ = json.Unmarshal(text, &value)
	*t = Text(value)
	return nil
}

// Presence says whether there is something: a text that is not empty, a list or an
// object with something in it. Its content is not kept.
type Presence bool

func (p *Presence) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "null", `""`, "[]", "{}", "false", "0":
	default:
		*p = true
	}
	return nil
}

// Finite is "" for what is no finite number: null, which is not said, is nil.
func Finite(m Number) any {
	if !m.Known {
		return ""
	}
	return m.Value
}
