// Formats of /proc that are read here: schedstat (three numbers, of which the second is the wait), stat (jiffies by kind for
// each core), pressure/cpu (PSI, from Linux 4.20). See proc(5) and Documentation/accounting/psi.rst.

package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// readQueue is what the kernel says of the line for a core: how long each thread of this process has stood in it, who had
// the cores meanwhile, and how much the whole host waits.
func (s *State) readQueue() {
	s.Waits = threadWaits()
	var set unix.CPUSet
	if text, err := os.ReadFile("/proc/stat"); err == nil && unix.SchedGetaffinity(0, &set) == nil {
		s.Cores = set.Count()
		s.Busy, s.Stolen, s.HasCores = coresIn(string(text), set.IsSet)
	}
	if text, err := os.ReadFile("/proc/pressure/cpu"); err == nil {
		s.Pressure, s.HasPressure = pressureIn(string(text))
	}
}

// threadWaits is by thread; nil where the kernel does not say.
func threadWaits() map[int]time.Duration {
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	var waits map[int]time.Duration
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil { // this thread has ended
			continue
		}
		thread, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if wait, isKnown := waitIn(string(text)); isKnown {
			if waits == nil {
				waits = map[int]time.Duration{}
			}
			waits[thread] = wait
		}
	}
	return waits
}

// waitIn is the second number of a schedstat: nanoseconds in the run queue. Three zeros are a kernel that does not count.
func waitIn(schedstat string) (wait time.Duration, isKnown bool) {
	fields := strings.Fields(schedstat)
	if len(fields) != 3 || fields[0] == "0" && fields[2] == "0" {
		return 0, false
	}
	n, err := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(n), err == nil
}

// tick is the unit of /proc/stat; the kernel shows a hundred a second whatever it uses itself.
const tick = 10 * time.Millisecond

// coresIn sums over the cores that are allowed: how long they were busy, whoever with, and how long the hypervisor had
// given them to another machine.
func coresIn(stat string, isAllowed func(core int) bool) (busy, stolen time.Duration, isKnown bool) {
	for line := range strings.Lines(stat) {
		fields := strings.Fields(line)
		if len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		core, err := strconv.Atoi(fields[0][len("cpu"):])
		if err != nil || !isAllowed(core) { // "cpu" is the sum of all
			continue
		}
		const user, nice, system, irq, softirq, steal = 1, 2, 3, 6, 7, 8
		for _, at := range []int{user, nice, system, irq, softirq} {
			n, _ := strconv.ParseInt(fields[at], 10, 64)
			busy += time.Duration(n) * tick
		}
		n, _ := strconv.ParseInt(fields[steal], 10, 64)
		stolen, isKnown = stolen+time.Duration(n)*tick, true
	}
	return busy, stolen, isKnown
}

// pressureIn is the total of the line "some avg10=0.54 avg60=1.12 avg300=4.24 total=37692944": microseconds in which some
// task of the host waited for a core.
func pressureIn(text string) (total time.Duration, isKnown bool) {
	for line := range strings.Lines(text) {
		some, isSome := strings.CutPrefix(line, "some ")
		if _, us, has := strings.Cut(some, "total="); isSome && has {
			n, err := strconv.ParseInt(strings.TrimSpace(us), 10, 64)
			return time.Duration(n) * time.Microsecond, err == nil
		}
	}
	return 0, false
}
