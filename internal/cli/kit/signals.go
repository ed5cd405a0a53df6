package kit

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// StopSignals reports what the user or the system sent: the first signal asks a
// verb to end, the second to leave at once.
type StopSignals struct {
	Soft, hard context.Context
	Release    func()
	Code       func() int
}

// WatchSignals handles SIGINT and SIGTERM until release is called. Go ends a program at
// the first of them otherwise, and a replay would lose its open streams.
//
// The exit code is 128 plus the number of the first signal, as shells expect it. It wins
// over the verb's own code: an interrupted replay did not fail.
func WatchSignals() StopSignals {
	soft, cancelSoft := context.WithCancel(context.Background())
	hard, cancelHard := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	got := make(chan int, 1)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				if soft.Err() != nil {
					cancelHard()
					// A verb that does not end at the second signal is abandoned.
					time.AfterFunc(5*time.Second, func() { os.Exit(130) })
					continue
				}
				got <- map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143}[s]
				cancelSoft()
			}
		}
	}()
	return StopSignals{
		Soft: soft, hard: hard,
		Release: func() { signal.Stop(signals); close(done); cancelSoft(); cancelHard() },
		Code: func() int {
			select {
			case code := <-got:
				return code
			default:
				return 0
			}
		},
	}
}

type stopKey struct{}

// WithStop makes the first signal cancel the context. HardStop finds the second.
func WithStop(ctx context.Context, stop StopSignals) context.Context {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, stopKey{}, stop.hard))
	context.AfterFunc(stop.Soft, cancel)
	return ctx
}

// HardStop is done at the second signal.
func HardStop(ctx context.Context) context.Context {
	return ctx.Value(stopKey{}).(context.Context)
}
