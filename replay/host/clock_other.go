//go:build !linux

package host

// kernelClock is not known here.
func kernelClock() (Clock, bool) { return Clock{}, false }
