package show

import (
	"testing"
	"time"
)

func TestAnInstantSaysItsOffsetAndIsReadBack(t *testing.T) {
	at := time.Date(2026, 11, 28, 4, 43, 9, 0, time.FixedZone("", -19800))
	for got, want := range map[string]string{Instant(at): "2026-11-28 04:43 -05:30", Moment(at): "2026-11-28 04:43:09 -05:30", Instant(at.UTC()): "2026-11-28 10:13 +00:00"} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if back, err := ReadInstant(got); err != nil || at.Sub(back) != 0 && at.Sub(back) != 9*time.Second {
			t.Errorf("%s is read as %v, %v", got, back, err)
		}
	}
	if back, err := ReadInstant("2026-11-28T10:13:09.5Z"); err != nil || back.Sub(at) != time.Second/2 {
		t.Errorf("RFC 3339: %v, %v", back, err)
	}
	for _, text := range []string{"2026-11-28 04:43", "2026-11-28T04:43:09", "04:43", ""} {
		if at, err := ReadInstant(text); err == nil {
			t.Errorf("%q says no zone and is read as %v", text, at)
		}
	}
}
