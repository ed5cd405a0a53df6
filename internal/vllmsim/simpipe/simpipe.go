// Package simpipe lets tests speak with a simulated server on a fake clock: its connections are net.Pipes, with no kernel and no buffer.
package simpipe

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// Listener is for one server. After Close it refuses connections.
type Listener struct {
	// Far is how long a client's write takes. Without it, whether what a free slot lets go is in time for the step that begins
	// at the same instant would be chance.
	Far time.Duration

	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// New is an open listener.
func New() *Listener { return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *Listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *Listener) Addr() net.Addr { return address{} }

// Dial is as net.Dialer's, with any address.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return farConn{client, l.Far}, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type farConn struct {
	net.Conn
	far time.Duration
}

func (c farConn) Write(b []byte) (int, error) {
	time.Sleep(c.far)
	return c.Conn.Write(b)
}

type address struct{}

func (address) Network() string { return "pipe" }
func (address) String() string  { return "pipe" }
