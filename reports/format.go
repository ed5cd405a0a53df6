package reports

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// number reads any of DuckDB's numbers.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	case float32:
		return float64(n), true
	case int64:
		return float64(n), true
	case int32:
		return float64(n), true
	case int16:
		return float64(n), true
	case int:
		return float64(n), true
	case uint64:
		return float64(n), true
	case *big.Int: // DuckDB's sum of bigints
		f, _ := new(big.Float).SetInt(n).Float64()
		return f, true
	case duckdb.Decimal:
		return n.Float64(), true
	}
	return 0, false
}

// unknown stands where there is no value; withheld where there are too few samples for one.
const (
	unknown  = "–"
	withheld = "withheld"
)

// figures writes a number with three significant figures and no exponent.
func figures(v float64) string {
	if v == 0 {
		return "0"
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(v))))
	if decimals < 0 {
		scale := math.Pow10(-decimals)
		return grouped(strconv.FormatFloat(math.Round(v/scale)*scale, 'f', 0, 64))
	}
	// Rounding may carry: 0.9996 has one decimal less than it seems.
	if rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64); decimals > 0 &&
		math.Floor(math.Log10(math.Abs(rounded))) > math.Floor(math.Log10(math.Abs(v))) {
		decimals--
	}
	return strconv.FormatFloat(v, 'f', min(decimals, 9), 64)
}

// grouped puts commas between thousands.
func grouped(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// unit is how a duration is written: milliseconds up to ten seconds, seconds beyond.
type unit struct {
	Name   string
	Factor float64
}

func unitFor(largest float64) unit {
	if math.Abs(largest) >= 10 {
		return unit{"s", 1}
	}
	return unit{"ms", 1e3}
}

// duration writes seconds with their unit, a missing value as withheld.
func duration(v any) string {
	s, ok := number(v)
	if !ok {
		return withheld
	}
	u := unitFor(s)
	return figures(s*u.Factor) + " " + u.Name
}

// between says what least and most leave room for: "between 11.2 ms and 14.0 ms", or "at 11.2 ms".
func between(least, most any) string {
	from, to := duration(least), duration(most)
	if from == to {
		return "at " + from
	}
	return "between " + from + " and " + to
}

func percent(v any) string {
	share, ok := number(v)
	if !ok {
		return unknown
	}
	return figures(share*100) + " %"
}

func times(v any) string {
	ratio, ok := number(v)
	if !ok {
		return unknown
	}
	return figures(ratio) + "×"
}

func rate(v any) string {
	perSecond, ok := number(v)
	if !ok {
		return unknown
	}
	return figures(perSecond) + "/s"
}

// count writes a whole number in full.
func count(v any) string {
	n, ok := number(v)
	if !ok {
		return unknown
	}
	return grouped(strconv.FormatFloat(math.Round(n), 'f', 0, 64))
}

// plainFigures writes any measured number that has no unit of its own.
func plainFigures(v any) string {
	n, ok := number(v)
	if !ok {
		return unknown
	}
	return figures(n)
}

// exact writes a number that was chosen, not measured: without figures that only claim precision.
func exact(v float64) string {
	if v == math.Trunc(v) {
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// setting writes a chosen duration: 10 ms, 600 s.
func setting(v any) string {
	s, ok := number(v)
	switch {
	case !ok:
		return unknown
	case math.Abs(s) < 1:
		return exact(math.Round(s*1e6)/1e3) + " ms"
	}
	return exact(s) + " s"
}

// counted writes a number with its noun: 1 request, 2 requests.
func counted(v any, noun string) string {
	if n, ok := number(v); ok && n == 1 {
		return "1 " + noun
	}
	return count(v) + " " + noun + "s"
}

// plain writes what is no measured quantity.
func plain(v any) string {
	switch x := v.(type) {
	case nil:
		return unknown
	case bool:
		if x {
			return "yes"
		}
		return "no"
	case time.Time:
		return x.UTC().Format("2006-01-02 15:04:05 UTC")
	case string:
		if x == "" {
			return unknown
		}
		return x
	}
	if n, ok := number(v); ok {
		return exact(n)
	}
	return fmt.Sprint(v)
}
