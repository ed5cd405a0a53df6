package replay

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// processState is what the kernel says of this process.
func processState() (values []value) {
	var use unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &use) == nil {
		values = append(values, value{"cpu_s", float64(use.Utime.Nano()+use.Stime.Nano()) * 1e-9})
	}
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(statm); len(fields) > 1 {
			pages, _ := strconv.ParseFloat(string(fields[1]), 64)
			values = append(values, value{"rss_bytes", pages * float64(os.Getpagesize())})
		}
	}
	if dir, err := os.Open("/proc/self/fd"); err == nil {
		names, _ := dir.Readdirnames(-1)
		dir.Close()
		values = append(values, value{"open_files", float64(len(names) - 1)}) // less the folder itself
	}
	return values
}
