package replay

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// newSleep makes a Sleep that ends within some 50 us: the kernel's own timer as a file in Go's poller. Go's timers round
// up to the poller's millisecond, and a thread asleep in the kernel would hold the processor of a one-core run.
func newSleep() (sleep Sleep, release func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return timerSleep, func() {}
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	sleep = func(ctx context.Context, d time.Duration) bool {
		if ctx.Err() != nil || d <= 0 {
			return ctx.Err() == nil
		}
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
		if err := unix.TimerfdSettime(fd, 0, &spec, nil); err != nil {
			return timerSleep(ctx, d)
		}
		defer context.AfterFunc(ctx, func() { file.SetReadDeadline(time.Unix(1, 0)) })()
		var expirations [8]byte
		_, err := file.Read(expirations[:])
		return err == nil
	}
	return sleep, func() { file.Close() }
}
