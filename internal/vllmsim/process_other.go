//go:build !unix

package vllmsim

import "math"

func processUsage() usage {
	none := math.NaN()
	return usage{none, none, none, none, none}
}
