package show

import "time"

// Instant is an instant in its own zone, to the minute, with the zone's offset: 2026-11-28 04:43 +00:00.
func Instant(t time.Time) string { return t.Format("2006-01-02 15:04 -07:00") }

// Moment is the same to the second.
func Moment(t time.Time) string { return t.Format("2006-01-02 15:04:05 -07:00") }
