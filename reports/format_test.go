package reports

import (
	"testing"

	"tidemark/internal/show"
)

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ what, got, want string }{
		{"a time", duration(2.5), "2.50 s"},
		{"nothing measured", duration(nil), "withheld"},
		{"a chosen duration has no false figures", setting(0.01), "10 ms"},
		{"a chosen duration in seconds", setting(600.0), "600 s"},
		{"a share", percent(0.99), "99.0 %"},
		{"a count in full", count(int64(1234567)), "1,234,567"},
		{"one has no s", counted(1, "request"), "1 request"},
		{"a heading", show.Words("p99_ttft"), "p99 TTFT"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, c.got, c.want)
		}
	}
}
