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

// The writers side by side, at the values at which they part.
func TestWritersSideBySide(t *testing.T) {
	writers := []func(float64) string{show.Figures, show.Number, show.Exact, show.Plain, show.Setting, show.Money, show.Distance}
	for x, want := range map[float64][]string{
		//         Figures      Number       Exact        Plain         Setting        Money        Distance
		0:       {"0", "0", "0", "0", "0 ms", "0.00", "0"},
		1.5e-5:  {"1.50e-05", "1.50e-05", "1.5e-05", "0.000015", "0.015 ms", "1.50e-05", "0"},
		0.0123:  {"0.0123", "0.0123", "0.0123", "0.0123", "12.3 ms", "0.0123", "0.012"},
		2.5:     {"2.50", "2.50", "2.5", "2.5", "2.5 s", "2.50", "2.5"},
		99.9:    {"99.9", "99.9", "99.9", "99.9", "99.9 s", "99.90", "1e+02"},
		999.5:   {"1,000", "1,000", "999.5", "999.5", "999.5 s", "1,000", "1e+03"},
		1e3:     {"1,000", "1,000", "1,000", "1000", "1,000 s", "1,000", "1e+03"},
		1234567: {"1,230,000", "1,234,567", "1,234,567", "1234567", "1,234,567 s", "1,234,567", "1.2e+06"},
		1e12:    {"1,000,000,000,000", "1,000,000,000,000", "1,000,000,000,000", "1000000000000", "1,000,000,000,000 s", "1,000,000,000,000", "1e+12"},
		-2.5:    {"-2.50", "-2.50", "-2.5", "-2.5", "-2.5 s", "-2.50", "0"},
	} {
		for i, write := range writers {
			if got := write(x); got != want[i] {
				t.Errorf("%v by writer %d: got %s, want %s", x, i, got, want[i])
			}
		}
	}
	for _, write := range writers[:4] {
		if got := write(math.NaN()); got != "NaN" {
			t.Errorf("not a number: got %s", got)
		}
	}
	for got, want := range map[string]string{show.Percentile(99): "p99", show.Percentile(99.9): "p99.9", show.Dollars(-12): "-$12.00", show.Dollars(2558.4): "$2,558",
		show.Ordinal(1): "1st", show.Ordinal(12): "12th", show.Ordinal(1023): "1,023rd", show.Words("p99_ttft_from_due"): "p99 TTFT from due"} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestLongSpansAndLargeRoom(t *testing.T) {
	for got, want := range map[string]string{
		show.Span(6_210_000): "71.9 days", show.Span(3600): "3,600 s", show.Headroom(0.5): "50.0 % headroom", show.Headroom(11): "room for 12.0 times its load", show.Headroom(234_000): "room for 1,000 times its load and more",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
