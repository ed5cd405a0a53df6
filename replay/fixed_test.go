package replay

import (
	"bufio"
	"container/heap"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"

	"tidemark/replay/host"
)

// The fixed server is a process of its own that writes every token at a known instant: the n-th at
// arrival + TTFT + n * TPOT. One goroutine on a precise timer writes for all streams, and notes when it really did.

func init() { roles["fixed"] = serveFixed }

// truth is what the fixed server did for one request, in seconds.
type truth struct {
	ID   string
	TTFT float64 // from the last byte of the request to the first token
	TPOT float64
}

type fixedServer struct {
	ttft, tpot time.Duration
	wake       chan struct{}

	mu      sync.Mutex
	streams fixedStreams
	truths  []truth
}

type fixedStream struct {
	conn       net.Conn
	id         string
	arrived    time.Time
	first      time.Time
	next       time.Time // when the next token is due
	sent, want int
	prompt     int
	ended      chan struct{}
}

func serveFixed() {
	ttft, _ := time.ParseDuration(os.Getenv("FIXED_TTFT"))
	tpot, _ := time.ParseDuration(os.Getenv("FIXED_TPOT"))
	f := &fixedServer{ttft: ttft, tpot: tpot, wake: make(chan struct{}, 1)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go f.write()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			unpaced(conn)
			go f.read(conn)
		}
	}()
	io.Copy(io.Discard, os.Stdin) // until the parent goes
	os.Exit(0)
}

// unpaced has the kernel send what is written when it is written: where BBR is its default, it would space it out.
func unpaced(conn net.Conn) {
	const tcpCongestion = 13 // of Linux; elsewhere the default stays
	if raw, err := conn.(*net.TCPConn).SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { syscall.SetsockoptString(int(fd), syscall.IPPROTO_TCP, tcpCongestion, "reno") })
	}
}

var maxTokensField = regexp.MustCompile(`"max_tokens":(\d+)`)

// read takes the requests of one connection, one after the other.
func (f *fixedServer) read(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 8<<10)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		arrived := time.Now()
		if req.URL.Path != "/v1/completions" {
			f.answer(conn, req.URL.Path)
			continue
		}
		s := &fixedStream{conn: conn, id: req.Header.Get("X-Request-Id"), arrived: arrived, next: arrived.Add(f.ttft),
			want: 1, prompt: 1, ended: make(chan struct{})}
		if m := maxTokensField.FindSubmatch(body[max(0, len(body)-400):]); m != nil {
			s.want, _ = strconv.Atoi(string(m[1]))
		}
		f.add(s)
		<-s.ended
	}
}

func (f *fixedServer) answer(conn net.Conn, path string) {
	body := "vllm:num_requests_running 0\n"
	switch path {
	case "/v1/models":
		body = `{"data":[{"id":"tiny"}]}`
	case "/version":
		body = `{"version":"fixed"}`
	case "/truths":
		f.mu.Lock()
		text, _ := json.Marshal(f.truths)
		f.mu.Unlock()
		body = string(text)
	}
	fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func (f *fixedServer) add(s *fixedStream) {
	f.mu.Lock()
	heap.Push(&f.streams, s)
	isNext := f.streams[0] == s
	f.mu.Unlock()
	if isNext {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}

// write sends every token at its time.
func (f *fixedServer) write() {
	sleep, release := host.NewSleep()
	defer release()
	for {
		f.mu.Lock()
		var next time.Time
		for len(f.streams) > 0 {
			s := f.streams[0]
			if next = s.next; time.Until(next) > 0 {
				break
			}
			f.token(s)
			if s.sent == s.want {
				heap.Pop(&f.streams)
				f.end(s)
			} else {
				heap.Fix(&f.streams, 0)
			}
			next = time.Time{}
		}
		f.mu.Unlock()
		if next.IsZero() {
			<-f.wake
			continue
		}
		// A stream that arrives meanwhile is never due before a whole TTFT; a millisecond at a time finds it.
		sleep(context.Background(), min(time.Until(next), time.Millisecond))
	}
}

const fixedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"

// plainToken is every token but the first and the last, made once: what is measured is the client.
var plainToken = appendChunk(nil, "data: "+tokenChunk(1000, "")+"\n\n")

func (f *fixedServer) token(s *fixedStream) {
	s.sent++
	out := plainToken
	switch {
	case s.sent == s.want:
		out = lastTokens(s)
	case s.sent == 1:
		out = append([]byte(fixedHead), out...)
	}
	at := time.Now()
	if s.sent == 1 {
		s.first = at
	}
	s.conn.Write(out)
	s.next = s.arrived.Add(f.ttft + time.Duration(s.sent)*f.tpot)
	if s.sent == s.want {
		t := truth{ID: s.id, TTFT: s.first.Sub(s.arrived).Seconds()}
		if s.want > 1 {
			t.TPOT = at.Sub(s.first).Seconds() / float64(s.want-1)
		}
		f.truths = append(f.truths, t)
	}
}

func lastTokens(s *fixedStream) (out []byte) {
	if s.want == 1 {
		out = append(out, fixedHead...)
	}
	out = appendChunk(out, "data: "+tokenChunk(1000+s.sent, "length")+"\n\n")
	out = appendChunk(out, "data: "+usageChunk(s.prompt, s.want)+"\n\n")
	return append(appendChunk(out, "data: [DONE]\n\n"), "0\r\n\r\n"...)
}

func (f *fixedServer) end(s *fixedStream) { close(s.ended) }

func appendChunk(out []byte, data string) []byte {
	out = strconv.AppendInt(out, int64(len(data)), 16)
	return append(append(append(out, "\r\n"...), data...), "\r\n"...)
}

type fixedStreams []*fixedStream

func (h fixedStreams) Len() int           { return len(h) }
func (h fixedStreams) Less(i, j int) bool { return h[i].next.Before(h[j].next) }
func (h fixedStreams) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *fixedStreams) Push(x any)        { *h = append(*h, x.(*fixedStream)) }
func (h *fixedStreams) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	*h = (*h)[:last]
	return s
}
