package results

import (
	"math"
	"strings"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/lazy"
	"tidemark/internal/maybe"
)

// Names and units of figures. Tools agree on little: avg is mean, 99% is p99, a
// median is a p50. Here they become the few names that raw.figures has.

// wholeNumber is a count that JSON carries as a float; nil for anything that is not
// one.
func wholeNumber(value *float64) *int64 {
	if value == nil || *value < 0 || *value > math.MaxInt32 || *value != math.Trunc(*value) {
		return nil
	}
	return new(int64(*value))
}

// instantInNanoseconds is an instant of Unix nanoseconds, of the years from 2001 to
// 2096. A float64 holds such a number to about a quarter of a microsecond.
func instantInNanoseconds(value *float64, unit *string) *time.Time {
	if value == nil || unit == nil || *unit != "ns" || *value < 1e18 || *value > 4e18 {
		return nil
	}
	return new(time.Unix(0, int64(*value)).UTC())
}

// metricSeconds reads {"unit": "ms", "avg": 1, ...}, or {"unit": "ms", "value": 1}.
func metricSeconds(metric read.Object) *float64 {
	value, unit := metric.Float("avg"), metric.Word("unit")
	if value == nil {
		value = metric.Float("value")
	}
	if value == nil || unit == nil || secondsIn[*unit] == 0 {
		return nil
	}
	return new(*value * secondsIn[*unit])
}

// secondsIn are the units of time as AIPerf writes them, in seconds.
var secondsIn = map[string]float64{"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "seconds": 1, "min": 60, "hours": 3600}

// unitEnding is the unit of names that end in something, for tools that write no units.
type unitEnding struct{ ending, unit string }

// unitByEnding is the unit of the first ending that a name has; "" where it has none.
func unitByEnding(name string, endings []unitEnding) string {
	for _, e := range endings {
		if strings.HasSuffix(name, e.ending) {
			return e.unit
		}
	}
	return ""
}

// unitFor is the unit of a statistic: a count of samples has none, and a variance
// would have its square.
func unitFor(statistic, unit string) string {
	switch statistic {
	case "count", "variance":
		return ""
	}
	return unit
}

// eachNumber walks down to every number of a tree and calls use with the object that it
// stands in, the keys on the way to that, and its own. The depth is bounded because a file
// can be made to nest without end.
func eachNumber(way []string, node read.Object, use func(of read.Object, way []string, key string)) {
	const deepest = 10
	for _, key := range read.SortedKeys(node) {
		if _, isNumber := node[key].(float64); isNumber {
			use(node, way, key)
		} else if len(way) < deepest {
			eachNumber(append(way[:len(way):len(way)], key), node.Object(key), use)
		}
	}
}

// keep puts the numbers, truth values and words of these keys into a point's settings.
func keep(flat map[string]any, from read.Object, keys ...string) {
	for _, key := range keys {
		if value := from.Scalar(key); value != nil {
			flat[key] = value
		}
	}
}

// isoSpan is a duration of ISO 8601 without days or months, which are of no fixed
// length.
var isoSpan = lazy.Regexp(`^PT(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?$`)

// isoDuration reads PT1H2M3.5S as seconds; nil where the text is anything else.
func isoDuration(text string) *float64 {
	parts := isoSpan().FindStringSubmatch(text)
	if parts == nil || text == "PT" {
		return nil
	}
	return new(3600*read.ParseNumber(parts[1]).Value + 60*read.ParseNumber(parts[2]).Value + read.ParseNumber(parts[3]).Value)
}

// percentileName matches p99, p99.9, p99_9 and p99th.
var percentileName = lazy.Regexp(`^p(\d{1,3})(?:[._p](\d+))?(?:th)?$`)

// statistic is the name that raw.figures has for a tool's statistic; "" for a word
// that is not one.
func statistic(name string) string {
	switch name {
	case "mean", "avg", "average":
		return "mean"
	case "median":
		return "p50"
	case "std", "stddev", "std_dev":
		return "std"
	case "sum", "total_sum":
		return "sum"
	case "min", "max", "count", "mode", "variance", "value":
		return name
	}
	parts := percentileName().FindStringSubmatch(name)
	if parts == nil {
		return ""
	}
	if parts[2] != "" {
		return "p" + parts[1] + "." + parts[2]
	}
	return "p" + parts[1]
}

// valueFigure is a single number; none where the tool does not say it.
func valueFigure(name, unit string, value *float64) []Figure {
	if value == nil {
		return nil
	}
	return []Figure{{Name: name, Statistic: "value", Unit: new(unit), Value: *value}}
}

// addFigure adds a number where the tool has one. A name that could be a sentence
// is not kept.
func addFigure(r *read.Rows, name, statistic, unit string, value read.Number) {
	if value.Known && read.Word(name) != "" {
		r.Add(Figure{Name: name, Statistic: statistic, Unit: maybe.Known(unit), Value: value.Value})
	}
}

// addPoint adds a run and its figures.
func addPoint(out *read.Rows, row Point, figures []Figure) error {
	out.Add(row)
	for _, figure := range figures {
		out.Add(figure)
	}
	return out.Err()
}
