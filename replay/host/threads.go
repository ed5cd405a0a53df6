package host

import "runtime"

// leastThreads may run Go code at once during a run, whatever the cores: with one alone the event loop would stand in
// line behind whatever else the scheduler had begun meanwhile. The kernel shares a core better.
const leastThreads = 4

// ballast is memory that is never touched, and so costs none. The collector lets the heap grow by as much again before it
// runs: a run of hundreds of streams, whose live heap is a few megabytes, then has hardly any collection.
const ballast = 16 << 20

// PrepareProcess prepares the process for the event loop and returns what undoes it.
func PrepareProcess() (restore func()) {
	weight := make([]byte, ballast)
	had := runtime.GOMAXPROCS(0)
	if had < leastThreads {
		runtime.GOMAXPROCS(leastThreads)
	}
	return func() {
		if had < leastThreads {
			runtime.GOMAXPROCS(had)
		}
		runtime.KeepAlive(weight)
	}
}
