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

// written is a number by one of show's writers, or what stands for none.
func written(v any, write func(float64) string, none string) string {
	if n, ok := number(v); ok {
		return write(n)
	}
	return none
}

func duration(v any) string     { return written(v, show.Duration, withheld) }
func percent(v any) string      { return written(v, show.Percent, unknown) }
func count(v any) string        { return written(v, show.Count[float64], unknown) }
func plainFigures(v any) string { return written(v, show.Figures, unknown) }
func setting(v any) string      { return written(v, show.Setting, unknown) }

// times writes a ratio: 1.23×.
func times(v any) string {
	return written(v, func(ratio float64) string { return show.Figures(ratio) + "×" }, unknown)
}

// rate writes a number per second.
func rate(v any) string {
	return written(v, func(perSecond float64) string { return show.Figures(perSecond) + "/s" }, unknown)
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
		return show.Moment(x.UTC())
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
