package terminal

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tidemark/internal/escape"
)

// Console is the only place through which the program prints, stdout and stderr
// alike. It does two things that no verb should have to think about.
//
// It escapes. Text from a server, a trace or a query never reaches a terminal as
// something that the terminal obeys. Only a product (see Product) that goes to a file
// or a pipe keeps its bytes.
//
// It lets verbs run ahead of a slow reader. Output is queued, and one goroutine
// writes it in order. A verb that has printed its table can close the warehouse
// although a pager shows only the first page, so nobody else has to wait for the
// lock.
//
// mu guards the queue; changed is signalled when the queue or its state changes.
type Console struct {
	Stdout, Stderr io.Writer

	stdout, stderr *screen

	mu      sync.Mutex
	changed *sync.Cond // the queue or its state
	queue   []piece
	size    int  // bytes in the queue
	writing bool // a piece has left the queue and is not yet written
	leaving bool // the user wants to leave: do not wait for a reader that does not read
	closed  bool
}

// piece is the text of one Write.
type piece struct {
	screen *screen
	text   string
}

// mostQueued is how far a verb may run ahead, in bytes. Beyond that it waits for
// the reader.
const mostQueued = 16 << 20

// New prints to these two until it is closed. leave is closed when the user
// wants to leave.
func New(stdout, stderr io.Writer, leave <-chan struct{}) *Console {
	c := &Console{}
	c.changed = sync.NewCond(&c.mu)
	c.stdout, c.stderr = &screen{console: c, to: stdout}, &screen{console: c, to: stderr}
	c.Stdout, c.Stderr = c.stdout, c.stderr
	go c.write()
	go func() {
		<-leave
		// A reader that still reads gets what is queued.
		time.Sleep(500 * time.Millisecond)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.leaving = true
		c.changed.Broadcast()
	}()
	return c
}

// write is the goroutine that empties the queue.
func (c *Console) write() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for len(c.queue) == 0 {
			if c.closed {
				return
			}
			c.changed.Wait()
		}
		next := c.queue[0]
		c.queue[0] = piece{} // nobody else keeps the text
		c.queue, c.size, c.writing = c.queue[1:], c.size-len(next.text), true
		if next.screen.err == nil {
			c.mu.Unlock()
			_, err := io.WriteString(next.screen.to, next.text)
			c.mu.Lock()
			next.screen.err = err
		}
		c.writing = false
		c.changed.Broadcast()
	}
}

// add queues a text, once there is room for it.
func (c *Console) add(s *screen, text string) error {
	for c.size > mostQueued && s.err == nil && !c.leaving {
		c.changed.Wait()
	}
	if s.err != nil {
		return s.err
	}
	if c.leaving && c.size > mostQueued {
		return context.Canceled
	}
	if len(text) > 0 {
		c.queue, c.size = append(c.queue, piece{s, text}), c.size+len(text)
		c.changed.Broadcast()
	}
	return nil
}

// Flush waits until everything is written. It returns the error of stdout, which
// other programs read.
func (c *Console) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range []*screen{c.stdout, c.stderr} {
		_ = c.add(s, escape.Controls(string(s.torn), "\n\t"))
		s.torn = nil
	}
	for (len(c.queue) > 0 || c.writing) && !c.leaving {
		c.changed.Wait()
	}
	return c.stdout.err
}

// Close flushes and ends the console.
func (c *Console) Close() error {
	err := c.Flush()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.changed.Broadcast()
	return err
}

// screen is stdout or stderr.
type screen struct {
	console *Console
	to      io.Writer
	err     error  // of the last write; nothing is written after it
	torn    []byte // the start of a UTF-8 character that a Write has cut
}

// Write prints text, with a terminal's control characters escaped.
func (s *screen) Write(text []byte) (int, error) {
	s.console.mu.Lock()
	defer s.console.mu.Unlock()
	return len(text), s.console.add(s, s.escaped(text))
}

// escaped is the text up to its last whole character; what is torn waits for the next Write.
func (s *screen) escaped(text []byte) string {
	whole := string(s.torn) + string(text)
	end := len(whole) - tornAt(whole)
	s.torn = []byte(whole[end:])
	return escape.Controls(whole[:end], "\n\t")
}

// tornAt is the number of bytes at the end that start a character without
// completing it.
func tornAt(text string) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRuneInString(last) {
				return n
			}
			return 0
		}
	}
	return 0
}

// exact writes bytes as they are.
type exact struct{ screen *screen }

func (e exact) Write(text []byte) (int, error) {
	e.screen.console.mu.Lock()
	defer e.screen.console.mu.Unlock()
	return len(text), e.screen.console.add(e.screen, string(text))
}

// Product is for output that other programs read (CSV, JSON, a plan, a page): byte
// for byte, unless it goes to a terminal.
func Product(w io.Writer) io.Writer {
	if s, is := w.(*screen); is && !Is(s) {
		return exact{s}
	}
	return w
}

// Raw is w for a terminal in raw mode, which does not return to the start of the line by itself. What is printed is escaped as
// everywhere.
func Raw(w io.Writer) io.Writer {
	if s, is := w.(*screen); is {
		return raw{s}
	}
	return w
}

// raw ends lines as a terminal in raw mode wants it.
type raw struct{ screen *screen }

func (r raw) Write(text []byte) (int, error) {
	r.screen.console.mu.Lock()
	defer r.screen.console.mu.Unlock()
	return len(text), r.screen.console.add(r.screen, strings.ReplaceAll(r.screen.escaped(text), "\n", "\r\n"))
}

// Drawing is w for a line editor, whose control sequences must arrive. The text must be our own or what the user types.
func Drawing(w io.Writer) io.Writer { return redrawing(w) }

// redrawing is for a line that replaces itself. The text must be our own, because
// nothing is escaped.
func redrawing(w io.Writer) io.Writer {
	if s, is := w.(*screen); is {
		return exact{s}
	}
	return w
}

// FileOf is the open file behind w, for a child program, after everything printed
// so far has been written. It is nil if there is none.
func FileOf(w io.Writer) *os.File {
	if r, is := w.(raw); is {
		w = r.screen
	}
	if s, is := w.(*screen); is {
		_ = s.console.Flush()
		w = s.to
	}
	file, _ := w.(*os.File)
	return file
}
