package show

import (
	"math"
	"strconv"
)

// Things counts in words: "1 request", "2 requests".
func Things[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Verb is the form for so many: is for one, are for others.
func Verb[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Ordinal writes a place: 1st, 2nd, 7th, 11th.
func Ordinal(n int) string {
	ending := "th"
	if n%100/10 != 1 {
		switch n % 10 {
		case 1:
			ending = "st"
		case 2:
			ending = "nd"
		case 3:
			ending = "rd"
		}
	}
	return Count(n) + ending
}

// Exact writes a number that was chosen and not measured: 10, not 10.0, which would claim a precision.
func Exact(x float64) string {
	if x == math.Trunc(x) {
		return Count(x)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// Setting writes a chosen duration: 10 ms, 600 s.
func Setting(seconds float64) string {
	if math.Abs(seconds) < 1 {
		return Exact(math.Round(seconds*1e6)/1e3) + " ms"
	}
	return Exact(seconds) + " s"
}

// Plain writes a chosen number in its shortest form, without commas: a tick, 99.9, 0.5.
func Plain(x float64) string { return strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64) }

// Percentile names one: p99, p99.9.
func Percentile(percent float64) string { return "p" + Plain(percent) }

// Distance writes a distance of distributions with two figures: 0.011, 0.05.
func Distance(x float64) string {
	if x < 5e-4 {
		return "0"
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

// Dollars writes money: $2,558, $2.19, -$12.00.
func Dollars(usd float64) string {
	if usd < 0 {
		return "-" + Dollars(-usd)
	}
	return "$" + Money(usd)
}

// Money is Dollars without the sign of the currency, for a column that has it in its head.
func Money(usd float64) string {
	switch {
	case math.Abs(usd) >= 99.995:
		return Count(usd)
	case math.Abs(usd) >= 0.995 || usd == 0:
		return strconv.FormatFloat(usd, 'f', 2, 64)
	}
	return Figures(usd)
}
