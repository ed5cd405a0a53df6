package host

import (
	"bytes"
	"context"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// readKernel is what the kernel says of this process and this host.
func (s *State) readKernel() {
	var use unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &use) == nil {
		s.Cpu, s.HasCPU = time.Duration(use.Utime.Nano()+use.Stime.Nano()), true
	}
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(statm); len(fields) > 1 {
			pages, _ := strconv.ParseFloat(string(fields[1]), 64)
			s.Rss = pages * float64(os.Getpagesize())
		}
	}
	if dir, err := os.Open("/proc/self/fd"); err == nil {
		names, _ := dir.Readdirnames(-1)
		dir.Close()
		s.OpenFiles = float64(len(names) - 1) // less the folder itself
	}
	if snmp, err := os.ReadFile("/proc/net/snmp"); err == nil {
		s.Retransmits, s.HasNetwork = retransmitsIn(string(snmp))
	}
	s.readQueue()
}

// retransmitsIn finds RetransSegs: a line "Tcp: names", then a line "Tcp: values".
func retransmitsIn(snmp string) (segments int64, isKnown bool) {
	var names []string
	for line := range strings.Lines(snmp) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Tcp:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if name == "RetransSegs" && i < len(fields) {
				n, err := strconv.ParseInt(fields[i], 10, 64)
				return n, err == nil
			}
		}
	}
	return 0, false
}

// fileLimit is how many descriptors this process may have; 0: not known.
func fileLimit() float64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return float64(limit.Cur)
}

// usableCores is the least of what the scheduler, the cgroup and the Go runtime allow.
func usableCores() float64 {
	cores := float64(runtime.GOMAXPROCS(0))
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil && set.Count() > 0 {
		cores = min(cores, float64(set.Count()))
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return cores
	}
	return min(cores, cgroupQuota(string(own), func(name string) string {
		text, _ := os.ReadFile(path.Join("/sys/fs/cgroup", name)) // none at the top, or without the controller
		return string(text)
	}, cores))
}

// cgroupQuota is the least cpu.max of a process's cgroup (version 2) and those around it, in cores; none without a limit.
func cgroupQuota(own string, read func(name string) string, none float64) float64 {
	least := none
	for line := range strings.Lines(own) {
		group, isV2 := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !isV2 {
			continue
		}
		for at := path.Clean("/" + group); ; at = path.Dir(at) {
			if fields := strings.Fields(read(path.Join(at, "cpu.max"))); len(fields) == 2 {
				quota, err := strconv.ParseFloat(fields[0], 64) // "max" is no limit
				period, _ := strconv.ParseFloat(fields[1], 64)
				if err == nil && period > 0 {
					least = min(least, quota/period)
				}
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

// NewBeat makes the heartbeat's Sleep: the kernel's own timer in Go's poller, as bytes of a stream come in. Go's timers
// round up to a millisecond, which nobody is to blame for. Nothing is spun here: how late a wake is, is the measurement.
func NewBeat() (sleep Sleep, release func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return TimerSleep, func() {}
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	return func(ctx context.Context, d time.Duration) bool {
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
		if ctx.Err() != nil || unix.TimerfdSettime(fd, 0, &spec, nil) != nil {
			return TimerSleep(ctx, d)
		}
		defer context.AfterFunc(ctx, func() { file.SetReadDeadline(time.Unix(1, 0)) })()
		var expirations [8]byte
		_, err := file.Read(expirations[:])
		return err == nil && ctx.Err() == nil
	}, func() { file.Close() }
}
