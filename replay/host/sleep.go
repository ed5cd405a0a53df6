package host

import (
	"context"
	"time"
)

// Sleep waits; false when the context ended first.
type Sleep func(ctx context.Context, d time.Duration) bool

// TimerSleep uses Go's timers, which may be a millisecond late on an idle Linux.
func TimerSleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil || d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
