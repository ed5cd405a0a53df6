package serve

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
)

// connections keeps clients that only hold a connection from keeping others away: the process has so many files, and a query's worker
// needs some of them. Above the limit the connection that has waited longest for a request is closed, or the new one where none waits.
type connections struct {
	limit int

	mu      sync.Mutex
	open    int
	waiting []net.Conn // those without a request, the longest first
}

// mostConnections leaves each worker its pipes and the server its own files.
func mostConnections(workers int) int {
	const perWorker, own, atMost = 8, 24, 1000
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Cur > 1<<20 {
		return atMost
	}
	return max(4, min(atMost, int(files.Cur)-own-perWorker*2*workers))
}

// changed is http.Server.ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.waiting, conn); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
	switch state {
	case http.StateNew:
		c.open++
		c.waiting = append(c.waiting, conn)
		if c.open > c.limit {
			c.waiting[0].Close() // its own StateClosed follows
			c.waiting = c.waiting[1:]
		}
	case http.StateIdle:
		c.waiting = append(c.waiting, conn)
	case http.StateClosed, http.StateHijacked:
		c.open--
	}
}
