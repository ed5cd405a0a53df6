package host

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// served is a server whose clock is ahead of this one by off, one millisecond away.
func served(off time.Duration, isStale bool) Look {
	return func(context.Context) (time.Time, bool, error) {
		time.Sleep(time.Millisecond)
		date := time.Now().Add(off).Truncate(time.Second)
		time.Sleep(time.Millisecond)
		return date, isStale, nil
	}
}

// A Date of whole seconds tells a clock that is 50 ms off from one that is right.
func TestServerClock(t *testing.T) {
	for _, c := range []struct {
		off             time.Duration
		isStale         bool
		isOff, isWithin bool
	}{
		{off: 0, isWithin: true},
		{off: 3 * time.Millisecond, isWithin: true},
		{off: 50 * time.Millisecond, isOff: true},
		{off: -50 * time.Millisecond, isOff: true},
		{off: -5 * time.Second, isOff: true},
		{off: 0, isStale: true},                     // cannot be told
		{off: 50 * time.Millisecond, isStale: true}, // nor this
		{off: 5 * time.Second, isStale: true, isOff: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			const most = 10 * time.Millisecond
			time.Sleep(123456 * time.Microsecond)
			clock := ServerClock(t.Context(), served(c.off, c.isStale), most, time.Now, TimerSleep)
			if clock.IsOff(most) != c.isOff || clock.IsWithin(most) != c.isWithin {
				t.Errorf("off by %v, stale %v: %+v", c.off, c.isStale, clock)
			}
			if off := c.off.Seconds(); !c.isStale && (off < clock.LowS || off > clock.HighS) {
				t.Errorf("off by %v: not in %+v", c.off, clock)
			}
		})
	}
}

func TestAClockInWords(t *testing.T) {
	for want, clock := range map[string]Clock{
		"this clock is 14 to 58 ms behind, by the server's Date":                      {ByDate, 0.014, 0.058},
		"this clock is 28 to 60 ms ahead, by the server's Date":                       {ByDate, -0.060, -0.028},
		"this clock is between 822 ms ahead and 1279 ms behind, by the server's Date": {ByDate, -0.822, 1.279},
		"how far this clock is off is not known":                                      {KnownBy: ByNothing},
	} {
		if got := clock.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
