package replay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// conn is one connection and what was last read from it. net/http would hand over bytes some time after its own
// goroutine had read them; here the clock is taken right after the read.
type conn struct {
	net.Conn
	buf      []byte
	data     []byte        // of buf: read and not yet used
	at       time.Time     // when the read that brought data returned
	reads    int           // reads that brought bytes
	deadline time.Time     // what the connection is armed with
	connect  time.Duration // how long making it took
	used     bool          // it has carried a request before
	idle     time.Time     // when it was last put back
}

const readBuffer = 8 << 10

func newConn(nc net.Conn, took time.Duration) *conn {
	if tcp, ok := nc.(*net.TCPConn); ok {
		tcp.SetNoDelay(true)
	}
	return &conn{Conn: nc, buf: make([]byte, readBuffer), connect: took}
}

var errTimeout = errors.New("time-out")

// read waits for bytes until the limit. The deadline of the connection is only moved when it strikes too early: arming
// it for every token would cost more than reading the token.
func (c *conn) read(ctx context.Context, until time.Time) error {
	for {
		if c.deadline.IsZero() || until.Before(c.deadline) {
			c.arm(until)
		}
		if ctx.Err() != nil { // after arming, which would undo the interrupt
			return context.Cause(ctx)
		}
		n, err := c.Read(c.buf)
		if n > 0 {
			c.at = time.Now()
			c.reads++
			c.data = c.buf[:n]
			return nil
		}
		switch {
		case err == nil: // a read of nothing: legal, and nothing
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !time.Now().Before(until):
			return errTimeout
		default:
			c.arm(until)
		}
	}
}

func (c *conn) arm(until time.Time) {
	c.deadline = until
	c.SetReadDeadline(until)
}

// interrupt ends a read or write that is under way, now and later.
func (c *conn) interrupt() { c.SetDeadline(time.Unix(1, 0)) }

// head reads a response head; what came behind it stays in c.data. Interim answers (1xx) are passed over.
func (c *conn) head(ctx context.Context, until time.Time) (*http.Response, error) {
	var long []byte // a head that came in several reads
	for {
		if err := c.read(ctx, until); err != nil {
			return nil, err
		}
		long = append(long, c.data...)
		for {
			end := headEnd(long)
			if end == 0 {
				break
			}
			resp, err := parseHead(long[:end])
			if err != nil {
				return nil, protocolError{err}
			}
			long = long[end:]
			if resp.StatusCode >= 200 {
				c.data = c.data[len(c.data)-len(long):]
				return resp, nil
			}
		}
		if len(long) > maxHead {
			return nil, protocolError{fmt.Errorf("response head over %d bytes", maxHead)}
		}
	}
}

// protocolError marks bytes that are not what HTTP or the API has at that place.
type protocolError struct{ error }

// isUsable says whether the server has closed the idle connection, as far as this side has heard.
func (c *conn) isUsable() bool {
	raw := c.Conn
	secure, isTLS := raw.(*tls.Conn)
	if isTLS {
		raw = secure.NetConn()
	}
	// A fresh TLS connection may have session tickets waiting; any other has nothing to say before it is asked.
	return isQuiet(raw, isTLS && !c.used)
}
