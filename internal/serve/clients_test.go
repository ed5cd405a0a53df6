//go:build duckdb_arrow

package serve_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// A worker that the kernel kills is not a query that took too much memory.
func TestAWorkerThatIsKilledFromOutside(t *testing.T) {
	s := serving(t, nil)
	answer := make(chan *http.Response, 1)
	go func() {
		response, err := s.do("POST", "/v1/sql", strings.NewReader(long))
		if err != nil {
			t.Error(err)
		}
		answer <- response
	}()
	s.awaitMetric(t, `tidemark_serve_workers{state="running"}`, "1")
	time.Sleep(100 * time.Millisecond) // the worker has the query by now
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // a thread may be gone
		for _, child := range strings.Fields(string(children)) {
			pid, _ := strconv.Atoi(child)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	response := <-answer
	if response == nil {
		return
	}
	status, got := text(t, response)
	if status != 503 || !strings.Contains(got, "was killed from outside") {
		t.Errorf("got %d %q, want 503 and that it was killed", status, got)
	}
}

// Clients that only hold a connection keep nobody away.
func TestIdleConnectionsKeepNobodyAway(t *testing.T) {
	s := serving(t, nil)
	var first net.Conn
	for range 1200 { // more than a server keeps, whatever the limit on its files
		conn := must.Get(net.Dial("tcp", s.addr))(t)
		defer conn.Close()
		if first == nil {
			first = conn
		}
	}
	first.SetReadDeadline(time.Now().Add(5 * time.Second)) // before the time that a request's head may take
	if _, err := first.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection that has waited longest: %v, want that it was closed", err)
	}
	if status, got := text(t, s.ask(t, "select 1 as one", "Accept", asCSV)); status != 200 || got != "one\n1\n" {
		t.Errorf("got %d %q", status, got)
	}
}
