//go:build peers

package peers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim/simprocess"
)

// run is one client under one load.
type run struct {
	argv     []string
	begin    time.Time
	exit     int
	isKilled bool // by us: at the limit, or because its first request was all that was wanted
	output   string
	samples  []sample
	truths   []simprocess.Truth
	firstIn  float64 // command to first request, seconds; 0: none came
}

// sample is the client's process tree at an instant.
type sample struct {
	at  time.Time
	cpu float64 // seconds so far, of processes that have ended too
	pss int64   // bytes; 0: not looked at this time
}

// play runs argv on the client's core against s and watches it.
func play(t *testing.T, s server, l load, argv, env []string, dir string) run {
	t.Helper()
	r := run{argv: argv}
	cmd := exec.Command("taskset", append([]string{"-c", clientCore}, argv...)...)
	cmd.Env, cmd.Dir = env, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	path := filepath.Join(dir, "output.txt")
	output := must.Get(os.Create(path))(t)
	cmd.Stdout, cmd.Stderr = output, output
	r.begin = time.Now()
	must.Do(t, cmd.Start())
	r.watch(t, s, l, cmd)
	output.Close()
	text, _ := os.ReadFile(path)
	r.output = string(text)
	s.settle(t)
	r.truths = s.truths(t)
	if first, ok := r.firstArrival(); ok {
		r.firstIn = first - unix(r.begin)
	}
	return r
}

// watch takes samples until the client has ended or must end.
func (r *run) watch(t *testing.T, s server, l load, cmd *exec.Cmd) {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tree := &tree{root: cmd.Process.Pid}
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	var first time.Time
	for n := 0; ; n++ {
		select {
		case <-ended:
			r.exit = cmd.ProcessState.ExitCode()
			tree.kill() // what it left behind
			return
		case now := <-ticks.C:
			if n%10 == 0 {
				tree.look()
			}
			r.samples = append(r.samples, tree.sample(now, n%10 == 5))
			if first.IsZero() && s.wasAsked(t) {
				first = now
				defer crowd(t, l.hogs)() // not while it starts: that can take minutes on a seventh of a core
			}
			isStuck := first.IsZero() && now.Sub(r.begin) > 2*longest
			isLate := !first.IsZero() && now.Sub(first) > l.limit
			if isStuck || isLate || l.untilFirst && !first.IsZero() {
				r.isKilled = true
				tree.look()
				tree.kill()
				<-ended
				return
			}
		}
	}
}

func unix(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

func (r *run) firstArrival() (float64, bool) {
	if len(r.truths) == 0 {
		return 0, false
	}
	first := r.truths[0].Arrived
	for _, one := range r.truths {
		first = min(first, one.Arrived)
	}
	return first, true
}

// cpuBetween is the CPU time of the process tree between two instants, Unix seconds.
func (r *run) cpuBetween(from, to float64) float64 { return r.cpuAt(to) - r.cpuAt(from) }

func (r *run) cpuAt(at float64) float64 {
	for i, s := range r.samples {
		if unix(s.at) < at {
			continue
		}
		if i == 0 {
			return s.cpu
		}
		before := r.samples[i-1]
		share := (at - unix(before.at)) / s.at.Sub(before.at).Seconds()
		return before.cpu + share*(s.cpu-before.cpu)
	}
	if len(r.samples) == 0 {
		return 0
	}
	return r.samples[len(r.samples)-1].cpu
}

// peakMemory is of the samples between two instants, Unix seconds.
func (r *run) peakMemory(from, to float64) (most int64) {
	for _, s := range r.samples {
		if at := unix(s.at); at >= from && at <= to {
			most = max(most, s.pss)
		}
	}
	return most
}

// crowd puts n hogs on the client's core for as long as the load lasts, and lets it write its report in peace.
func crowd(t *testing.T, n int) (stop func()) {
	var stops []func()
	for range n {
		stops = append(stops, sync.OnceFunc(hog(t)))
	}
	all := func() {
		for _, stop := range stops {
			stop()
		}
	}
	timer := time.AfterFunc(10*time.Second, all)
	return func() {
		timer.Stop()
		all()
	}
}

// hog wants the client's core for itself.
func hog(t *testing.T) (stop func()) {
	cmd := exec.Command("taskset", "-c", clientCore, "sh", "-c", "while :; do :; done")
	must.Do(t, cmd.Start())
	return func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// tree is a process and all that came from it.
type tree struct {
	root int
	pids map[int]string // to the time each started at: a number may be given out again
}

// look finds the processes anew.
func (t *tree) look() {
	parents, started := map[int]int{}, map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if f := statOf(pid); f != nil {
				parents[pid], _ = strconv.Atoi(f[1])
				started[pid] = f[19]
			}
		}
	}
	if t.pids == nil {
		t.pids = map[int]string{t.root: started[t.root]}
	}
	for pid, start := range t.pids { // once ours, always ours: orphans too
		if started[pid] != start {
			delete(t.pids, pid)
		}
	}
	for grew := true; grew; {
		grew = false
		for pid, parent := range parents {
			if t.pids[parent] != "" && t.pids[pid] == "" {
				t.pids[pid], grew = started[pid], true
			}
		}
	}
}

func (t *tree) sample(now time.Time, withMemory bool) sample {
	s := sample{at: now}
	for pid, start := range t.pids {
		f := statOf(pid)
		if f == nil || f[19] != start {
			continue
		}
		for _, field := range f[11:15] { // its own user and system time, and that of children it has waited for
			ticks, _ := strconv.ParseFloat(field, 64)
			s.cpu += ticks / 100 // USER_HZ
		}
		if withMemory {
			s.pss += proportional(pid)
		}
	}
	return s
}

func (t *tree) kill() {
	for pid, start := range t.pids {
		if f := statOf(pid); f != nil && f[19] == start {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// statOf is /proc/PID/stat from the state on, nil when the process has gone.
func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// proportional is a process's memory with what it shares counted in parts, so that a
// tree's sum counts nothing twice.
func proportional(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}
