package hint

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// durationWords maps units as people write them to Go's.
var durationWords = map[string]string{
	"ms": "ms", "msec": "ms", "millisecond": "ms", "milliseconds": "ms", "s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s",
	"m": "m", "min": "m", "mins": "m", "minute": "m", "minutes": "m", "h": "h", "hr": "h", "hrs": "h", "hour": "h", "hours": "h",
}

var wordedDuration = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *([a-z]*)$`)

// OfDuration says how to write a text that is not a duration ("120": 120 of what?). It is empty for
// a valid duration.
func OfDuration(text string) string {
	if _, err := time.ParseDuration(text); err == nil {
		return ""
	}
	parts := wordedDuration.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if parts == nil {
		return "write it like 500ms, 30s, 10m or 1h30m"
	}
	number, unit := parts[1], durationWords[parts[2]]
	n, _ := strconv.ParseFloat(number, 64)
	switch {
	case unit != "":
		return "write it as " + number + unit
	case strings.HasPrefix(parts[2], "d") && n*24 == float64(int(n*24)):
		return fmt.Sprintf("write it as %.0fh", n*24)
	case parts[2] != "":
		return "write it like 500ms, 30s, 10m or 1h30m"
	case n >= 60 && n == float64(int(n/60)*60):
		return fmt.Sprintf("%s what? %ss or %.0fm", number, number, n/60)
	default:
		return fmt.Sprintf("%s what? %sms, %ss or %sm", number, number, number, number)
	}
}
