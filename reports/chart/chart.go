// Package chart draws the marks of a Plate as SVG: ECharts' own server-side renderer draws them inside goja, once loaded
// per process. plate.go is what a caller writes and what ECharts is told, engine.go runs ECharts, clean.go lets only
// plain drawing through, plain.go leaves of it what is seen.
//
// It knows numbers, not what they are about, and it refuses: text that is anything but text, elements or attributes
// that could load or run something, and output that differs between two drawings of the same data.
package chart

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Size of a drawing in CSS pixels.
type Size struct{ Width, Height int }

// Point is one place. Where X or Y is no finite number, what is drawn has a gap.
type Point struct{ X, Y float64 }

// isFinite is false for a gap: SVG has no number for NaN or infinity.
func (p Point) isFinite() bool { return isFinite(p.X) && isFinite(p.Y) }

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Gap is a point that interrupts a line at x.
func Gap(x float64) Point { return Point{X: x, Y: math.NaN()} }

// orNull is the value, or null where it is no finite number.
func orNull(v float64) any {
	if !isFinite(v) {
		return nil
	}
	return v
}

// shorten keeps at most n characters of text, so that one long name cannot push a chart off its page. Control
// characters, which XML cannot hold, become spaces.
func shorten(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
