package replay

import (
	"context"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/replay/host"
	"tidemark/replay/wire"
)

// hasLoop says that this system has the event loop.
const hasLoop = true

// loop sends what is due and reads what has come on one thread, so that neither waits for a scheduler: no goroutine and
// no timer belongs to a stream, a token costs one read, and its instant is when the kernel had it.
type loop struct {
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

// newLoop is nil where the connections are not for it, or where the kernel has no descriptors left.
func newLoop(d *dispatcher) driver {
	if !d.router.isBare {
		return nil
	}
	poll, err := wire.NewPoller()
	if err != nil {
		return nil
	}
	d.looksOften = true
	return &loop{dispatcher: d, poll: poll, buf: make([]byte, loopRead)}
}

func (l *loop) run() {
	defer host.PrepareProcess()()
	l.finished = newFinisher(l.sender)
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
func (l *loop) await(most time.Duration) []unix.EpollEvent {
	for l.streak > 1 && most > linger && l.now()-l.lastRead < linger {
		if ready := l.poll.Wait(0); len(ready) > 0 {
			return ready
		}
	}
	return l.poll.Wait(most)
}

// advance also keeps in mind when the next request is due.
func (l *loop) advance(now time.Duration, out carrier) {
	l.dispatcher.advance(now, out)
	l.nextDue = l.schedule.wake()
}

// read takes what each of the ready sockets has; between any two of them a request may be due.
func (l *loop) read(ready []unix.EpollEvent) {
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

func (l *loop) at(socket int) *exchange {
	if socket < len(l.bySocket) {
		return l.bySocket[socket]
	}
	return nil
}

func (l *loop) receive(x *exchange) {
	n, arrived, isKnown, err := l.receiver.Read(x.conn.Socket, l.buf)
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
		x.ended(io.EOF, at)
	case err != unix.EAGAIN && err != unix.EINTR:
		x.ended(err, at)
	}
}

// send writes a request that is due; what does not fit follows as the socket takes it.
func (l *loop) send(x *exchange) {
	if !x.isOut {
		x.unprepare()
		x.depart()
		l.dispatcher.live++
	}
	if x.unreached != nil {
		x.notReached(l.now())
		l.settle(x)
		return
	}
	if !x.isReachable() || x.out == nil {
		l.reach(x)
		return
	}
	x.leave(l.now())
	n, err := wire.WriteSocket(x.conn.Socket, x.out)
	if n == 0 && err != nil && err != unix.EAGAIN && !x.isRetry {
		x.hangUp()
		l.reach(x)
		return
	}
	l.meter.addSent(x.row.lateness())
	l.wrote(x, n, err)
	l.add(x)
}

// reach makes what is missing on a goroutine of its own; then it is sent.
func (l *loop) reach(x *exchange) {
	x.isRetry = x.conn == nil
	l.preparing++
	l.helpers.Go(func() {
		x.reach()
		l.inbox.post(news{isPrepared, x.ticket}, nil)
	})
}

func (l *loop) wrote(x *exchange, n int, err error) {
	if err == unix.EAGAIN || err == unix.EINTR {
		err = nil
	}
	x.written(n, err, l.now())
}

// write goes on with a request that did not fit at once.
func (l *loop) write(x *exchange) {
	if len(x.out) > 0 {
		n, err := wire.WriteSocket(x.conn.Socket, x.out)
		l.wrote(x, n, err)
	}
	if len(x.out) == 0 {
		l.poll.Change(x.conn.Socket, false)
	}
}

// add begins to listen.
func (l *loop) add(x *exchange) {
	socket := x.conn.Socket
	for socket >= len(l.bySocket) {
		l.bySocket = append(l.bySocket, make([]*exchange, len(l.bySocket)+64)...)
	}
	l.bySocket[socket] = x
	x.place = len(l.live)
	l.live = append(l.live, x)
	if err := l.poll.Add(socket, len(x.out) > 0); err != nil {
		x.ended(err, l.now())
		l.end(x)
	}
}

// end takes an exchange that is over off the loop.
func (l *loop) end(x *exchange) {
	l.bySocket[x.conn.Socket] = nil
	last := len(l.live) - 1
	l.live[x.place] = l.live[last]
	l.live[x.place].place = x.place
	l.live[last] = nil
	l.live = l.live[:last]
	l.poll.Remove(x.conn.Socket)
	x.giveBack(x.isReusable() && !isLeft(l.abort))
	l.settle(x)
}

// settle tells the schedule at once, and leaves the rest to another goroutine.
func (l *loop) settle(x *exchange) {
	x.dropBody()
	t := x.ticket
	t.done, t.ids = x.row.done, x.stream.ids
	l.ended(t)
	l.nextDue = min(l.nextDue, l.schedule.wake())
	l.finished.add(x)
}

// look ends the streams that have waited too long, and all of them when the run is left.
func (l *loop) look(now time.Duration) {
	l.nextLook = now + scanEvery
	var left error
	if isLeft(l.abort) {
		left = wire.Left(l.abort)
	}
	for i := len(l.live) - 1; i >= 0; i-- {
		x := l.live[i]
		switch {
		case left != nil:
			x.ended(left, now)
		case now >= x.patience():
			x.ended(wire.ErrTimeout, now)
		default:
			continue
		}
		l.end(x)
	}
}
