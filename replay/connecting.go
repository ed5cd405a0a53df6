// Late requests that waited for their own connection. The kernel of a server that is busy drops connections beyond its
// backlog and the client's kernel tries again after 1 s, then 3 s: such lateness is the server's or the network's, and must
// not make the client's clock look bad.

package replay

import (
	"fmt"
	"time"
)

// lateFrom is when a request counts as late here; queries/marts/runs.sql has the same.
const lateFrom = 10 * time.Millisecond

// connecting counts late requests, and those of them that waited for their own connection: the server did not take it up
// (its queue of new connections was full), or a packet was lost. Neither is the client's doing.
type connecting struct {
	late, waited int
	longest      time.Duration
}

// add takes a request that was sent; connect is unknown where it went over a connection that was there.
func (c *connecting) add(lateness, connect time.Duration) {
	if lateness <= lateFrom {
		return
	}
	c.late++
	if connect != unknown && connect >= lateness/2 {
		c.waited++
		c.longest = max(c.longest, connect)
	}
}

// blame is the end of a sentence on lateness where most of the late requests waited for connections; else empty.
func (c connecting) blame() string {
	if c.waited*2 <= c.late {
		return ""
	}
	return fmt.Sprintf("; the server, or the way to it, took connections up to %.3g s late: its queue of new connections was full, or packets were lost",
		c.longest.Seconds())
}
