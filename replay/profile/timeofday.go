package profile

import (
	"strconv"
	"strings"
	"time"

	"tidemark/internal/yamlfile"
)

const day = 24 * time.Hour

// timeOfDay reads a time since midnight, from 00:00 up to 24:00. A window can
// end at 24:00 but not start there.
func timeOfDay(into *time.Duration) yamlfile.Field {
	return func(where string, node *yamlfile.Node) error {
		hours, minutes, found := strings.Cut(node.Value, ":")
		h, errH := strconv.ParseUint(hours, 10, 8)
		m, errM := strconv.ParseUint(minutes, 10, 8)
		value := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
		if !found || errH != nil || errM != nil || m > 59 || value > day {
			return yamlfile.Errorf(node, `%s: %q: must be a time of day, such as "09:30"`, where, node.Value)
		}
		*into = value
		return nil
	}
}

// checkWindow wants a window of the day to be a time, and to start after the
// one before it has ended.
func checkWindow(where string, node *yamlfile.Node, from, until, endBefore time.Duration) error {
	switch {
	case until <= from:
		return yamlfile.Errorf(node, "%s: until must be after from", where)
	case from < endBefore:
		return yamlfile.Errorf(node, "%s: starts before the window ahead of it ends", where)
	}
	return nil
}
