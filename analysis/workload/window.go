package workload

import (
	"fmt"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/show"
)

// Window is a part of a trace by its own clock, including From and excluding Until. Each
// bound is empty, an offset since the first arrival ("+10m"), a full instant
// ("2023-11-16T18:20:00Z", for dated traces) or a time of day ("18:20", for
// dated traces of one day). Times are UTC unless they say otherwise.
type Window struct{ From, Until string }

// span is the extent of a trace; begin is nil if its times are relative.
type span struct {
	source string
	begin  *time.Time
	length time.Duration
}

// resolve gives the bounds as offsets since the first arrival; nil for a bound that is not given.
func (w Window) resolve(s span) (from, until *time.Duration, err error) {
	if from, err = s.offset("--from", w.From); err != nil {
		return nil, nil, err
	}
	if until, err = s.offset("--until", w.Until); err != nil {
		return nil, nil, err
	}
	if from != nil && until != nil && *until <= *from {
		return nil, nil, hint.Misuse("source %s: --until %s is not after --from %s", s.source, w.Until, w.From).
			Hint("swap them, or leave one out")
	}
	// A window that starts before its trace starts with the trace. This comes after the comparison above, which is about what the user wrote.
	if from != nil && *from < 0 {
		from = new(time.Duration)
	}
	return from, until, nil
}

// offset reads one bound: an offset with +, an instant, or a time of day.
func (s span) offset(flag, text string) (*time.Duration, error) {
	switch {
	case text == "":
		return nil, nil
	case strings.HasPrefix(text, "+"):
		offset, err := time.ParseDuration(text[1:])
		if err != nil {
			return nil, hint.Misuse("source %s: %s %q: not an offset", s.source, flag, text).Hint("write it like +90s, +10m or +1h30m: %s", hint.OfDuration(text[1:]))
		}
		return &offset, nil
	case s.begin == nil:
		return nil, hint.Misuse("source %s: %s %q: its times are relative, so there is no time of day", s.source, flag, text).
			Hint("give an offset since its start, such as +10m")
	}
	at, err := s.instant(flag, text)
	if err != nil {
		return nil, err
	}
	offset := at.Sub(*s.begin)
	return &offset, nil
}

// instant reads a full instant, or a time of day of the one day that the trace covers.
func (s span) instant(flag, text string) (time.Time, error) {
	if at, err := show.ReadInstant(text); err == nil {
		return at, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	clock, err := timeOfDay(text)
	if err != nil {
		return time.Time{}, hint.Misuse("source %s: %s %q: not a time", s.source, flag, text).
			Hint("%s", "write it like 09:00, which is UTC, like "+s.begin.UTC().Format(time.RFC3339)+" with its zone (Z or +01:00), or like +10m")
	}
	first, last := s.begin.UTC(), s.begin.Add(s.length).UTC()
	day := first.Truncate(24 * time.Hour)
	if !last.Before(day.Add(24 * time.Hour)) {
		return time.Time{}, hint.Misuse("source %s: %s %q: the trace lasts from %s to %s, more than one day", s.source, flag, text, readable(first), readable(last)).
			Hint("%s", "give a full instant, such as "+day.Add(clock).Format(time.RFC3339))
	}
	return day.Add(clock), nil
}

// timeOfDay reads a clock time as the time since midnight.
func timeOfDay(text string) (time.Duration, error) {
	for _, layout := range []string{"15:04", "15:04:05", "15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Sub(at.Truncate(24 * time.Hour)), nil
		}
	}
	return 0, fmt.Errorf("no time of day: %q", text)
}

// readable writes an instant in UTC, to the second.
func readable(at time.Time) string { return show.Moment(at.UTC()) }

// String is the extent in words, for the hints of errors about a window: a user who named an empty one wants to know what there is.
func (s span) String() string {
	if s.begin == nil {
		return fmt.Sprintf("it lasts %s", s.length.Round(time.Second))
	}
	return fmt.Sprintf("it lasts from %s to %s", readable(*s.begin), readable(s.begin.Add(s.length)))
}
