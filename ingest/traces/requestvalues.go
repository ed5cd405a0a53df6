package traces

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest/read"
)

// Values of foreign tables, as text: what stands in a CSV's field or behind a
// JSON key.

// Reasons of rejects that tables alone have.
const (
	NotBlockIDs = "not a list of block ids"
	NotATruth   = "neither true nor false"
)

// isNull knows the usual ways to write nothing.
func isNull(text []byte) bool {
	switch len(text) {
	case 0:
		return true
	case 1:
		return text[0] == '-'
	case 2:
		return string(text) == `\N` || string(text) == "{}" || string(text) == "[]" || bytes.EqualFold(text, []byte("na"))
	case 3, 4:
		lower := strings.ToLower(string(text))
		return lower == "nan" || lower == "n/a" || lower == "null" || lower == "none"
	}
	return false
}

// isNumber says that a text is a number; long texts are not tried.
func isNumber(text []byte) bool {
	if len(text) == 0 || len(text) > 64 || text[0] != '-' && text[0] != '.' && text[0]-'0' > 9 {
		return false
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return err == nil
}

// wholeTokens reads a number of tokens, also as 128.0 or 1.28e2: pandas writes a
// column of integers as floats once one cell of it is empty.
func wholeTokens(text []byte) (int64, string) {
	value, used, reason := read.TokenCount(text)
	if reason == read.TooLarge || reason == "" && used == len(text) {
		return value, reason
	}
	number, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil && !math.IsInf(number, 0) || number != math.Trunc(number) && !math.IsInf(number, 0):
		return 0, read.NotAnInteger
	case number < 0:
		return 0, read.Negative
	case number > read.MaxTokens:
		return 0, read.TooLarge
	}
	return int64(number), ""
}

// duration reads a length of time in a unit, in seconds.
func duration(text []byte, unit timeUnit) (float64, string) {
	number, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil && !math.IsInf(number, 0):
		return 0, read.NotANumber
	case math.IsNaN(number) || math.IsInf(number, 0):
		return 0, read.NotFinite
	case number < 0:
		return 0, read.Negative
	}
	return number * float64(read.PowersOfTen[unit]) / 1e9, ""
}

// stamp reads a number of seconds, or of parts of them, as nanoseconds. It is exact
// where float64 would round: a Unix time in seconds has 10 digits before the point
// and up to 9 after it.
func stamp(text []byte, unit timeUnit) (int64, string) {
	return read.WholeDecimal(text, int(unit), read.NotANumber)
}

// unitOfStamp tells a unit by the size of a Unix time between the years 2001 and
// 2286. A smaller number counts from the trace's begin, in a unit that it does not show.
func unitOfStamp(text []byte) (unit timeUnit, isUnix bool) {
	number, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil || number < 1e9:
		return inSeconds, false
	case number < 1e11:
		return inSeconds, true
	case number < 1e14:
		return inMillis, true
	case number < 1e17:
		return inMicros, true
	}
	return inNanos, true
}

// writtenLayouts are the ways to write an instant that Clock.Instant does not read:
// of web servers, Python's logging, spreadsheets. Go accepts a fraction after the
// seconds, with a point or a comma.
var writtenLayouts = []struct {
	layout string
	zoned  bool
}{
	{"02/Jan/2006:15:04:05 -0700", true},
	{"2006-01-02 15:04:05 -0700", true},
	{"2006-01-02 15:04:05 -0700 MST", true},
	{"2006-01-02 15:04:05 UTC", true},
	{"2006-01-02 15:04:05 GMT", true},
	{"Mon, 02 Jan 2006 15:04:05 GMT", true},
	{"2006-01-02T15:04Z07:00", true},
	{"2006-01-02 15:04:05", false},
	{"2006-01-02T15:04:05", false},
	{"2006/01/02 15:04:05", false},
	{"2006-01-02T15:04", false},
	{"2006-01-02 15:04", false},
}

// writtenInstant reads a date and a time of day as Unix nanoseconds.
func writtenInstant(c *read.Clock, text []byte) (ns int64, zoned bool, reason string) {
	ns, used, zoned, reason := c.Instant(text)
	if reason == read.OutOfRange || reason == "" && used == len(text) {
		return ns, zoned, reason
	}
	if len(text) > 64 {
		return 0, false, read.NotATime
	}
	for _, known := range writtenLayouts {
		at, err := time.Parse(known.layout, string(text))
		if err != nil {
			continue
		}
		if at.Year() < 1700 || at.Year() > 2200 {
			return 0, false, read.OutOfRange
		}
		return at.UnixNano(), known.zoned, ""
	}
	return 0, false, read.NotATime
}

// truth reads a yes or a no; nil is neither.
func truth(text []byte) *bool {
	switch strings.ToLower(string(text)) {
	case "true", "t", "1", "yes", "y", "1.0":
		return new(true)
	case "false", "f", "0", "no", "n", "0.0":
		return new(false)
	}
	return nil
}

// failed reads a status, as an HTTP code or a word; nil where it says neither. stop
// and length are finish reasons, which only an answer has.
func failed(text []byte) *bool {
	if code, err := strconv.Atoi(string(text)); err == nil {
		if code < 100 || code > 999 {
			return nil
		}
		return new(code >= 400)
	}
	switch strings.ToLower(string(text)) {
	case "success", "successful", "succeeded", "ok", "completed", "complete", "finished", "done", "stop", "length":
		return new(false)
	case "failure", "failed", "error", "errored", "timeout", "timed_out", "cancelled", "canceled", "aborted", "rejected":
		return new(true)
	}
	return nil
}

// blockIDs reads a JSON list of ids: 64-bit numbers, or hexadecimal digits, of
// which the first 16 count.
func blockIDs(text []byte) ([]uint64, string) {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, NotBlockIDs
	}
	ids := make([]uint64, 0, len(raw))
	for _, item := range raw {
		digits, base := string(item), 10
		if quoted, ok := strings.CutPrefix(digits, `"`); ok {
			digits, base = strings.TrimPrefix(strings.TrimSuffix(quoted, `"`), "0x"), 16
			digits = digits[:min(len(digits), 16)]
		}
		id, err := strconv.ParseUint(digits, base, 64)
		if err != nil {
			return nil, NotBlockIDs
		}
		ids = append(ids, id)
	}
	return ids, ""
}
