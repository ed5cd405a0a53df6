package queries

import (
	"strings"

	"tidemark/internal/lazy"
)

var (
	ratePattern = lazy.Regexp(`(?:^|_)([a-z]+)_per_(s|h|million_tokens)$`)
	unitPattern = lazy.Regexp(`, (seconds|bytes|tokens|requests|USD|watts|joules|nanoseconds|microseconds|tokens per second|requests per second|bytes per second)\b`)
)

// UnitOf is the unit of a column: its name says it by its end, or else its comment after a comma.
func UnitOf(name, comment string) string {
	if rate := ratePattern().FindStringSubmatch(name); rate != nil {
		switch of := rate[1]; of {
		case "bytes", "tokens", "requests", "sessions", "usd", "flops":
			return of + "/" + rate[2]
		}
		return "1/" + rate[2]
	}
	for _, ending := range []struct{ end, unit string }{
		{"_s", "s"}, {"_ns", "ns"}, {"_us", "µs"}, {"_bytes", "bytes"}, {"_tokens", "tokens"}, {"_usd", "USD"}, {"_w", "W"}, {"_ratio", "ratio"}, {"_hz", "Hz"},
	} {
		if strings.HasSuffix(name, ending.end) {
			return ending.unit
		}
	}
	if said := unitPattern().FindStringSubmatch(comment); said != nil {
		return said[1]
	}
	return ""
}
