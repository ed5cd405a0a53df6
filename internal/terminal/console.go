package terminal

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"tidemark/internal/escape"
)

// Console is the one place through which the program prints, stdout and stderr alike. It does two things that no verb
// should have to think of.
//
// It escapes: what a server, a trace or a query brings along never reaches a terminal as something that the terminal
// obeys. Only a product (see Product) that goes to a file or a pipe keeps its bytes.
//
// It lets verbs run ahead of a slow reader: what they print is queued and written by a goroutine, in order. A verb that
// has printed its table can then close the warehouse, although a pager shows the first page only, and nobody else has
// to wait for the lock.
type Console struct {
	Stdout, Stderr io.Writer

	stdout, stderr *screen

	mu      sync.Mutex
	changed *sync.Cond // the queue, or what is done about it
	queue   []piece
	size    int  // bytes in the queue
	writing bool // a piece has left the queue and is not yet written
	leaving bool // the user wants to leave: a reader that does not read is not waited for
	closed  bool
}

// piece is what one Write has left in the queue.
type piece struct {
	screen *screen
	text   string
}

// mostQueued is how far a verb may run ahead, in bytes. Beyond, it waits for the reader.
const mostQueued = 16 << 20

// New prints to these two until it is closed; leave is done when the user wants to leave.
func New(stdout, stderr io.Writer, leave <-chan struct{}) *Console {
	c := &Console{}
	c.changed = sync.NewCond(&c.mu)
	c.stdout, c.stderr = &screen{console: c, to: stdout}, &screen{console: c, to: stderr}
	c.Stdout, c.Stderr = c.stdout, c.stderr
	go c.write()
	go func() {
		<-leave
		// What is ready is still shown to a reader that reads.
		time.Sleep(500 * time.Millisecond)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.leaving = true
		c.changed.Broadcast()
	}()
	return c
}

// write empties the queue.
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

// Flush waits until all is written, and gives the error of stdout, which is what others read.
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

// screen is one of the two that the console prints to.
type screen struct {
	console *Console
	to      io.Writer
	err     error  // of the last write; afterwards nothing is written
	torn    []byte // the beginning of a character that a Write has cut
}

// Write prints text, with a terminal's control characters escaped.
func (s *screen) Write(text []byte) (int, error) {
	s.console.mu.Lock()
	defer s.console.mu.Unlock()
	whole := string(s.torn) + string(text)
	end := len(whole) - tornAt(whole)
	s.torn = []byte(whole[end:])
	return len(text), s.console.add(s, escape.Controls(whole[:end], "\n\t"))
}

// tornAt is how many bytes at the end begin a character and do not complete it.
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

// Product is where to print what other programs read (CSV, JSON, a plan, a page): byte for byte, unless a person looks
// at it.
func Product(w io.Writer) io.Writer {
	if s, is := w.(*screen); is && !Is(s) {
		return exact{s}
	}
	return w
}

// redrawing is where to print a line that replaces itself. Its text must be our own: nothing is escaped.
func redrawing(w io.Writer) io.Writer {
	if s, is := w.(*screen); is {
		return exact{s}
	}
	return w
}

// FileOf is the open file that w prints to, for a program that is started, after all that was said so far. Nil: none.
func FileOf(w io.Writer) *os.File {
	if s, is := w.(*screen); is {
		_ = s.console.Flush()
		w = s.to
	}
	file, _ := w.(*os.File)
	return file
}
