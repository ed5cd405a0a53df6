// The driver for everything that is not a plain socket on Linux: one goroutine for each request, which writes, reads and
// ends it. The dispatcher's goroutine only sleeps and releases. It is exact under a fake clock, which the tests of due times
// use, and costs some tens of microseconds of precision on a real one.

package replay

import (
	"context"
	"slices"
	"sync"
	"time"

	"tidemark/replay/host"
)

// goroutineDriver carry each request on a goroutine of its own: over TLS, over connections that the caller makes, and where
// there is no event loop.
type goroutineDriver struct {
	*dispatcher
	sleep    host.Sleep
	inFlight sync.WaitGroup
}

// run is the dispatcher's turn: messages, what is due, and sleep until the next of either.
func (g *goroutineDriver) run() {
	for {
		g.hear(g)
		now := g.now()
		g.advance(now, g)
		if g.isDone() {
			break
		}
		g.wait(g.schedule.Wake() - now)
	}
	g.inFlight.Wait()
}

// wait until the next request is due, a message comes, or the run stops.
func (g *goroutineDriver) wait(d time.Duration) {
	until := g.stop
	if g.isStopped {
		until = context.Background()
	}
	ctx, wake := context.WithCancel(until)
	defer wake()
	if g.inbox.listen(wake) {
		g.sleep(ctx, min(d, time.Hour))
	}
}

// send starts the request's goroutine. Its row is finished there too: a slow row delays no other request.
func (g *goroutineDriver) send(x *exchange) {
	g.live++
	g.inFlight.Go(func() {
		x.converse()
		x.releaseConn(x.isReusable() && !isLeft(x.abort))
		t := x.ticket
		t.done, t.ids = x.row.done, slices.Clone(x.stream.ids)
		g.finish(x)
		g.inbox.post(message{isOver, t}, nil)
	})
}

// converse takes a request from its due time to its end.
func (x *exchange) converse() {
	x.releaseBudget()
	x.becomeDue()
	for !x.sendWhole() {
		x.isRetry = true
	}
	if x.connectErr != nil {
		x.notReached(x.now())
		return
	}
	x.meter.addSent(&x.row)
	defer context.AfterFunc(x.abort, x.conn.Interrupt)()
	buf := x.buffer()
	defer x.buffers.Put(buf)
	for x.phase != over {
		n, err := x.conn.Read(x.abort, x.begin.Add(x.patience()), *buf)
		at := x.now()
		if n > 0 {
			x.feed((*buf)[:n], at)
			continue
		}
		x.connectionEnded(err, at)
	}
}

// sendWhole writes the request over the connection that waits, or a new one when that has died; false: that one was
// dead too, and nothing of the request is out. Once a byte is out it is never written again.
func (x *exchange) sendWhole() bool {
	x.isReachable()
	if x.ensureReady(); x.connectErr != nil {
		return true
	}
	defer context.AfterFunc(x.abort, x.conn.Interrupt)()
	x.conn.ArmWrite(time.Now().Add(x.settings.FirstByteTimeout))
	if isLeft(x.abort) {
		x.conn.Interrupt()
	}
	x.noteSent(x.now())
	n, err := x.conn.Write(x.out)
	if err != nil && n == 0 && !x.isRetry && !isLeft(x.abort) {
		x.closeConn()
		return false
	}
	x.noteWritten(n, err, x.now())
	return true
}

// readBuffer holds dozens of chunks; what does not fit comes with the next read.
const readBuffer = 8 << 10

func (x *exchange) buffer() *[]byte {
	buf, _ := x.buffers.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
		*buf = make([]byte, readBuffer)
	}
	return buf
}
