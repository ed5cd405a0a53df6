//go:build !linux

package host

import (
	"context"
	"runtime"
	"time"
)

// NewSleep makes a Sleep that leaves the last millisecond to a short spin.
func NewSleep() (sleep Sleep, release func()) {
	return func(ctx context.Context, d time.Duration) bool {
		end := time.Now().Add(d)
		if !TimerSleep(ctx, d-time.Millisecond) {
			return false
		}
		for time.Now().Before(end) {
			runtime.Gosched()
		}
		return ctx.Err() == nil
	}, func() {}
}
