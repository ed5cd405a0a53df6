package send

import (
	"testing"

	"tidemark/analysis/capacity"
	"tidemark/analysis/tune"
)

// The interval of a candidate is printed also where a search knows one end of it.
func TestAnIntervalWithOneEnd(t *testing.T) {
	low, high := 20.1, 48.7
	for want, a := range map[string]capacity.Answer{
		"20.1 to 48.7":  {RateLowPerS: &low, RateHighPerS: &high},
		"at least 20.1": {RateLowPerS: &low},
		"at most 48.7":  {RateHighPerS: &high},
		"":              {},
	} {
		a.Outcome = capacity.Found
		if _, interval, _, _ := figuresOf(tune.Row{RatePerS: 30, Full: &a}); interval != want {
			t.Errorf("low %v, high %v: %q, want %q", a.RateLowPerS, a.RateHighPerS, interval, want)
		}
	}
}
