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
