package shell

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

const ctrlC = 3

// keyboard hands typed bytes to the line editor. It reads all the time, also while a question runs, because in a terminal in raw mode
// Ctrl-C is a byte like any other: while a question runs it ends the question, otherwise it ends the line.
type keyboard struct {
	ctx   context.Context
	typed chan []byte
	left  []byte // typed and not read yet

	mu            sync.Mutex
	stop          func() // ends the question that runs; nil: none runs
	isStopping    bool   // it was asked to end already
	leave         func() // ends the shell: a question that does not end is left behind
	isPending     bool   // Ctrl-C was typed while no question ran, and is not read yet
	isInterrupted bool   // the line that the editor returns next is to be dropped
}

// newKeyboard reads from a terminal until it is closed. leave is called at the second Ctrl-C in one question.
func newKeyboard(ctx context.Context, from io.Reader, leave func()) *keyboard {
	k := &keyboard{ctx: ctx, typed: make(chan []byte, 64), leave: leave}
	go k.pump(from)
	return k
}

func (k *keyboard) pump(from io.Reader) {
	defer close(k.typed)
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if keys := k.withoutStops(buffer[:n]); len(keys) > 0 {
			select {
			case k.typed <- keys:
			case <-k.ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// withoutStops ends the question that runs if Ctrl-C is among the keys. What was typed before it is dropped, as shells do.
func (k *keyboard) withoutStops(keys []byte) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	place := bytes.LastIndexByte(keys, ctrlC)
	if place < 0 || k.stop == nil {
		k.isPending = k.isPending || place >= 0
		return bytes.Clone(keys)
	}
	if k.isStopping {
		k.leave()
	}
	k.isStopping = true
	k.stop()
	return bytes.Clone(keys[place+1:])
}

// Read is for the line editor. Ctrl-C becomes the key that ends a line.
func (k *keyboard) Read(into []byte) (int, error) {
	if len(k.left) == 0 {
		select {
		case keys, isOpen := <-k.typed:
			if !isOpen {
				return 0, io.EOF
			}
			k.left = keys
		case <-k.ctx.Done():
			return 0, k.ctx.Err()
		}
	}
	n := copy(into, k.left)
	if place := bytes.IndexByte(into[:n], ctrlC); place >= 0 {
		n = place + 1
		into[place] = '\r'
		k.isInterrupted = true
		k.mu.Lock()
		k.isPending = false
		k.mu.Unlock()
	}
	k.left = k.left[n:]
	return n, nil
}

// wasInterrupted reports, once, that the line ended by Ctrl-C.
func (k *keyboard) wasInterrupted() bool {
	was := k.isInterrupted
	k.isInterrupted = false
	return was
}

// while runs a question that Ctrl-C ends. When the shell is left it does not wait for it: some steps of a question notice late or never
// that they are to end.
func (k *keyboard) while(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k.set(cancel)
	defer k.set(nil)
	done := make(chan error, 1)
	go func() { done <- ask(ctx) }()
	select {
	case err := <-done:
		return err
	case <-k.ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(time.Second):
		return k.ctx.Err()
	}
}

func (k *keyboard) set(stop func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stop, k.isStopping = stop, false
	if stop == nil || !k.isPending {
		return
	}
	// Ctrl-C came between the end of the line and the start of the question. It was meant for the question.
	for k.left = nil; len(k.typed) > 0; {
		<-k.typed
	}
	k.isPending, k.isStopping = false, true
	stop()
}
