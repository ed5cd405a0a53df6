package read

import (
	"math"
	"strconv"
	"strings"
)

// Values that are a whole cell of a table or a whole JSON value, with the column's
// name for the reject.

// WholeTokens reads a number of tokens that is all of a text; 12.0 is one too.
func WholeTokens(column, text string, into *int64) *Reject {
	text = strings.TrimSuffix(text, ".0")
	value, used, reason := TokenCount([]byte(text))
	if reason == "" && used != len(text) {
		reason = NotAnInteger
	}
	if reason != "" {
		return &Reject{Column: column, Reason: reason}
	}
	*into = value
	return nil
}

// NanosOf reads a number of units of time that is all of a text, in nanoseconds; a
// unit is 10^digits of them.
func NanosOf(column, text string, digits int, into *int64) *Reject {
	value, reason := WholeDecimal([]byte(text), digits, NotANumber)
	if reason != "" {
		return &Reject{Column: column, Reason: reason}
	}
	*into = value
	return nil
}

// Seconds is a time that a trace measured, in seconds after scaling; nil where
// there is none, or it cannot be a time.
func Seconds(text string, scale float64) *float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value < 0 || math.IsInf(value, 0) || math.IsNaN(value) {
		return nil
	}
	return new(value * scale)
}

// SinceNs is a think time: from one instant to another, in seconds; nil where the
// second is before the first.
func SinceNs(from, to int64) *float64 {
	if to < from {
		return nil
	}
	return new(float64(to-from) / 1e9)
}

// PlainNumber reads a finite number that is not below 0.
func PlainNumber(text string) (float64, string) {
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsInf(value, 0) || math.IsNaN(value):
		return 0, NotFinite
	case err != nil:
		return 0, NotANumber
	case value < 0:
		return 0, Negative
	}
	return value, ""
}
