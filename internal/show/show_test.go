package show_test

import (
	"math"
	"testing"

	"tidemark/internal/show"
)

func TestFigures(t *testing.T) {
	for want, x := range map[string]float64{
		"0": 0, "20.0": 20, "1.00": 0.9996, "0.999": 0.9994, "0.0120": 0.012, "0.000123": 0.0001234, "1.23e-05": 0.00001234,
		"99.9": 99.94, "100": 99.96, "999": 999.4, "1,000": 999.6, "12,300": 12345.6, "-2.50": -2.5, "1,230,000,000": 1.2345e9, "+Inf": math.Inf(1),
	} {
		if got := show.Figures(x); got != want {
			t.Errorf("Figures(%v): got %s, want %s", x, got, want)
		}
	}
}

// Two and a half seconds were 2,500 ms in one place and 2.50 s in another, and 0.9996 s was both 1,000 ms and 1.00 s.
func TestDuration(t *testing.T) {
	for want, s := range map[string]float64{
		"2.50 s": 2.5, "1.00 s": 0.9996, "999 ms": 0.9994, "12.3 ms": 0.0123, "0.500 ms": 0.0005, "0 ms": 0, "600 s": 600, "-1.50 s": -1.5, "3,600 s": 3600,
	} {
		if got := show.Duration(s); got != want {
			t.Errorf("Duration(%v): got %s, want %s", s, got, want)
		}
	}
}

func TestARangeHasOneUnit(t *testing.T) {
	if got, want := show.Range(0.0095, 0.0123), "9.50 to 12.3 ms"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := show.Range(0.95, 1.2), "0.950 to 1.20 s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCountsAreWrittenInFull(t *testing.T) {
	for want, n := range map[string]float64{"0": 0, "367": 367, "-1,234": -1234, "12,345,678": 12345678} {
		if got := show.Count(n); got != want {
			t.Errorf("Count(%v): got %s, want %s", n, got, want)
		}
	}
	if got := show.Number(12345); got != "12,345" {
		t.Errorf("Number(12345): got %s", got)
	}
	if got := show.Number(4); got != "4.00" {
		t.Errorf("Number(4): got %s", got)
	}
	if got := show.Number(12345.6); got != "12,300" {
		t.Errorf("Number(12345.6): got %s", got)
	}
}
