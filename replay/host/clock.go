// How far this machine's clock is off. Several clients of one run start at one instant, each by its own clock, so a clock
// that is off shifts its part of the load against the others.
//
// The kernel knows where chrony, ntpd or another keeps the clock: it is told their estimate of the error. Where nobody does,
// the server's Date header is the common clock. It has whole seconds, so one answer bounds the difference to a second; asking
// just where the server's next second is thought to begin halves the interval each time, down to the time of a round trip.

package host

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Clock is what could be told of this machine's clock: what must be added to it lies from LowS to HighS.
type Clock struct {
	KnownBy string  `json:"known_by"` // kernel, date or nothing
	LowS    float64 `json:"low_s"`
	HighS   float64 `json:"high_s"`
}

// Who says how far the clock is off.
const (
	ByKernel  = "kernel"
	ByDate    = "date"
	ByNothing = "nothing"
)

// IsOff says that the clock is off by more than a tolerance, whatever of the interval is true.
func (c Clock) IsOff(most time.Duration) bool {
	return c.KnownBy != ByNothing && (c.LowS > most.Seconds() || c.HighS < -most.Seconds())
}

// IsWithin says that the clock is within a tolerance, whatever of the interval is true.
func (c Clock) IsWithin(most time.Duration) bool {
	return c.KnownBy != ByNothing && c.LowS >= -most.Seconds() && c.HighS <= most.Seconds()
}

// String is the interval in words.
func (c Clock) String() string {
	if c.KnownBy == ByNothing {
		return "how far this clock is off is not known"
	}
	who := "the kernel's estimate"
	if c.KnownBy == ByDate {
		who = "the server's Date"
	}
	low, high := c.LowS*1000, c.HighS*1000
	switch {
	case low >= 0:
		return fmt.Sprintf("this clock is %.0f to %.0f ms behind, by %s", low, high, who)
	case high <= 0:
		return fmt.Sprintf("this clock is %.0f to %.0f ms ahead, by %s", -high, -low, who)
	default:
		return fmt.Sprintf("this clock is between %.0f ms ahead and %.0f ms behind, by %s", -low, high, who)
	}
}

// Look is one request for the server's time.
type Look func(ctx context.Context) (date time.Time, isStale bool, err error)

const (
	// mostLooks bound a second to a millisecond, and take a second each at most.
	mostLooks = 11
	// staleDate is how old a Date may be that the server makes once a second (uvicorn, before vLLM).
	staleDate = 1100 * time.Millisecond
)

// ReadClock asks the kernel, and where nothing keeps the clock the server. now and sleep are the clock itself.
func ReadClock(ctx context.Context, look Look, most time.Duration, now func() time.Time, sleep Sleep) Clock {
	if c, isKnown := kernelClock(); isKnown {
		return c
	}
	return ServerClock(ctx, look, most, now, sleep)
}

// ServerClock narrows the difference to a server's clock by its Date, until it is known whether it is within most.
func ServerClock(ctx context.Context, look Look, most time.Duration, now func() time.Time, sleep Sleep) Clock {
	low, high := time.Duration(0), time.Duration(0)
	isKnown := false
	for range mostLooks {
		if isKnown && high-low > 0 {
			sleep(ctx, untilSecond(now().Add((low+high)/2)))
		}
		before := now().Round(0)
		date, isStale, err := look(ctx)
		after := now().Round(0)
		if err != nil || date.IsZero() {
			break
		}
		// Somewhere between before and after, the server's clock stood from date on, to less than a second later.
		l, h := date.Sub(after), date.Add(time.Second).Sub(before)
		if isStale {
			h += staleDate
		}
		if isKnown {
			l, h = max(l, low), min(h, high)
		}
		if l > h {
			break // the clock was set meanwhile, or several servers answer
		}
		low, high, isKnown = l, h, true
		if c := dated(low, high); isStale || c.IsOff(most) || c.IsWithin(most) {
			break
		}
	}
	if !isKnown {
		return Clock{KnownBy: ByNothing}
	}
	return dated(low, high)
}

func dated(low, high time.Duration) Clock {
	return Clock{KnownBy: ByDate, LowS: low.Seconds(), HighS: high.Seconds()}
}

// untilSecond is how long it is until a clock's next whole second.
func untilSecond(t time.Time) time.Duration { return t.Truncate(time.Second).Add(time.Second).Sub(t) }

// LookAt asks a server by HTTP. Any answer has a Date, an error too.
func LookAt(client *http.Client, address string) Look {
	return func(ctx context.Context) (time.Time, bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return time.Time{}, false, err
		}
		answer, err := client.Do(request)
		if err != nil {
			return time.Time{}, false, err
		}
		io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)) // so that the connection is used again
		answer.Body.Close()
		date, err := http.ParseTime(answer.Header.Get("Date"))
		return date, strings.Contains(answer.Header.Get("Server"), "uvicorn"), err
	}
}
