//go:build !linux

package replay

import (
	"context"
	"runtime"
	"time"
)

// newSleep makes a Sleep that leaves the last millisecond to a short spin.
func newSleep() (sleep Sleep, release func()) {
	return func(ctx context.Context, d time.Duration) bool {
		end := time.Now().Add(d)
		if !timerSleep(ctx, d-time.Millisecond) {
			return false
		}
		for time.Now().Before(end) {
			runtime.Gosched()
		}
		return ctx.Err() == nil
	}, func() {}
}
