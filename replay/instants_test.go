package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/host"
)

// torn breaks the write of a planned request after its first bytes, as a server does that hangs up before it has read all.
type torn struct{ net.Conn }

func (c torn) Write(p []byte) (int, error) {
	if !strings.HasPrefix(string(p), "POST "+completionsPath) {
		return c.Conn.Write(p)
	}
	n, _ := c.Conn.Write(p[:20])
	return n, errors.New("broken pipe")
}

// endOf sends one request of two tokens under a fake clock to a server that answers as told, and returns its row.
func endOf(t *testing.T, wrap func(net.Conn) net.Conn, answer func(net.Conn)) (r line) {
	t.Helper()
	folder, requests := filepath.Join(t.TempDir(), "run"), planOf(t, every(0, 1, 9, 2))
	synctest.Test(t, func(t *testing.T) {
		server := &pipeServer{began: time.Now(), answer: answer}
		s := settingsFor("http://tiny")
		s.Sleep = host.TimerSleep
		s.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := server.dial(ctx, network, address)
			return wrap(conn), err
		}
		must.Get(Run(t.Context(), requests, s, folder))(t)
		synctest.Wait()
	})
	return rowsIn(t, folder)[0]
}

// A server may answer before it has read all, so after a broken write it is listened to for one more second, and no longer.
func TestABrokenWriteIsWaitedOutForOneSecond(t *testing.T) {
	r := endOf(t, func(c net.Conn) net.Conn { return torn{c} }, nil)
	if r.Failure != "cut_stream" || !strings.HasPrefix(r.Detail, "broken pipe") || math.Abs(*r.Done-*r.Sent-1) > 1e-9 {
		t.Errorf("ended %v s after it was sent, want 1: %+v", *r.Done-*r.Sent, r)
	}
}

// The connection's end may come long after the last byte. It is the end of a body without a length, and says nothing of when the
// answer was there: that was at the last byte. Where more was promised, the answer ends when the connection does.
func TestAStreamThatClosesEndsAtItsLastByte(t *testing.T) {
	plain := func(c net.Conn) net.Conn { return c }
	for _, c := range []struct {
		what, head, last string
		failure          string
		end              float64 // seconds after the last byte; the connection ends after 0.7 s
	}{
		{"a body without a length", "", usageChunk(9, 2), "", 0},
		{"a body without a length, done", "", "[DONE]", "", 0},
		{"a longer body was promised", "Content-Length: 9999\r\n", usageChunk(9, 2), "", 0.7},
		{"a longer body was promised, done", "Content-Length: 9999\r\n", "[DONE]", "", 0},
		{"a longer body was promised, in mid-stream", "Content-Length: 9999\r\n", "", "cut_stream", 0.7},
	} {
		var last time.Duration // of the last byte, since the first
		r := endOf(t, plain, func(conn net.Conn) {
			began := time.Now()
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n%s\r\n", c.head)
			fmt.Fprintf(conn, "data: %s\n\n", tokenChunk(1, ""))
			time.Sleep(20 * time.Millisecond)
			if c.last != "" {
				fmt.Fprintf(conn, "data: %s\n\n", tokenChunk(2, "length"))
				time.Sleep(30 * time.Millisecond)
				fmt.Fprintf(conn, "data: %s\n\n", c.last)
			}
			last = time.Since(began)
			time.Sleep(700 * time.Millisecond)
		})
		if c.last == "" { // nothing came after the first token
			last = 0
		}
		if end := *r.Done - *r.Sent - last.Seconds(); r.Failure != c.failure || c.last == "" && math.Abs(end-0.72) > 1e-9 || c.last != "" && math.Abs(end-c.end) > 1e-9 {
			t.Errorf("%s: ended %v s after the last byte, want %v: %+v", c.what, end, c.end, r)
		}
	}
}
