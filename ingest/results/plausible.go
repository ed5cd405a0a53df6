package results

import (
	"math"
	"strings"

	"tidemark/ingest/read"
)

// What cannot be true is left out, and a note counts it: a negative latency, a
// total past all totals, a date that no calendar has. Silence would hide a broken
// file, and one such number spoils every mean. A figure of an unknown unit stays,
// because the unit may be added to queries/seeds/definitions.csv later.

// longest is the longest time that anything here can take, in seconds: 30 years.
const longest = 1e9

// sanePoint drops times, counts and dates that cannot be. A duration of zero would
// make every rate infinite.
func sanePoint(r *read.Rows, row *Point) {
	if row.DurationS != nil && *row.DurationS == 0 {
		r.Implausible("duration", "zero", 1)
		row.DurationS = nil
	}
	saneTime(r, &row.DurationS, "duration")
	for key, count := range map[string]**int64{"requests": &row.Requests, "completed": &row.Completed, "failed": &row.Failed} {
		saneCount(r, count, key)
	}
	if row.StartedAt != nil && !read.IsOfThisAge(*row.StartedAt) {
		r.Implausible("date", "no possible date", 1)
		row.StartedAt = nil
	}
}

// saneRequest drops times and counts that cannot be; the request itself stays.
func saneRequest(r *read.Rows, row *Request) {
	saneTime(r, &row.TTFTS, "ttft")
	saneTime(r, &row.E2ES, "latency")
	saneTime(r, &row.TPOTS, "tpot")
	saneCount(r, &row.InputTokens, "input tokens")
	saneCount(r, &row.OutputTokens, "output tokens")
	saneCount(r, &row.CachedTokens, "cached tokens")
}

// saneTime drops a time that is negative, no number, or beyond 30 years.
func saneTime(r *read.Rows, value **float64, key string) {
	switch {
	case *value == nil:
		return
	case **value < 0:
		r.Implausible(key, "negative", 1)
	case math.IsNaN(**value), **value > longest:
		r.Implausible(key, "past all bounds", 1)
	default:
		return
	}
	*value = nil
}

// saneCount drops a negative count.
func saneCount(r *read.Rows, value **int64, key string) {
	if *value != nil && **value < 0 {
		r.Implausible(key, "negative", 1)
		*value = nil
	}
}

// largest is beyond every figure of a benchmark, in any unit.
const largest = 1e15

// saneFigure says whether a figure can be true. Two kinds may be negative: a delay
// (a client may send early) and the bounds of a confidence interval. So may what an
// optimizer searches, whose unit is not known here.
func saneFigure(r *read.Rows, row Figure) bool {
	switch {
	case math.IsNaN(row.Value) || math.Abs(row.Value) > largest:
		r.Implausible(row.Name, "past all bounds", 1)
		return false
	case row.Value < 0 && row.Unit != nil && knownUnit(*row.Unit) && !strings.Contains(row.Name, "delay") && !strings.HasPrefix(row.Statistic, "ci_"):
		r.Implausible(row.Name, "negative", 1)
		return false
	case row.Unit != nil && !knownUnit(*row.Unit):
		r.Note("unknown unit, so no value in seconds or tokens: %s", read.KeyName(row.Name))
	}
	return true
}

// knownUnit is true for a unit that macros.si_factor or seeds.definitions can
// convert, and for units of things that are never a quantity there.
func knownUnit(unit string) bool {
	switch unit = strings.ToLower(unit); unit {
	case "s", "sec", "second", "seconds", "ms", "millisecond", "milliseconds", "us", "µs", "microsecond", "microseconds", "ns", "nanosecond", "nanoseconds",
		"ms/token", "ms/tok", "s/token", "s/tok", "%", "percent", "token", "tokens", "tok", "count", "request", "requests", "req", "ratio", "queries",
		"requests/min", "bytes", "kb", "mb", "gb", "gib", "mib", "kib", "w", "watts", "j", "joules", "celsius", "c", "mhz", "images", "errors", "x":
		return true
	}
	of, per, isRate := strings.Cut(unit, "/")
	switch of {
	case "token", "tokens", "tok", "request", "requests", "req", "query", "queries", "bytes", "kb", "mb", "gb", "images", "image":
	default:
		return false
	}
	per, _, _ = strings.Cut(per, "/")
	return isRate && (per == "s" || per == "sec" || per == "second" || per == "user" || per == "request" || per == "gpu")
}
