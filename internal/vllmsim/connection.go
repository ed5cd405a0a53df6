package vllmsim

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"
)

// connection is one client's TCP connection with its keep-alive. The server
// speaks HTTP/1.1 itself instead of using net/http's server, because the driver
// writes a stream's chunks straight to the socket. With net/http a goroutine
// per stream would have to be woken for every token.
type connection struct {
	net.Conn
	server *Server
	raw    syscall.RawConn // nil where the connection is not the kernel's
	limit  io.LimitedReader
	in     *bufio.Reader
	once   func(fd uintptr) bool
	stamps *stampedReader // nil: an arrival is the instant of the read

	// of the request in progress
	requestID string
	arrived   time.Duration // its first bytes, since the server started
	isLast    bool          // the connection is closed after the answer
	allow     string        // method that the path takes; the header of a 405

	pending  []byte // for once
	written  int
	writeErr error

	stream *stream // the answer in progress; Server.mu guards it
}

const (
	headerLimit = 1 << 20
	readTimeout = time.Minute      // for a connection's first byte, and for the rest of a request that has started
	bodyAhead   = 1 << 20          // bytes reserved on the word of Content-Length, before any of them have arrived
	replyWait   = 10 * time.Second // for a client to take a short answer
)

func newConnection(s *Server, conn net.Conn) *connection {
	c := &connection{Conn: conn, server: s}
	c.limit.R = conn
	c.in = bufio.NewReaderSize(&c.limit, 16<<10)
	if kernel, ok := conn.(syscall.Conn); ok {
		c.raw, _ = kernel.SyscallConn()
	}
	if s.cfg.Fixed != nil {
		c.stamps = newStampedReader(conn, c.raw, s.sinceStart)
	}
	if c.stamps != nil {
		c.limit.R = c.stamps
	}
	c.once = func(fd uintptr) bool {
		c.written, c.writeErr = writeNow(fd, c.pending)
		return true
	}
	return c
}

// tryWrite writes as much as the socket takes without waiting. c.once is made
// once per connection, so that a write allocates nothing.
func (c *connection) tryWrite(b []byte) (int, error) {
	if c.raw == nil {
		return 0, nil
	}
	c.pending = b
	err := c.raw.Write(c.once)
	c.pending = nil // a stream that its client has left still holds the connection
	if err != nil {
		return 0, err
	}
	return c.written, c.writeErr
}

// serve answers one request after the other until either side leaves.
func (c *connection) serve() {
	defer c.Conn.Close()
	c.SetReadDeadline(time.Now().Add(readTimeout))
	for {
		c.limit.N = headerLimit
		if _, err := c.in.Peek(1); err != nil {
			return
		}
		c.arrived = c.lastRead()
		c.SetReadDeadline(time.Now().Add(readTimeout))
		request, err := http.ReadRequest(c.in)
		if err == nil && !isHeaderTaken(request.Header) {
			err = errHeader
		}
		if err != nil {
			c.isLast = true
			if !isDisconnect(err) {
				c.reply(http.StatusBadRequest, "text/plain; charset=utf-8", []byte("Invalid HTTP request received."))
			}
			return
		}
		c.isLast = request.Close || c.server.closed()
		c.requestID = request.Header.Get("X-Request-Id")
		body, err := c.readBody(request)
		began := c.lastRead()
		if err != nil {
			return
		}
		c.SetReadDeadline(time.Time{})
		c.server.route(c, request, body, began)
		if c.isLast {
			return
		}
	}
}

// lastRead is when the bytes of the last read had arrived, since the server
// started.
func (c *connection) lastRead() time.Duration {
	if c.stamps == nil {
		return c.server.sinceStart()
	}
	return c.stamps.last
}

func isDisconnect(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ECONNRESET)
}

var (
	errTooLarge = errors.New("request body too large")
	errHeader   = errors.New("header too large")
)

// isHeaderTaken compares a header with vLLM's limit, and the request id, which
// every chunk repeats, with this simulator's.
func isHeaderTaken(header http.Header) bool {
	lines := 0
	for _, values := range header {
		lines += len(values)
	}
	return lines <= maxHeaders && len(header.Get("X-Request-Id")) <= maxRequestID
}

// readBody reads a body up to MaxBodyBytes. Content-Length is only a claim:
// memory grows with what arrives.
func (c *connection) readBody(request *http.Request) ([]byte, error) {
	most := c.server.cfg.MaxBodyBytes
	if request.ContentLength > most {
		return nil, c.tooLarge()
	}
	if request.Header.Get("Expect") == "100-continue" {
		if _, err := io.WriteString(c.Conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return nil, err
		}
	}
	c.limit.N = most + headerLimit
	var body bytes.Buffer
	if request.ContentLength > 0 {
		body.Grow(int(min(request.ContentLength, bodyAhead)) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(io.LimitReader(request.Body, most+1)); err != nil {
		return nil, err
	}
	if int64(body.Len()) > most {
		return nil, c.tooLarge()
	}
	return body.Bytes(), nil
}

func (c *connection) tooLarge() error {
	c.isLast = true
	c.reply(http.StatusRequestEntityTooLarge, "application/json", []byte(`{"detail":"Request body too large"}`))
	// A client that is still sending would see a reset connection instead of
	// the answer.
	c.SetReadDeadline(time.Now().Add(replyWait))
	io.Copy(io.Discard, c.Conn)
	return errTooLarge
}

// head appends the status line and the headers that every answer has, in
// uvicorn's order. A negative length is left out.
func (c *connection) head(out []byte, status, length int, contentType string) []byte {
	out = append(out, "HTTP/1.1 "...)
	out = strconv.AppendInt(out, int64(status), 10)
	out = append(out, ' ')
	out = append(out, http.StatusText(status)...)
	out = append(out, "\r\ndate: "...)
	out = time.Now().UTC().AppendFormat(out, http.TimeFormat)
	out = append(out, "\r\n"...)
	isPython := !c.server.cfg.RustFrontend
	switch {
	case isPython:
		out = append(out, "server: uvicorn\r\n"...)
	case length < 0:
		contentType = "text/event-stream"
		out = append(out, "cache-control: no-cache\r\n"...)
	}
	if status == http.StatusMethodNotAllowed {
		out = append(out, "allow: "+c.allow+"\r\n"...)
	}
	if length >= 0 {
		out = append(out, "content-length: "...)
		out = strconv.AppendInt(out, int64(length), 10)
		out = append(out, "\r\n"...)
	}
	if contentType != "" {
		out = append(out, "content-type: "+contentType+"\r\n"...)
	}
	if isPython && status != http.StatusUnauthorized { // answered before the CORS layer
		out = append(out, "vary: Origin\r\n"...)
		if c.server.cfg.RequestIDHeaders {
			out = append(out, "x-request-id: "+c.headerID()+"\r\n"...)
		}
	}
	if c.isLast {
		out = append(out, "connection: close\r\n"...)
	}
	return out
}

func (c *connection) headerID() string {
	if c.requestID != "" {
		return c.requestID
	}
	return randomHex()
}

// answer appends a complete answer with its body.
func (c *connection) answer(out []byte, status int, contentType string, body []byte) []byte {
	out = append(c.head(out, status, len(body), contentType), "\r\n"...)
	return append(out, body...)
}

// reply writes a short answer and waits for the client to take it.
func (c *connection) reply(status int, contentType string, body []byte) {
	c.SetReadDeadline(time.Now().Add(c.server.cfg.IdleTimeout))
	c.SetWriteDeadline(time.Now().Add(replyWait))
	_, err := c.Conn.Write(c.answer(nil, status, contentType, body))
	c.SetWriteDeadline(time.Time{})
	if err != nil {
		c.isLast = true
	}
}

// attach makes s the answer in progress. It returns false when the server is
// closing.
func (c *connection) attach(s *stream) bool {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.stream = s
	return !c.server.isClosed
}

// watch waits for the end of the answer and notices when the client leaves: a
// read that fails, also after the client closed only its sending side. It
// returns with the read deadline that the next request may use.
func (c *connection) watch(s *stream) {
	for {
		c.limit.N = headerLimit
		_, err := c.in.Peek(1)
		switch {
		case err == nil: // the next request is there
			<-s.done
			c.SetReadDeadline(time.Now().Add(c.server.cfg.IdleTimeout))
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			select {
			case <-s.done:
				c.isLast = true // idle for too long
				return
			default:
			}
			<-s.done // the client reads more slowly than the keep-alive time
			c.SetReadDeadline(time.Now().Add(c.server.cfg.IdleTimeout))
		default:
			s.abandon() // from here on nobody else reads isLast
			c.isLast = true
			return
		}
	}
}

// closeSoon ends an idle connection at once. One with an answer in progress
// ends when the client has taken the answer, or after the grace. Server.mu is
// held.
func (c *connection) closeSoon(grace time.Duration) {
	s := c.stream
	if s == nil {
		c.Conn.Close()
		return
	}
	c.SetWriteDeadline(time.Now().Add(grace))
	c.server.work.Go(func() {
		<-s.done
		c.Conn.Close()
	})
}
