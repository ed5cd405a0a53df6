package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"tidemark/internal/hint"
)

// Identity tells a process from a later one that was given its number.
type Identity struct {
	PID   int    `json:"pid"`
	Began string `json:"began"` // when it began, as the system counts; empty: not known
}

// identify reads /proc/PID/stat. Its second field may hold blanks and brackets, so fields count from behind it.
func identify(pid int) Identity {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // no such process, or no /proc: it is not known
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return Identity{PID: pid}
	}
	return Identity{pid, fields[19]}
}

// Process is a server that was started: by this process, or by one that was killed.
type Process struct {
	Command
	Identity
	since     time.Time
	beforeMiB int           // of GPU memory in use before the start; -1: not known
	ended     chan struct{} // nil: another process started it
	how       error         // after ended
}

// Left is a server that a killed process has started.
func Left(c Command, of Identity) *Process { return &Process{Command: c, Identity: of} }

// IsAlive says that the process still is the one that was started.
func (p *Process) IsAlive() bool {
	if p.ended == nil {
		return p.Began != "" && identify(p.PID) == p.Identity
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// ending is how it ended, in words.
func (p *Process) ending() string {
	if p.how == nil {
		return "without an error"
	}
	return p.how.Error()
}

// afterKill is how long what got SIGKILL may take to be gone, and how long children may outlive the server.
const afterKill = 5 * time.Second

// Stop ends the process group and waits until the port and the GPUs' memory are free again, whatever has become of the run: it asks no context. Of a killed process
// the group is only touched while its leader lives, since its number may be another's.
func (p *Process) Stop() error {
	isOurs := p.ended != nil || p.IsAlive()
	if isOurs {
		p.signal(syscall.SIGTERM)
		if !p.within(p.StopWithin, func() bool { return !p.IsAlive() }) {
			p.signal(syscall.SIGKILL)
			p.within(afterKill, func() bool { return !p.IsAlive() })
		}
		p.within(min(afterKill, p.StopWithin), func() bool { return p.signal(0) != nil })
		p.signal(syscall.SIGKILL) // children that the leader has left behind
		p.within(time.Second, func() bool { return p.signal(0) != nil })
	}
	said := p.runStop()
	if !p.within(p.StopWithin, func() bool { return !p.isTaken(context.Background()) }) {
		return hint.Errorf("server: %s is still taken %s after the server was stopped", p.BaseURL, inWords(p.StopWithin)).
			Hint("see what listens there: a server that leaves its process group must be stopped by its own script on SIGTERM, or by stop%s", said)
	}
	return p.awaitMemory()
}

// runStop runs the user's program that stops. It may fail, where nothing is left to be stopped: what counts is the port. said is what it said.
func (c Command) runStop() (said string) {
	if len(c.StopArgs) == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(c.StopWithin, afterKill))
	defer cancel()
	if err := c.Run(ctx, c.StopArgs); err != nil {
		return fmt.Sprintf(", which said: %v", err)
	}
	return ""
}

// Run runs a program beside the server, in its folder. An error has what it printed.
func (c Command) Run(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.WaitDelay = c.Dir, time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (p *Process) signal(s syscall.Signal) error { return syscall.Kill(-p.PID, s) }

func (p *Process) within(limit time.Duration, is func() bool) bool {
	for end := time.Now().Add(limit); ; time.Sleep(lookEvery / 2) {
		if is() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}
