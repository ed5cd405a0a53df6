package results

import (
	"math"
	"strings"

	"tidemark/ingest/read"
)

// longest is the longest time that anything here can take, seconds: 30 years.
const longest = 1e9

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

func saneRequest(r *read.Rows, row *Request) {
	saneTime(r, &row.TTFTS, "ttft")
	saneTime(r, &row.E2ES, "latency")
	saneTime(r, &row.TPOTS, "tpot")
	saneCount(r, &row.InputTokens, "input tokens")
	saneCount(r, &row.OutputTokens, "output tokens")
	saneCount(r, &row.CachedTokens, "cached tokens")
}

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

func saneCount(r *read.Rows, value **int64, key string) {
	if *value != nil && **value < 0 {
		r.Implausible(key, "negative", 1)
		*value = nil
	}
}

// largest is past every figure of a benchmark, in any unit.
const largest = 1e15

// saneFigure says whether a figure can be. Lateness and what a search tries may be
// negative; a unit that is not known stays, and its figure has no value in SQL.
func saneFigure(r *read.Rows, row Figure) bool {
	switch {
	case math.IsNaN(row.Value) || math.Abs(row.Value) > largest:
		r.Implausible(row.Name, "past all bounds", 1)
		return false
	case row.Value < 0 && row.Unit != nil && knownUnit(*row.Unit) && !strings.Contains(row.Name, "delay") && !strings.HasPrefix(row.Statistic, "ci_"):
		r.Implausible(row.Name, "negative", 1)
		return false
	case row.Unit != nil && !knownUnit(*row.Unit):
		r.Note("no unit that is known, so no value in seconds or tokens: %s", read.KeyName(row.Name))
	}
	return true
}

// knownUnit is what macros.si_factor or seeds.definitions can convert, and units of
// what is never a quantity there.
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
