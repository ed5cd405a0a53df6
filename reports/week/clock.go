package week

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the same page on a machine without zone files

	"tidemark/analysis/week"
	"tidemark/reports/week/draw"
)

// Times of the page are in the service's zone. Inside the week the hours of the report say what the clock showed, so that no time zone
// database is needed for them; outside it the zone's name does, and UTC where that is not known on this machine.

const hourLayout = "2006-01-02 15:04-07:00"

// localHour is the start of an hour with the offset that its own clock had.
func localHour(h *week.Hour) time.Time {
	at, err := time.Parse(hourLayout, h.Local)
	if err != nil {
		return h.Start
	}
	return at
}

// clock shows instants in one zone.
type clock struct {
	hours []week.Hour
	zone  *time.Location
}

func newClock(r *week.Report) clock {
	zone, err := time.LoadLocation(r.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	return clock{r.Hours, zone}
}

// local is an instant as the service's clock showed it.
func (c clock) local(at time.Time) time.Time {
	for i := range c.hours {
		if since := at.Sub(c.hours[i].Start); since >= 0 && since < time.Hour {
			return at.In(localHour(&c.hours[i]).Location())
		}
	}
	return at.In(c.zone)
}

// hour is short: Tue 14:00.
func (c clock) hour(at time.Time) string { return c.local(at).Format("Mon 15:04") }

// day is long: 11 November 2026.
func (c clock) day(at time.Time) string { return c.local(at).Format("2 January 2006") }

// instant: 16 Nov 00:00; the page says the year.
func (c clock) instant(at time.Time) string { return c.local(at).Format("2 Jan 15:04") }

// span is a stretch within the week: Thu 01:00 to 04:00, Thu 22:00 to Fri 03:00.
func (c clock) span(from, until time.Time) string {
	start, end := c.local(from), c.local(until)
	if start.Format("Mon") == end.Format("Mon") && until.Sub(from) < 24*time.Hour {
		return start.Format("Mon 15:04") + " to " + end.Format("15:04")
	}
	return start.Format("Mon 15:04") + " to " + end.Format("Mon 15:04")
}

// hoursInWords names hours in order: Fri 10:00 and 11:00; many become their first and last.
func (c clock) hoursInWords(starts []time.Time) string {
	if len(starts) > 3 {
		first, last := starts[0], starts[len(starts)-1]
		if isRow(starts) {
			return c.span(first, last.Add(time.Hour))
		}
		return counted(len(starts), "hour") + " from " + c.hour(first) + " to " + c.hour(last)
	}
	words, day := make([]string, len(starts)), ""
	for i, start := range starts {
		at := c.local(start)
		if words[i] = at.Format("15:04"); at.Format("Mon") != day {
			day = at.Format("Mon")
			words[i] = day + " " + words[i]
		}
	}
	return listed(words)
}

// isRow says that each hour follows the one before.
func isRow(starts []time.Time) bool {
	for i := 1; i < len(starts); i++ {
		if starts[i].Sub(starts[i-1]) != time.Hour {
			return false
		}
	}
	return true
}

// mondayInWords: 11 January; with the year where it is another one than the report's. Text that is no week is returned as it is.
func mondayInWords(isoWeek, reportWeek string) string {
	monday, ok := draw.Monday(isoWeek)
	if !ok {
		return isoWeek
	}
	if this, ok := draw.Monday(reportWeek); ok && monday.Sub(this) > 300*24*time.Hour {
		return monday.Format("2 January 2006")
	}
	return monday.Format("2 January")
}

// weekInWords: Week 47, 16 to 22 November 2026.
func weekInWords(r *week.Report) string {
	_, number, _ := strings.Cut(r.Week, "-W")
	from, errFrom := time.Parse(time.DateOnly, r.FromDay)
	until, errUntil := time.Parse(time.DateOnly, r.UntilDay)
	if errFrom != nil || errUntil != nil {
		return "Week " + strings.TrimLeft(number, "0")
	}
	layout := "2"
	switch {
	case from.Year() != until.Year():
		layout = "2 January 2006"
	case from.Month() != until.Month():
		layout = "2 January"
	}
	return fmt.Sprintf("Week %s, %s to %s", strings.TrimLeft(number, "0"), from.Format(layout), until.Format("2 January 2006"))
}

// isNextWeek says that the second ISO week follows the first at once.
func isNextWeek(before, after string) bool {
	one, okOne := draw.Monday(before)
	two, okTwo := draw.Monday(after)
	return okOne && okTwo && two.Sub(one) == 7*24*time.Hour
}
