package reports

import "testing"

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ what, got, want string }{
		{"three figures below one", figures(0.012345), "0.0123"},
		{"three figures", figures(7.3449), "7.34"},
		{"zeros that are known stay", figures(7.3), "7.30"},
		{"rounding carries to one figure more", figures(0.99961), "1.00"},
		{"rounding carries to hundreds", figures(99.96), "100"},
		{"no exponent and no false figures", figures(1234567), "1,230,000"},
		{"negative", figures(-0.4871), "-0.487"},
		{"milliseconds up to ten seconds", duration(9.5), "9,500 ms"},
		{"seconds beyond", duration(12.34), "12.3 s"},
		{"nothing measured", duration(nil), "withheld"},
		{"a chosen duration has no false figures", setting(0.01), "10 ms"},
		{"a chosen duration in seconds", setting(600.0), "600 s"},
		{"a share", percent(0.99), "99.0 %"},
		{"a count in full", count(int64(1234567)), "1,234,567"},
		{"one has no s", counted(1, "request"), "1 request"},
		{"a heading", words("p99_ttft"), "p99 TTFT"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
		}
	}
}
