// The event loop is one goroutine that never blocks except in epoll: it sends what is due, reads what has come, and ends
// what has waited too long. A goroutine for each of 500 streams would be woken by the scheduler tens of microseconds after
// its bytes came, and later still when all tokens of a batch come at once.
//
// Concurrency: the loop alone touches live, bySocket and the poller's set. An exchange belongs to the loop from send to
// settle; before that to the helper that prepares it, after that to the finisher. Helpers and the plan's reader only post to
// the inbox, whose bell is an eventfd in the poller. The loop holds no lock while it reads.
//
// Between any two sockets that are read, a request may become due: read checks nextDue after each, so that a burst of tokens
// delays a request by one read and not by hundreds.

package replay

import (
	"context"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/replay/host"
	"tidemark/replay/wire"
)

// hasEventLoop says that this system has the event loop.
const hasEventLoop = true

// eventLoop sends what is due and reads what has come on one thread, so that neither waits for a scheduler: no goroutine and
// no timer belongs to a stream, a token costs one read, and its instant is when the kernel had it.
type eventLoop struct {
	*dispatcher
	poll     *wire.Poller
	receiver *wire.Receiver
	buf      []byte
	live     []*exchange // sent, and not ended
	bySocket []*exchange
	finished *finisher
	nextLook time.Duration // for streams that have run out of patience
	nextDue  time.Duration
	lastRead time.Duration
	streak   int // reads that came close upon the one before
}

// scanEvery is how often the loop looks for streams whose time is over; time-outs are that much late.
const scanEvery = 50 * time.Millisecond

// loopRead is the most that one read brings.
const loopRead = 64 << 10

// newEventLoop is nil where the connections are not for it, or where the kernel has no descriptors left.
func newEventLoop(d *dispatcher) driver {
	if !d.router.isBare {
		return nil
	}
	poll, err := wire.NewPoller()
	if err != nil {
		return nil
	}
	d.looksOften = true
	return &eventLoop{dispatcher: d, poll: poll, buf: make([]byte, loopRead)}
}

// run goes round until nothing more can come. Each turn takes the messages, does what is due, looks for time-outs now and
// then, and waits for sockets, for the bell or for the next due time.
func (l *eventLoop) run() {
	defer host.PrepareProcess()()
	l.finished = newFinisher(l.runState)
	l.receiver = wire.NewReceiver(l.begin)
	l.inbox.listen(l.poll.Wake)
	defer context.AfterFunc(l.stop, l.poll.Wake)()
	defer context.AfterFunc(l.abort, l.poll.Wake)()
	for {
		l.hear(l)
		now := l.now()
		l.advance(now, l)
		if now >= l.nextLook {
			l.look(now)
		}
		l.finished.flush()
		if l.isDone() {
			break
		}
		if l.inbox.isEmpty() {
			l.read(l.await(min(l.nextDue, l.nextLook) - now))
		}
	}
	l.finished.end()
	l.poll.Close()
}

// linger is how long the loop looks for a next token before it sleeps, when the last ones came as close as that: a batch's
// tokens come one upon the other, and to sleep and wake costs more than to look.
const linger = 12 * time.Microsecond

// await returns the sockets that have something, after so long at most.
func (l *eventLoop) await(most time.Duration) []unix.EpollEvent {
	for l.streak > 1 && most > linger && l.now()-l.lastRead < linger {
		if ready := l.poll.Wait(0); len(ready) > 0 {
			return ready
		}
	}
	return l.poll.Wait(most)
}

// advance also keeps in mind when the next request is due.
func (l *eventLoop) advance(now time.Duration, out carrier) {
	l.dispatcher.advance(now, out)
	l.nextDue = l.schedule.Wake()
}

// read takes what each of the ready sockets has; between any two of them a request may be due.
func (l *eventLoop) read(ready []unix.EpollEvent) {
	l.receiver.CompareClocks()
	for _, e := range ready {
		x := l.at(int(e.Fd))
		if x == nil {
			l.poll.Drain(int(e.Fd))
			continue
		}
		if e.Events&unix.EPOLLOUT != 0 {
			l.write(x)
		}
		if e.Events&^unix.EPOLLOUT != 0 && x.phase != over {
			l.receive(x)
		}
		if x.phase == over {
			l.end(x)
		}
		if l.lastRead >= l.nextDue {
			l.advance(l.now(), l)
		}
	}
}

// at is nil for the bell, for the timer, and for a socket that was let go while its event was on the way.
func (l *eventLoop) at(socket int) *exchange {
	if socket < len(l.bySocket) {
		return l.bySocket[socket]
	}
	return nil
}

// receive reads once; what is left is reported again by the poller, after the other sockets had their turn.
func (l *eventLoop) receive(x *exchange) {
	n, arrived, isKnown, err := l.receiver.Receive(x.conn.Socket, l.buf)
	now := l.now()
	if l.streak++; now-l.lastRead > linger {
		l.streak = 0
	}
	l.lastRead = now
	at := now
	if isKnown { // not before what was there earlier, and not after it was read
		at = min(max(arrived, x.at, x.row.written), now)
	}
	switch {
	case n > 0:
		x.feed(l.buf[:n], at)
	case err == nil:
		x.connectionEnded(io.EOF, at)
	case err != unix.EAGAIN && err != unix.EINTR:
		x.connectionEnded(err, at)
	}
}

// send writes a request that is due; what does not fit follows as the socket takes it.
func (l *eventLoop) send(x *exchange) {
	if !x.isPastDue {
		x.releaseBudget()
		x.becomeDue()
		l.dispatcher.live++
	}
	if x.connectErr != nil {
		x.notReached(l.now())
		l.settle(x)
		return
	}
	if !x.isReachable() || x.out == nil {
		l.reach(x)
		return
	}
	x.noteSent(l.now())
	n, err := wire.WriteSocket(x.conn.Socket, x.out)
	if n == 0 && err != nil && err != unix.EAGAIN && !x.isRetry {
		x.closeConn()
		l.reach(x)
		return
	}
	l.meter.addSent(&x.row)
	l.wrote(x, n, err)
	l.add(x)
}

// reach makes a missing connection or missing bytes on a goroutine of its own; the request is sent when its message comes. The
// loop itself never dials: a connect may take seconds.
func (l *eventLoop) reach(x *exchange) {
	x.isRetry = x.conn == nil
	l.preparing++
	l.helpers.Go(func() {
		x.ensureReady()
		l.inbox.post(message{isPrepared, x.ticket}, nil)
	})
}

// wrote treats a full socket as no error: the rest follows when the poller says that there is room.
func (l *eventLoop) wrote(x *exchange, n int, err error) {
	if err == unix.EAGAIN || err == unix.EINTR {
		err = nil
	}
	x.noteWritten(n, err, l.now())
}

// write goes on with a request that did not fit at once.
func (l *eventLoop) write(x *exchange) {
	if len(x.out) > 0 {
		n, err := wire.WriteSocket(x.conn.Socket, x.out)
		l.wrote(x, n, err)
	}
	if len(x.out) == 0 {
		l.poll.Change(x.conn.Socket, false)
	}
}

// add begins to listen.
func (l *eventLoop) add(x *exchange) {
	socket := x.conn.Socket
	for socket >= len(l.bySocket) {
		l.bySocket = append(l.bySocket, make([]*exchange, len(l.bySocket)+64)...)
	}
	l.bySocket[socket] = x
	x.liveIndex = len(l.live)
	l.live = append(l.live, x)
	if err := l.poll.Add(socket, len(x.out) > 0); err != nil {
		x.connectionEnded(err, l.now())
		l.end(x)
	}
}

// end takes an exchange that is over off the loop.
func (l *eventLoop) end(x *exchange) {
	l.bySocket[x.conn.Socket] = nil
	last := len(l.live) - 1
	l.live[x.liveIndex] = l.live[last]
	l.live[x.liveIndex].liveIndex = x.liveIndex
	l.live[last] = nil
	l.live = l.live[:last]
	l.poll.Remove(x.conn.Socket)
	x.releaseConn(x.isReusable() && !isLeft(l.abort))
	l.settle(x)
}

// settle tells the schedule at once, and leaves the rest to another goroutine.
func (l *eventLoop) settle(x *exchange) {
	x.dropBody()
	t := x.ticket
	t.done, t.ids = x.row.done, x.stream.ids
	l.requestDone(t)
	l.nextDue = min(l.nextDue, l.schedule.Wake())
	l.finished.add(x)
}

// look ends the streams that have waited too long, and all of them when the run is left.
func (l *eventLoop) look(now time.Duration) {
	l.nextLook = now + scanEvery
	var left error
	if isLeft(l.abort) {
		left = wire.Left(l.abort)
	}
	for i := len(l.live) - 1; i >= 0; i-- {
		x := l.live[i]
		switch {
		case left != nil:
			x.connectionEnded(left, now)
		case now >= x.patience():
			x.connectionEnded(wire.ErrTimeout, now)
		default:
			continue
		}
		l.end(x)
	}
}
