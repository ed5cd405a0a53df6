package show

import "time"

// What is written here says its offset from UTC, and ReadInstant reads it back: what the program prints can be typed.
const (
	toTheMinute = "2006-01-02 15:04 -07:00"
	toTheSecond = "2006-01-02 15:04:05 -07:00"
)

// Instant is an instant in its own zone, to the minute: 2026-11-28 04:43 +00:00.
func Instant(t time.Time) string { return t.Format(toTheMinute) }

// Moment is the same to the second.
func Moment(t time.Time) string { return t.Format(toTheSecond) }

// ReadInstant reads an instant that says its zone: RFC 3339, or as Instant and Moment write it.
func ReadInstant(text string) (at time.Time, err error) {
	for _, layout := range []string{toTheMinute, toTheSecond, time.RFC3339Nano} {
		if at, err = time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return at, err
}
