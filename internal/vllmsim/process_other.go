//go:build !unix

package vllmsim

import "math"

// processUsage is unknown here.
func processUsage() usage {
	none := math.NaN()
	return usage{none, none, none, none, none}
}
