// Package show writes numbers for people, in one way wherever a person reads them: on the terminal, in a verdict, on a
// page. queries/macros/sentences.sql has the same rules for sentences that SQL makes; a test compares the two.
//
//   - A measured number has three significant figures and no exponent, with commas between thousands: 0.0123, 20.0,
//     1,230. Only below a ten-thousandth it has one: 1.23e-05.
//   - A time has its unit: s from one second on, otherwise ms. It is rounded first: 0.9996 s is 1.00 s, not 1,000 ms.
//     In a range and in a column all times have the unit of the longest.
//   - A ratio is shown in percent where it is a share of something.
//   - A count is written in full: 12,345.
//
// It refuses numbers for programs: files and columns have seconds, bytes and tokens in full precision.
package show

import (
	"math"
	"strconv"
	"strings"
)

// decimals holds the sizes at which three significant figures need one decimal place less. They lie half a unit below
// powers of ten, because 99.95 rounds to 100.
var decimals = []float64{99.95, 9.995, 0.9995, 0.09995, 0.009995, 0.0009995}

// smallest is the first size that is written without a power of ten.
const smallest = 0.00009995

// Figures writes a measured number.
func Figures(x float64) string {
	size := math.Abs(x)
	switch {
	case x == 0:
		return "0"
	case math.IsNaN(x) || math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'g', -1, 64)
	case size < smallest:
		return strconv.FormatFloat(x, 'e', 2, 64)
	case size >= 999.5:
		scale := math.Pow(10, math.Floor(math.Log10(size))-2)
		return Count(math.Round(x/scale) * scale)
	}
	places := 0
	for places < len(decimals) && size < decimals[places] {
		places++
	}
	return strconv.FormatFloat(x, 'f', places, 64)
}

// Unit is what times are written in.
type Unit struct {
	Name   string
	Factor float64 // times seconds
}

// UnitOf is the unit for a time, or for a column whose longest time it is.
func UnitOf(seconds float64) Unit {
	if math.Abs(seconds) >= 0.9995 {
		return Unit{"s", 1}
	}
	return Unit{"ms", 1e3}
}

// Duration writes a measured time.
func Duration(seconds float64) string {
	if math.IsNaN(seconds) {
		return "-"
	}
	unit := UnitOf(seconds)
	return Figures(seconds*unit.Factor) + " " + unit.Name
}

// Range writes two measured times: 9.50 to 12.3 ms.
func Range(low, high float64) string {
	unit := UnitOf(high)
	return Figures(low*unit.Factor) + " to " + Figures(high*unit.Factor) + " " + unit.Name
}

// Percent writes a share.
func Percent(ratio float64) string { return Figures(ratio*100) + " %" }

// Headroom writes what is left beside a load; from ten times the load on it is no per cent that a reader could picture.
func Headroom(ratio float64) string {
	switch {
	case ratio >= 1000:
		return "room for 1,000 times its load and more"
	case ratio >= 10:
		return "room for " + Figures(1+ratio) + " times its load"
	}
	return Percent(ratio) + " headroom"
}

// Span writes how long something goes on, from two days on in days.
func Span(seconds float64) string {
	if seconds >= 2*86400 {
		return Figures(seconds/86400) + " days"
	}
	return Duration(seconds)
}

// Count writes a whole number in full.
func Count[N int | int64 | float64](n N) string {
	digits := strconv.FormatFloat(math.Round(float64(n)), 'f', 0, 64)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0 && !math.IsInf(float64(n), 0); i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Number writes a number that may be a count: in full where it is whole and three figures are not enough for it.
func Number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) >= 1000 && math.Abs(x) < 1e15 {
		return Count(x)
	}
	return Figures(x)
}

// Scaled writes a number with a prefix of its unit, in powers of a thousand: 85.5 GB, 989 TFLOP/s. "B" is bytes.
func Scaled(x float64, unit string) string {
	size := math.Abs(x)
	for _, prefix := range []struct {
		name string
		size float64
	}{{"E", 1e18}, {"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if size >= 0.9995*prefix.size {
			return Figures(x/prefix.size) + " " + prefix.name + unit
		}
	}
	return Figures(x) + " " + unit
}
