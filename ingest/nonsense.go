package ingest

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

// What cannot be is left out of results, never kept in silence: a negative time, a
// total past all totals, a date that no calendar has. How often and under which
// key goes into a note; the value does not.

// nonsense is one kind of it.
type nonsense struct{ key, why string }

// nonsense counts values that were left out.
func (r *rows) nonsense(key, why string, times int) {
	if r.strange == nil {
		r.strange = map[nonsense]int{}
	}
	if len(r.strange) < 1000 {
		r.strange[nonsense{keyName(key), why}] += times
	}
}

func (r *rows) noteNonsense() {
	byText := map[string]int{}
	for kind, times := range r.strange {
		byText[kind.why+": "+kind.key] += times
	}
	const enough = 20
	for i, text := range sortedKeys(byText) {
		if i == enough {
			r.note("left out, and %d more keys", len(byText)-enough)
			break
		}
		r.note("left out, %d times, as %s", byText[text], text)
	}
	r.strange = nil
}

func (r pointRow) Check(out *rows) (Row, bool) {
	out.sanePoint(&r)
	r.Point += out.firstPoint
	if out.label != "" {
		r.Label = &out.label
	}
	return r, true
}

func (r figureRow) Check(out *rows) (Row, bool) {
	isSane := out.saneFigure(r)
	r.Point += out.firstPoint
	return r, isSane
}

func (r resultRequestRow) Check(out *rows) (Row, bool) {
	out.saneRequest(&r)
	r.Point += out.firstPoint
	r.SessionID = out.session(r.SessionID)
	return r, true
}

// longest is the longest time that anything here can take, seconds: 30 years.
const longest = 1e9

func (r *rows) sanePoint(row *pointRow) {
	if row.DurationS != nil && *row.DurationS == 0 {
		r.nonsense("duration", "zero", 1)
		row.DurationS = nil
	}
	r.saneTime(&row.DurationS, "duration")
	for key, count := range map[string]**int64{"requests": &row.Requests, "completed": &row.Completed, "failed": &row.Failed} {
		r.saneCount(count, key)
	}
	if row.StartedAt != nil && !isOfThisAge(*row.StartedAt) {
		r.nonsense("date", "no possible date", 1)
		row.StartedAt = nil
	}
}

func (r *rows) saneRequest(row *resultRequestRow) {
	r.saneTime(&row.TTFTS, "ttft")
	r.saneTime(&row.E2ES, "latency")
	r.saneTime(&row.TPOTS, "tpot")
	r.saneCount(&row.InputTokens, "input tokens")
	r.saneCount(&row.OutputTokens, "output tokens")
	r.saneCount(&row.CachedTokens, "cached tokens")
}

func (r *rows) saneTime(value **float64, key string) {
	switch {
	case *value == nil:
		return
	case **value < 0:
		r.nonsense(key, "negative", 1)
	case math.IsNaN(**value), **value > longest:
		r.nonsense(key, "past all bounds", 1)
	default:
		return
	}
	*value = nil
}

func (r *rows) saneCount(value **int64, key string) {
	if *value != nil && **value < 0 {
		r.nonsense(key, "negative", 1)
		*value = nil
	}
}

// largest is past every figure of a benchmark, in any unit.
const largest = 1e15

// saneFigure says whether a figure can be. Lateness and what a search tries may be
// negative; a unit that is not known stays, and its figure has no value in SQL.
func (r *rows) saneFigure(row figureRow) bool {
	switch {
	case math.IsNaN(row.Value) || math.Abs(row.Value) > largest:
		r.nonsense(row.Name, "past all bounds", 1)
		return false
	case row.Value < 0 && row.Unit != nil && knownUnit(*row.Unit) && !strings.Contains(row.Name, "delay") && !strings.HasPrefix(row.Statistic, "ci_"):
		r.nonsense(row.Name, "negative", 1)
		return false
	case row.Unit != nil && !knownUnit(*row.Unit):
		r.note("no unit that is known, so no value in seconds or tokens: %s", keyName(row.Name))
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

func isOfThisAge(at time.Time) bool { return at.Year() >= 2000 && at.Year() < 2100 }

// oddNumber notes a figure of a tree that is NaN, infinite or past all numbers.
func (r *rows) oddNumber(name string, of map[string]any, key string) {
	if text, isText := of[key].(string); isText && text == "" {
		r.nonsense(name, "no finite number", 1)
	}
}

// odd notes keys that hold something, but no number that can be.
func (o resultObject) odd(out *rows, keys ...string) {
	for _, key := range keys {
		text := string(o[key])
		switch {
		case text == "" || text == "null" || text == `""`:
		case o.number(key) == nil:
			out.nonsense(key, "no finite number", 1)
		case *o.number(key) > 0 && key != "duration" && o.count(key) == nil:
			out.nonsense(key, "no count", 1)
		case *o.number(key) < 0:
			out.nonsense(key, "negative", 1)
			o[key] = json.RawMessage("null")
		}
	}
}
