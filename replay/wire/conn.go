// A connection of the load. Reading arms a deadline only when it strikes too early: setting one for each token would cost
// more than the read. A connection that was idle is looked at before it is used, since a request that is written while the
// server closes it is lost, and may not be sent twice.

package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"time"
)

// Conn is one connection: a net.Conn, or a bare socket that the event loop reads. net/http would hand over bytes some
// time after its own goroutine had read them; here the instant is that of the read, or of the arrival at the socket.
type Conn struct {
	nc          net.Conn // nil: there is only the socket
	Socket      int
	deadline    time.Time     // what nc is armed with
	ConnectTime time.Duration // how long making it took
	Used        bool          // it has carried a request before
	idle        time.Time     // when it was last put back
}

// newConn sends small writes at once (TCP_NODELAY): a request must not wait for the acknowledgement of the one before
// it.
func newConn(nc net.Conn, took time.Duration) *Conn {
	if tcp, ok := nc.(*net.TCPConn); ok {
		tcp.SetNoDelay(true)
	}
	return &Conn{nc: nc, Socket: -1, ConnectTime: took}
}

// bare takes the socket out of Go's poller, which would be woken by every token.
func (c *Conn) bare() (*Conn, error) {
	socket, err := takeSocket(c.nc)
	c.nc.Close()
	if err != nil {
		return nil, err
	}
	return &Conn{Socket: socket, ConnectTime: c.ConnectTime}, nil
}

// IsUsable says whether the server has closed the idle connection, as far as this side has heard.
func (c *Conn) IsUsable() bool {
	if c.nc == nil {
		return isQuietSocket(c.Socket, false)
	}
	raw := c.nc
	secure, isTLS := raw.(*tls.Conn)
	if isTLS {
		raw = secure.NetConn()
	}
	// A fresh TLS connection may have session tickets waiting; any other has nothing to say before it is asked.
	return isQuiet(raw, isTLS && !c.Used) && (!isTLS || !c.Used || c.isSilent())
}

// isSilent looks for bytes that TLS has already taken off the socket and that nobody asked for: a server that says more than its
// answer. That would be mistaken for the next answer.
func (c *Conn) isSilent() bool {
	var b [1]byte
	c.arm(time.Unix(1, 0))
	n, err := c.nc.Read(b[:])
	c.deadline = time.Time{}
	c.nc.SetReadDeadline(time.Time{})
	return n == 0 && IsTimeout(err)
}

// Close may be called once: a closed descriptor's number may belong to another connection by then.
func (c *Conn) Close() {
	if c.nc != nil {
		c.nc.Close()
		return
	}
	closeSocket(c.Socket) // once: its number may be another's by now
	c.Socket = -1
}

// Read waits for bytes until the limit. The deadline of the connection is only moved when it strikes too early: arming
// it for every token would cost more than reading the token.
func (c *Conn) Read(ctx context.Context, until time.Time, buf []byte) (n int, err error) {
	for {
		if c.deadline.IsZero() || until.Before(c.deadline) {
			c.arm(until)
		}
		if ctx.Err() != nil { // after arming, which would undo the interrupt
			return 0, Left(ctx)
		}
		n, err := c.nc.Read(buf)
		switch {
		case n > 0:
			return n, nil
		case err == nil: // a read of nothing: legal, and nothing
		case ctx.Err() != nil:
			return 0, Left(ctx)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, err
		case !time.Now().Before(until):
			return 0, ErrTimeout
		default:
			c.arm(until)
		}
	}
}

// arm sets the deadline of reads and remembers it, so that Read knows whether it has to be moved.
func (c *Conn) arm(until time.Time) {
	c.deadline = until
	c.nc.SetReadDeadline(until)
}

// Interrupt ends a read or write that is under way, now and later.
func (c *Conn) Interrupt() { c.nc.SetDeadline(time.Unix(1, 0)) }

// ArmWrite sets the limit of a write, and forgets that of reads: the next read sets its own.
func (c *Conn) ArmWrite(until time.Time) {
	c.nc.SetWriteDeadline(until)
	c.deadline = time.Time{}
}

// Write sends as much of p as goes before the armed limit. What is out is out: the caller must not send it again.
func (c *Conn) Write(p []byte) (int, error) { return c.nc.Write(p) }
