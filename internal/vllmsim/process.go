package vllmsim

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// processUsage reads what Python's client library reports of its own process.
func processUsage() usage {
	u := usage{virtualBytes: math.NaN(), residentBytes: math.NaN(), openFiles: math.NaN(), maxFiles: math.NaN()}
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.cpuSeconds = float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		u.maxFiles = float64(limit.Cur)
	}
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		var pages, resident float64
		fmt.Sscan(string(statm), &pages, &resident)
		u.virtualBytes, u.residentBytes = pages*float64(os.Getpagesize()), resident*float64(os.Getpagesize())
	}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.openFiles = float64(len(open))
	}
	return u
}
