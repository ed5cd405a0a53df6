package read

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Clock reads dated instants. It remembers the day that it read last, because
// nearly every row is of the same day as the row before it.
type Clock struct {
	day      [10]byte
	midnight int64 // Unix nanoseconds at the start of that day, UTC
}

// Instant reads "2023-11-16 18:17:03.9799600" at the start of text, with up to
// nine digits of fraction, T for the blank, and Z or an offset such as +00:00
// behind it. It returns Unix nanoseconds and how many bytes it took.
func (c *Clock) Instant(text []byte) (ns int64, used int, zoned bool, reason string) {
	if len(text) < 19 {
		return 0, 0, false, NotATime
	}
	if string(text[:10]) != string(c.day[:]) {
		if reason := c.turnTo(text[:10]); reason != "" {
			return 0, 0, false, reason
		}
	}
	hour, ok1 := twoDigits(text[11:])
	minute, ok2 := twoDigits(text[14:])
	second, ok3 := twoDigits(text[17:])
	if !ok1 || !ok2 || !ok3 || text[13] != ':' || text[16] != ':' || (text[10] != ' ' && text[10] != 'T') ||
		hour > 23 || minute > 59 || second > 59 {
		return 0, 0, false, NotATime
	}
	ns = c.midnight + (hour*3600+minute*60+second)*1e9
	used = 19
	if used < len(text) && text[used] == '.' {
		fraction, digits := nineDigits(text[used+1:])
		if digits == 0 {
			return 0, 0, false, NotATime
		}
		ns += fraction
		used += 1 + digits
	}
	if used == len(text) || (text[used] != 'Z' && text[used] != '+' && text[used] != '-') {
		return ns, used, false, ""
	}
	offset, width, ok := zone(text[used:])
	if !ok {
		return 0, 0, false, NotATime
	}
	return ns - offset*1e9, used + width, true, ""
}

// turnTo makes another day the remembered one. Nanoseconds in 64 bits end in the
// year 2262.
func (c *Clock) turnTo(day []byte) string {
	century, ok1 := twoDigits(day)
	years, ok2 := twoDigits(day[2:])
	month, ok3 := twoDigits(day[5:])
	date, ok4 := twoDigits(day[8:])
	if !ok1 || !ok2 || !ok3 || !ok4 || day[4] != '-' || day[7] != '-' {
		return NotATime
	}
	year := int(century*100 + years)
	begin := time.Date(year, time.Month(month), int(date), 0, 0, 0, 0, time.UTC)
	if int(begin.Month()) != int(month) || begin.Day() != int(date) {
		return NotATime // 30 February
	}
	if year < 1700 || year > 2200 {
		return OutOfRange // nanoseconds in 64 bits end in 2262
	}
	copy(c.day[:], day)
	c.midnight = begin.UnixNano()
	return ""
}

func twoDigits(text []byte) (int64, bool) {
	tens, ones := text[0]-'0', text[1]-'0'
	return int64(tens)*10 + int64(ones), tens <= 9 && ones <= 9
}

// nineDigits reads a fraction as billionths. Digits past the ninth are read and cut
// off.
func nineDigits(text []byte) (billionths int64, digits int) {
	for digits < len(text) && digits < 9 && text[digits]-'0' <= 9 {
		billionths = billionths*10 + int64(text[digits]-'0')
		digits++
	}
	billionths *= PowersOfTen[9-digits]
	for digits < len(text) && text[digits]-'0' <= 9 {
		digits++
	}
	return billionths, digits
}

// zone reads Z, +00:00, +0000 or +00, in seconds east of UTC.
func zone(text []byte) (seconds int64, used int, ok bool) {
	if text[0] == 'Z' {
		return 0, 1, true
	}
	if len(text) < 3 {
		return 0, 0, false
	}
	hours, ok := twoDigits(text[1:])
	used = 3
	minutes := int64(0)
	if ok && len(text) >= 6 && text[3] == ':' {
		minutes, ok = twoDigits(text[4:])
		used = 6
	} else if ok && len(text) >= 5 && text[3]-'0' <= 9 {
		minutes, ok = twoDigits(text[3:])
		used = 5
	}
	seconds = hours*3600 + minutes*60
	if text[0] == '-' {
		seconds = -seconds
	}
	return seconds, used, ok && hours <= 18 && minutes <= 59
}

// Decimal reads a number such as 0.052 at the start of text and returns it times
// 10^digits, exactly where it has no more digits than that: a float64 holds a Unix
// time only to a quarter of a microsecond. Any other way to write a number (1e3)
// goes through float64. It stops at a comma, a brace or a blank.
func Decimal(text []byte, digits int) (value int64, used int, reason string) {
	whole, used, reason := Integer(text)
	if reason == "" {
		unit := PowersOfTen[digits]
		fraction := int64(0)
		places := 0
		if used < len(text) && text[used] == '.' {
			fraction, places = nineDigits(text[used+1:])
			used += 1 + places
		}
		if places <= 9 && (used == len(text) || IsEnd(text[used])) && whole < math.MaxInt64/unit {
			return whole*unit + roundTo(fraction, digits), used, ""
		}
	}
	return float(text, digits)
}

// WholeDecimal is a Decimal that is all of a text; malformed is the reason where something
// stands after it.
func WholeDecimal(text []byte, digits int, malformed string) (value int64, reason string) {
	value, used, reason := Decimal(text, digits)
	if reason == "" && used != len(text) {
		return 0, malformed
	}
	return value, reason
}

// PowersOfTen up to 10^9, nanoseconds in a second.
var PowersOfTen = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// roundTo turns billionths into the unit that has the given number of digits.
func roundTo(billionths int64, digits int) int64 {
	unit := PowersOfTen[9-digits]
	return (billionths + unit/2) / unit
}

// IsEnd says that a number ends before this byte.
func IsEnd(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\r'
}

// float reads a number that is not plain digits and a point.
func float(text []byte, digits int) (value int64, used int, reason string) {
	for used < len(text) && !IsEnd(text[used]) {
		used++
	}
	if used == 0 {
		return 0, 0, Missing
	}
	parsed, err := strconv.ParseFloat(string(text[:used]), 64)
	scaled := math.Round(parsed * float64(PowersOfTen[digits]))
	switch {
	case math.IsNaN(parsed) || math.IsInf(parsed, 0) && err == nil:
		return 0, 0, NotFinite
	case err != nil && !math.IsInf(parsed, 0):
		return 0, 0, NotANumber
	case parsed < 0:
		return 0, 0, Negative
	case scaled >= math.MaxInt64:
		return 0, 0, OutOfRange
	}
	return int64(scaled), used, ""
}

// MaxTokens is far more than any request has, and so little that the sum of all
// rows of a file fits 64 bits.
const MaxTokens = math.MaxInt32

// TokenCount reads a number of tokens at the start of text.
func TokenCount(text []byte) (value int64, used int, reason string) {
	value, used, reason = Integer(text)
	if reason == OutOfRange || value > MaxTokens {
		return 0, 0, TooLarge
	}
	return value, used, reason
}

// Integer reads digits at the start of text. What follows them is for the caller to
// check.
func Integer(text []byte) (value int64, used int, reason string) {
	for used < len(text) && text[used]-'0' <= 9 {
		if used >= 18 && (value > math.MaxInt64/10 || value*10 > math.MaxInt64-int64(text[used]-'0')) {
			return 0, 0, OutOfRange
		}
		value = value*10 + int64(text[used]-'0')
		used++
	}
	switch {
	case used > 0:
		return value, used, ""
	case len(text) == 0 || text[0] == ',':
		return 0, 0, Missing
	case text[0] == '-' && len(text) > 1 && text[1]-'0' <= 9:
		return 0, 0, Negative
	}
	return 0, 0, NotAnInteger
}

// UnixInstant is an instant of Unix seconds between 2001 and 2286; nil for any
// other number.
func UnixInstant(m Number) *time.Time {
	if !m.Known || m.Value < 1e9 || m.Value > 1e10 {
		return nil
	}
	whole, fraction := math.Modf(m.Value)
	return new(time.Unix(int64(whole), int64(fraction*1e9)).UTC())
}

// ISOTime is an instant as ISO 8601 or Python's str() writes it; without a zone it
// is read as UTC.
func ISOTime(text string) *time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if at, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return new(at.UTC())
		}
	}
	return nil
}
