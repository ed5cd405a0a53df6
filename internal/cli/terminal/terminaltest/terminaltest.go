//go:build linux

// Package terminaltest puts a program of a test in front of a pseudo-terminal, and a person who types and reads. A wait ends
// when the text is there, or fails the test after a minute; nothing sleeps.
package terminaltest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/internal/proof/must"
)

// Open gives both ends of a pseudo-terminal with so many columns. A test on a system without them is skipped.
func Open(t *testing.T, columns uint16) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	number := must.Get(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	must.Do(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	slave = must.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	must.Do(t, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	return master, slave
}

// Person sits in front of a terminal.
type Person struct {
	t      *testing.T
	master *os.File
	left   chan struct{} // closed when the program has ended

	mu      sync.Mutex
	changed *sync.Cond
	screen  string // what came since the last Sees
}

// Sit runs a program on a terminal of its own.
func Sit(t *testing.T, columns uint16, program func(tty *os.File)) *Person {
	t.Helper()
	master, slave := Open(t, columns)
	p := &Person{t: t, master: master, left: make(chan struct{})}
	p.changed = sync.NewCond(&p.mu)
	go p.read()
	go func() {
		defer close(p.left)
		program(slave)
	}()
	t.Cleanup(func() {
		slave.Close()
		master.Close()
	})
	return p
}

func (p *Person) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := p.master.Read(buffer)
		p.mu.Lock()
		p.screen += string(buffer[:n])
		p.changed.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Types presses keys; "\r" is Enter, "\x03" is Ctrl-C.
func (p *Person) Types(keys string) {
	p.t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// Sees waits until a text is on the screen, and gives what came up to its end.
func (p *Person) Sees(text string) string {
	p.t.Helper()
	late := time.AfterFunc(time.Minute, p.changed.Broadcast)
	defer late.Stop()
	began := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if before, after, isThere := strings.Cut(p.screen, text); isThere {
			p.screen = after
			return before + text
		}
		if time.Since(began) >= time.Minute {
			p.t.Fatalf("never on the screen: %q; there is:\n%s", text, p.screen)
		}
		p.changed.Wait()
	}
}

// Leaves waits until the program has ended.
func (p *Person) Leaves() {
	p.t.Helper()
	select {
	case <-p.left:
	case <-time.After(time.Minute):
		p.t.Fatal("the program goes on")
	}
}
