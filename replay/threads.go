package replay

import "runtime"

// leastThreads may run Go code at once during a run, whatever the cores: with one alone the event loop, back from a
// wait in the kernel, would stand in line behind whatever else the scheduler had begun meanwhile. The kernel shares
// a core better.
const leastThreads = 4

// widen returns what undoes it.
func widen() (restore func()) {
	had := runtime.GOMAXPROCS(0)
	if had >= leastThreads {
		return func() {}
	}
	runtime.GOMAXPROCS(leastThreads)
	return func() { runtime.GOMAXPROCS(had) }
}
