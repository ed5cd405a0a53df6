package wire

import (
	"bufio"
	"bytes"
	"net/http"
	"testing"
)

const (
	streamHead  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunkedHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// The quick reader may give up on any head; where it does not, it says what net/http says.
func FuzzScanHead(f *testing.F) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, text := range []string{
		streamHead, chunkedHead, ok + "\r\n", ok + "Content-Length: 12\r\n\r\n", ok + "content-LENGTH:0\r\nConnection: Close\r\n\r\n",
		ok + "Connection: keep-alive\r\nDate: x\r\nContent-Type: application/json\r\n\r\n", ok + "Content-Type : text/html\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
		ok + "X: a\r\n b\r\n\r\n", ok + "Content-Length: +5\r\n\r\n", ok + "Content-Length: 18446744073709551615\r\n\r\n",
		"HTTP/1.1 200 \r\nConnection: close, x\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\n\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if HeadEnd(text) != len(text) {
			return
		}
		got, isSure := scanHead(text)
		if !isSure {
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
		if err != nil {
			t.Fatalf("%q: %+v, and net/http says %v", text, got, err)
		}
		resp.Body.Close()
		want := Head{resp.StatusCode, resp.Header.Get("Content-Type"), "", resp.ContentLength, len(resp.TransferEncoding) > 0, resp.Close}
		if got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	})
}

func TestAStreamsHeadIsReadWithoutAllocating(t *testing.T) {
	for _, text := range []string{streamHead, chunkedHead} {
		if _, isSure := scanHead([]byte(text)); !isSure {
			t.Errorf("gave up on %q", text)
		}
		if allocs := testing.AllocsPerRun(100, func() { scanHead([]byte(text)) }); allocs > 1 { // the conversion itself
			t.Errorf("%v allocations for %q", allocs, text)
		}
	}
}
