// Idle connections to one server, the last used on top, so that the others grow old and are closed. A server closes an idle
// connection by its own clock: idleness is limited to less than that, and each connection is checked once more before use.

package wire

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// IdleLimit is how long an unused connection is kept. vLLM closes one after 5 s, and a request that is written while it
// does so is lost.
const IdleLimit = 3 * time.Second

// maxDials connections to a server are made at a time: with more, its queue of new ones overflows, and the kernel tries
// again only after a second.
const maxDials = 512

// Pool keeps connections to one server, the last one used on top.
type Pool struct {
	Address string
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	tls     *tls.Config // nil: plain HTTP
	timeout time.Duration
	isBare  bool          // its connections are sockets for the event loop
	dials   chan struct{} // under way

	mu     sync.Mutex
	idle   []*Conn
	closed bool
}

// NewPool keeps connections to one address; with isBare they are sockets for the event loop.
func NewPool(address string, dial func(ctx context.Context, network, address string) (net.Conn, error), tls *tls.Config, timeout time.Duration,
	isBare bool) *Pool {
	return &Pool{Address: address, dial: dial, tls: tls, timeout: timeout, isBare: isBare, dials: make(chan struct{}, maxDials)}
}

// Unbare leaves the connections to Go.
func (p *Pool) Unbare() { p.isBare = false }

// Take is a connection that was quiet a moment ago: an idle one, or a new one.
func (p *Pool) Take(ctx context.Context) (*Conn, error) {
	for c := p.pop(); c != nil; c = p.pop() {
		if time.Since(c.idle) < IdleLimit && c.IsUsable() {
			return c, nil
		}
		c.Close()
	}
	return p.Connect(ctx)
}

// pop takes the connection that was used last: it is the least likely to have been closed by the server.
func (p *Pool) pop() *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c
}

// Put takes a connection back; the old ones at the bottom go.
func (p *Pool) Put(c *Conn) {
	c.idle = time.Now()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		c.Close()
		return
	}
	old := 0
	for old < len(p.idle) && c.idle.Sub(p.idle[old].idle) >= IdleLimit {
		old++
	}
	expired := append([]*Conn(nil), p.idle[:old]...)
	p.idle = append(append(p.idle[:0], p.idle[old:]...), c)
	p.mu.Unlock()
	for _, c := range expired {
		c.Close()
	}
}

// Connect makes a connection. Waiting for one of the maxDials places counts into its time-out, but not into the time
// that connecting took.
func (p *Pool) Connect(ctx context.Context) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	select {
	case p.dials <- struct{}{}:
		defer func() { <-p.dials }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	start := time.Now()
	nc, err := p.dial(ctx, "tcp", p.Address)
	if err != nil {
		return nil, err
	}
	if p.tls != nil {
		secure := tls.Client(nc, p.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			nc.Close()
			return nil, err
		}
		nc = secure
	}
	c := newConn(nc, time.Since(start))
	if p.isBare {
		return c.bare()
	}
	return c, nil
}

// Close closes the idle connections; those in use are closed when they come back.
func (p *Pool) Close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, c := range idle {
		c.Close()
	}
}
