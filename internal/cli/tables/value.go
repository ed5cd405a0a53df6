package tables

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/escape"
	"tidemark/internal/show"
)

// Plain is a value in full precision and base units; lists are JSON, null is empty.
func Plain(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []any, map[string]any:
		text, err := json.Marshal(jsonable(v))
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(text)
	default:
		return fmt.Sprint(v)
	}
}

// Distinct numbers names that come again: run_id, run_id_2. An object in JSON has one value of a name, and readers keep the last. Names that are
// there as they are come first, so that a column that is called run_id_2 keeps its name.
func Distinct(names []string) []string {
	isTaken := map[string]bool{}
	for _, name := range names {
		isTaken[name] = true
	}
	isUsed := map[string]bool{}
	found := make([]string, len(names))
	for i, name := range names {
		found[i] = name
		for n := 2; isUsed[name] && isTaken[found[i]]; n++ {
			found[i] = fmt.Sprintf("%s_%d", name, n)
		}
		isUsed[name], isTaken[found[i]] = true, true
	}
	return found
}

// Readable is a value with its unit and three significant digits. The unit is
// in the column's name.
func Readable(column string, value any) string {
	switch v := value.(type) {
	case nil:
		return "-"
	case float64:
		return readableNumber(column, v)
	case time.Time:
		return show.Moment(v.UTC())
	default:
		return escape.Controls(Plain(v), "\n\t")
	}
}

// readableNumber writes a number by the ending of its column's name. The order matters:
// a rate ends in _per_s and so in _s as well.
func readableNumber(column string, v float64) string {
	switch {
	case strings.HasSuffix(column, "_per_s"):
		return show.Figures(v) + "/s"
	case strings.HasSuffix(column, "_s"):
		return show.Duration(v)
	default:
		return show.Number(v)
	}
}

// Human is a value as a person on a terminal reads it: 85.5 GB, 13.2 ms, 1,234. The unit is in the column's name.
func Human(column string, value any) string {
	number, isNumber := value.(float64)
	if count, isCount := value.(int64); isCount && !isCode(column) {
		number, isNumber = float64(count), true
		if !hasUnit(column) {
			return show.Count(count)
		}
	}
	if !isNumber {
		return Readable(column, value)
	}
	for _, unit := range units {
		if strings.HasSuffix(column, unit.suffix) {
			return unit.written(number)
		}
	}
	return show.Number(number)
}

// units are the endings of column names. A longer ending comes before one that it ends in.
var units = []struct {
	suffix  string
	written func(float64) string
}{
	{"_bytes_per_s", func(x float64) string { return show.Scaled(x, "B/s") }},
	{"_flop_per_s", func(x float64) string { return show.Scaled(x, "FLOP/s") }},
	{"_per_s", func(x float64) string { return show.Number(x) + "/s" }},
	{"_s", show.Duration},
	{"_bytes", func(x float64) string { return show.Scaled(x, "B") }},
	{"_flop", func(x float64) string { return show.Scaled(x, "FLOP") }},
	{"_hz", func(x float64) string { return show.Scaled(x, "Hz") }},
	{"power_w", func(x float64) string { return show.Number(x) + " W" }},
	{"temperature_c", func(x float64) string { return show.Figures(x) + " °C" }},
	{"_usd", func(x float64) string { return "$" + show.Figures(x) }},
}

func hasUnit(column string) bool {
	for _, unit := range units {
		if strings.HasSuffix(column, unit.suffix) {
			return true
		}
	}
	return false
}

// isCode tells numbers that name something from numbers that count: 12,345 would be a strange id.
func isCode(column string) bool {
	return slices.ContainsFunc([]string{"id", "seed", "hash", "fingerprint", "year", "port", "pid", "look", "line", "seq"}, func(ending string) bool {
		return column == ending || strings.HasSuffix(column, "_"+ending)
	})
}

// exact is a value for a file or a pipe that nobody asked to be CSV.
func exact(_ string, value any) string {
	if value == nil {
		return "-"
	}
	return escape.Controls(Plain(value), "\n\t")
}
