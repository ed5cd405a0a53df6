package service

import (
	"fmt"
	"time"

	"tidemark/internal/hint"
)

// Week is an ISO week: Monday 00:00 to Monday 00:00 by the clock of a zone.
type Week struct {
	Year, Number int
	Zone         *time.Location
}

// ParseWeek reads 2026-W47.
func ParseWeek(text string, zone *time.Location) (Week, error) {
	w := Week{Zone: zone}
	if n, err := fmt.Sscanf(text, "%4d-W%2d", &w.Year, &w.Number); err != nil || n != 2 || w.String() != text {
		return w, hint.Misuse("%q is no week", text).Hint("write an ISO week such as 2026-W47")
	}
	if WeekOf(w.Start()) != w {
		return w, hint.Misuse("the year %d has no week %d", w.Year, w.Number).Hint("a year has 52 or 53 weeks")
	}
	return w, nil
}

// WeekOf is the week of an instant, in that instant's zone.
func WeekOf(at time.Time) Week {
	year, number := at.ISOWeek()
	return Week{Year: year, Number: number, Zone: at.Location()}
}

func (w Week) String() string { return fmt.Sprintf("%04d-W%02d", w.Year, w.Number) }

// day is the first instant of a day of the week; 0 is Monday, 7 the Monday after.
func (w Week) day(n int) time.Time {
	fourth := time.Date(w.Year, time.January, 4, 0, 0, 0, 0, w.Zone) // is always in week 1
	sinceMonday := (int(fourth.Weekday()) + 6) % 7
	return FirstInstant(w.Year, time.January, 4-sinceMonday+7*(w.Number-1)+n, w.Zone)
}

// FirstInstant of a local date: its midnight, or where a clock that is set forward has none, the instant at which it is set. time.Date
// would then give an instant of the day before.
func FirstInstant(year int, month time.Month, day int, zone *time.Location) time.Time {
	midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	for at := time.Date(year, month, day-1, 12, 0, 0, 0, zone); ; {
		_, offset := at.Zone()
		_, change := at.ZoneBounds()
		begin := midnight.Add(-time.Duration(offset) * time.Second).In(zone)
		if change.IsZero() || begin.Before(change) {
			return begin
		}
		if _, offset := change.Zone(); !change.Before(midnight.Add(-time.Duration(offset) * time.Second)) {
			return change
		}
		at = change
	}
}

// Start is its first instant.
func (w Week) Start() time.Time { return w.day(0) }

// End is the first instant after it.
func (w Week) End() time.Time { return w.day(7) }

// Sunday is its last day.
func (w Week) Sunday() time.Time { return w.day(6) }

// Add is the week n weeks later, or earlier.
func (w Week) Add(n int) Week { return WeekOf(w.day(7 * n)) }

// Hour is one hour by the clock. The hour that a clock set back shows twice is two hours. Where a clock is set by half an hour, as on Lord Howe
// Island, the hours after it begin at half past, and the last of the week is half an hour long.
type Hour struct {
	Start  time.Time     // UTC
	Length time.Duration // an hour, or less at the end of such a week
	Local  string        // 2026-10-25 02:00+02:00
	Day    int           // 0 Monday to 6 Sunday, local
	Of     int           // hour of the local day, 0 to 23
}

// Hours are the 167, 168 or 169 hours of the week, in order.
func (w Week) Hours() []Hour {
	var hours []Hour
	for at := w.Start(); at.Before(w.End()); at = at.Add(time.Hour) {
		hours = append(hours, Hour{
			Start: at.UTC(), Length: min(time.Hour, w.End().Sub(at)), Local: at.Format("2006-01-02 15:04-07:00"), Day: (int(at.Weekday()) + 6) % 7, Of: at.Hour(),
		})
	}
	return hours
}
