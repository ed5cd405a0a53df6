package reports

import (
	"fmt"
	"math"
	"time"

	"tidemark/internal/show"
)

// number reads a number of a result, or one that a template says.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

// unknown is printed where there is no value, withheld where there are too few samples for one.
const (
	unknown  = "–"
	withheld = "withheld"
)

// How numbers are written is decided in internal/show, for this page and for the command line alike. The functions here accept what a
// template has: any value of a result, or none.

// duration writes seconds with their unit, and a missing value as withheld.
func duration(v any) string {
	s, ok := number(v)
	if !ok {
		return withheld
	}
	return show.Duration(s)
}

// durations writes the two ends of an interval.
func durations(low, high any) string {
	from, isFrom := number(low)
	to, isTo := number(high)
	if !isFrom || !isTo {
		return withheld
	}
	return show.Range(from, to)
}

// between writes a range in words: "between 11.2 ms and 14.0 ms", or "at 11.2 ms" if both ends read the same.
func between(least, most any) string {
	from, to := duration(least), duration(most)
	if from == to {
		return "at " + from
	}
	return "between " + from + " and " + to
}

// percent writes a share.
func percent(v any) string {
	share, ok := number(v)
	if !ok {
		return unknown
	}
	return show.Percent(share)
}

// times writes a ratio: 1.23×.
func times(v any) string {
	ratio, ok := number(v)
	if !ok {
		return unknown
	}
	return show.Figures(ratio) + "×"
}

// rate writes a number per second.
func rate(v any) string {
	perSecond, ok := number(v)
	if !ok {
		return unknown
	}
	return show.Figures(perSecond) + "/s"
}

// count writes a whole number in full.
func count(v any) string {
	n, ok := number(v)
	if !ok {
		return unknown
	}
	return show.Count(n)
}

// plainFigures writes any measured number that has no unit of its own.
func plainFigures(v any) string {
	n, ok := number(v)
	if !ok {
		return unknown
	}
	return show.Figures(n)
}

// setting writes a chosen duration: 10 ms, 600 s.
func setting(v any) string {
	s, ok := number(v)
	if !ok {
		return unknown
	}
	return show.Setting(s)
}

// counted writes a number with its noun: 1 request, 2 requests.
func counted(v any, noun string) string {
	if n, ok := number(v); ok && n == 1 {
		return "1 " + noun
	}
	return count(v) + " " + noun + "s"
}

// plain writes any value that is not a measured quantity.
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
		return show.Exact(n)
	}
	return fmt.Sprint(v)
}
