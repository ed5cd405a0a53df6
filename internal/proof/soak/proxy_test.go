//go:build soak

package soak

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// mischief is what the proxy does to a request for text.
type mischief int

const (
	none      mischief = iota
	refuse429          // an answer of its own
	refuse503
	cut     // the stream ends in the middle, orderly
	reset   // the connection is torn down in the middle
	dribble // a few bytes at a time
)

// proxy stands between client and server and does mischief to requests for text.
type proxy struct {
	listener net.Listener
	server   atomic.Pointer[string] // address
	choose   func() mischief
	work     sync.WaitGroup

	mu   sync.Mutex
	done map[mischief]int
	open map[net.Conn]bool
}

func startProxy(address string, choose func() mischief) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, choose: choose, done: map[mischief]int{}, open: map[net.Conn]bool{}}
	p.server.Store(&address)
	p.work.Go(p.accept)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) count(m mischief) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done[m]
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	for c := range p.open {
		c.Close()
	}
	p.mu.Unlock()
	p.work.Wait()
}

func (p *proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.open[conn] = true
		p.mu.Unlock()
		p.work.Go(func() {
			p.serve(conn)
			conn.Close()
			p.mu.Lock()
			delete(p.open, conn)
			p.mu.Unlock()
		})
	}
}

// serve passes on one request after the other, each over a connection of its own.
func (p *proxy) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		m := none
		if request.Method == http.MethodPost {
			m = p.choose()
			p.mu.Lock()
			p.done[m]++
			p.mu.Unlock()
		}
		if !p.answer(conn, request, body, m) {
			return
		}
	}
}

// answer says whether the connection may be used again.
func (p *proxy) answer(conn net.Conn, request *http.Request, body []byte, m mischief) bool {
	switch m {
	case refuse429:
		return short(conn, "429 Too Many Requests", `{"error":{"message":"slow down","type":"RateLimitError","code":429}}`)
	case refuse503:
		return short(conn, "503 Service Unavailable", `{"error":{"message":"busy","type":"Service Unavailable","code":503}}`)
	}
	upstream, err := net.DialTimeout("tcp", *p.server.Load(), time.Second)
	if err != nil {
		return short(conn, "502 Bad Gateway", "")
	}
	defer upstream.Close()
	request.Body, request.ContentLength, request.Close = io.NopCloser(bytes.NewReader(body)), int64(len(body)), true
	if err := request.Write(upstream); err != nil {
		return false
	}
	switch m {
	case cut, reset:
		io.CopyN(conn, upstream, 900) // headers and some tokens
		if tcp, ok := conn.(*net.TCPConn); ok && m == reset {
			tcp.SetLinger(0)
		}
		return false
	case dribble:
		piece := make([]byte, 150)
		for {
			n, err := upstream.Read(piece)
			if _, failed := conn.Write(piece[:n]); failed != nil || err != nil {
				return false
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	io.Copy(conn, upstream)
	return false // the server closes after each answer, and says so to the client
}

func short(conn net.Conn, status, body string) bool {
	_, err := fmt.Fprintf(conn, "HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s", status, len(body), body)
	return err == nil
}
