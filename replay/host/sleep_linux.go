// Sleeping until a due time. Go's timers fire on the poller's millisecond, which would be most of a request's lateness; the
// kernel's timerfd is exact to tens of microseconds, and the rest is a short spin that yields to other goroutines.

package host

import (
	"context"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// wakeEarly is about what the kernel and the scheduler need to wake a process, asked for in advance. Where they are
// quicker, the rest is a brief spin that gives way to whatever else can run.
const wakeEarly = 60 * time.Microsecond

// NewSleep makes a Sleep that ends within some 50 us: the kernel's own timer as a file in Go's poller. Go's timers round
// up to the poller's millisecond, and a thread asleep in the kernel would hold the processor of a one-core run.
func NewSleep() (sleep Sleep, release func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return TimerSleep, func() {}
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	sleep = func(ctx context.Context, d time.Duration) bool {
		if ctx.Err() != nil || d <= 0 {
			return ctx.Err() == nil
		}
		end := time.Now().Add(d)
		if d <= wakeEarly {
			return spin(ctx, end)
		}
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d - wakeEarly))}
		if err := unix.TimerfdSettime(fd, 0, &spec, nil); err != nil {
			return TimerSleep(ctx, d)
		}
		defer context.AfterFunc(ctx, func() { file.SetReadDeadline(time.Unix(1, 0)) })()
		var expirations [8]byte
		_, err := file.Read(expirations[:])
		return err == nil && spin(ctx, end)
	}
	return sleep, func() { file.Close() }
}

func spin(ctx context.Context, end time.Time) bool {
	for time.Now().Before(end) {
		runtime.Gosched()
	}
	return ctx.Err() == nil
}
