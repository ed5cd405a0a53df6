// The dispatcher owns the schedule and is the only one that changes it. Everything else reaches it as a message in its
// inbox: requests read from the plan, requests made ready, answers that ended. advance does what is due at an instant, hear
// takes the messages, and a driver calls both in turn. So the order of events is that of one goroutine, and a simulated
// clock can replay it exactly (schedule/schedule_test.go).
//
// A request passes these stops: read by the reader (schedule.ConnectAhead + 100 ms early), prepared on a helper goroutine (a
// connection 500 ms early, its bytes 30 ms early), released by the schedule at its due time, sent by the driver, ended by
// its exchange. Each stop may be late without delaying another request.

package replay

import (
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/replay/host"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// beginAhead is the time between the last preparation of the first requests and the run's zero. It lets every thread that the
// preparation woke go back to sleep, so that the first request leaves on time.
const beginAhead = 20 * time.Millisecond

// dispatcher takes a plan from its file to the last answer. The schedule belongs to the goroutine of run alone; others
// send it messages. preparing and live belong to that goroutine too, and together with the schedule they say when the run
// is over: no counter is shared, so none needs a lock.
type dispatcher struct {
	*runState
	schedule *schedule.Schedule
	inbox    inbox
	reader   *reader
	driver   driver

	begun     chan struct{} // closed when begin is set
	isWarming bool
	first     sync.WaitGroup // requests that the run's zero waits for
	helpers   sync.WaitGroup
	preparing int // each ends in a message
	live      int // sent and not ended
	isRead    bool
	isStopped bool
}

// ticket is a request of the schedule with what the dispatcher knows of it.
type ticket struct {
	schedule.Ticket
	to   *endpoint     // nil until a policy has chosen
	x    *exchange     // nil until it is prepared
	done time.Duration // when it ended
	ids  []int32       // what it was answered, where that is kept

	isChosen bool        // by a policy: it counts as its endpoint's load
	isReady  bool        // its connection and its bytes are there
	isWanted atomic.Bool // it was released before it was ready
}

func newTicket(req plan.Request, to *endpoint) *ticket {
	t := &ticket{to: to}
	t.Req, t.Owner = req, t
	return t
}

// ended takes a request off the load of its endpoint.
func (t *ticket) ended() {
	if t.isChosen {
		t.to.open.Add(-1)
	}
}

func ticketOf(t *schedule.Ticket) *ticket { return t.Owner.(*ticket) }

// driver carries a run: from the first due time to the end of the last stream.
type driver interface{ run() }

// carrier sends requests and reads their answers.
type carrier interface {
	// send writes a request that is due, and reports its end by a message or by requestDone.
	send(x *exchange)
}

// newDispatcher picks the driver: the event loop where all connections can be its own, else goroutines.
func newDispatcher(s *runState, plan iter.Seq2[plan.Request, error], sleep host.Sleep) *dispatcher {
	d := &dispatcher{runState: s, begun: make(chan struct{})}
	if d.driver = newEventLoop(d); d.driver == nil { // before any connection is made: the driver decides of what kind they are
		s.router.unbare()
		d.driver = &goroutineDriver{dispatcher: d, sleep: sleep}
	}
	d.schedule = schedule.New(s.settings.Mode, s.settings.MaxConcurrency, s.keepsIDs)
	d.reader = newReader(d, plan)
	return d
}

// warm makes the first requests ready and sets the run's zero to shortly after that, so that a request that is due at zero is
// as ready as a later one. A server that is slow to connect delays the zero by schedule.ConnectAhead at most; its requests are then
// late to be prepared, which the rows show.
func (d *dispatcher) warm() {
	d.isWarming = true
	for n := 0; n < schedule.MaxAhead && d.schedule.Room() > 0; n++ {
		t := d.reader.ticket()
		if t == nil {
			d.isRead = true
			break
		}
		d.reader.taken++
		d.schedule.Add(&t.Ticket)
		if !d.schedule.IsClosed && t.Req.Due > schedule.ConnectAhead {
			break
		}
	}
	for t := d.schedule.Prepare(-beginAhead); t != nil; t = d.schedule.Prepare(-beginAhead) {
		d.prepare(ticketOf(t))
	}
	d.isWarming = false
	ready := make(chan struct{})
	d.helpers.Go(func() {
		d.first.Wait()
		close(ready)
	})
	limit := time.NewTimer(schedule.ConnectAhead)
	defer limit.Stop()
	select {
	case <-ready:
	case <-limit.C:
	case <-d.stop.Done():
	}
	d.begin = time.Now().Add(max(beginAhead, d.settings.untilStart()))
	close(d.begun)
}

// run sends everything, and returns when all of it has ended.
func (d *dispatcher) run() {
	var reading sync.WaitGroup
	if !d.isRead {
		d.reader.posted = d.reader.taken
		reading.Go(d.reader.read)
	}
	d.driver.run()
	reading.Wait()
	d.helpers.Wait()
	d.reader.close()
}

// advance does everything that is due at an instant: prepare what comes soon, release what is due now, and let the plan's
// reader go on as far as there is room. It asks no clock, so that both drivers and the simulated one share it.
func (d *dispatcher) advance(now time.Duration, out carrier) {
	if !d.isStopped && d.stop.Err() != nil {
		d.halt()
	}
	for t := d.schedule.Prepare(now); t != nil; t = d.schedule.Prepare(now) {
		d.prepare(ticketOf(t))
	}
	for released := d.schedule.Release(now); released != nil; released = d.schedule.Release(now) {
		t := ticketOf(released)
		if t.x == nil {
			d.prepare(t)
		}
		if t.isReady {
			out.send(t.x)
		} else {
			t.isWanted.Store(true)
		}
	}
	d.reader.allow(d.schedule.Room())
}

// hear takes the messages of other goroutines: requests read, requests made ready, answers that ended.
func (d *dispatcher) hear(out carrier) {
	for _, n := range d.inbox.take() {
		switch n.kind {
		case isPlanned:
			d.reader.taken++
			if !d.isStopped {
				d.schedule.Add(&n.t.Ticket)
			}
		case isPlanOver:
			d.isRead = true
		case isPrepared:
			d.prepared(n.t, out)
		case isOver:
			d.requestDone(n.t)
		}
	}
}

// prepared sends a request at once when its due time passed while it was being made ready.
func (d *dispatcher) prepared(t *ticket, out carrier) {
	d.preparing--
	t.isReady = true
	switch {
	case d.isStopped && !t.x.isPastDue:
		t.x.withdraw()
	case t.IsReleased:
		out.send(t.x)
	}
}

// requestDone is the end of a request that was sent, or could not be.
func (d *dispatcher) requestDone(t *ticket) {
	d.live--
	d.schedule.Complete(&t.Ticket, t.done, t.ids)
	t.x, t.ids = nil, nil
}

// halt stops sending: whatever has not been sent stays unsent.
func (d *dispatcher) halt() {
	d.isStopped = true
	for _, dropped := range d.schedule.Drop() {
		if t := ticketOf(dropped); t.isReady {
			t.x.withdraw()
		}
	}
}

// isDone says that nothing more can come.
func (d *dispatcher) isDone() bool {
	return d.isRead && d.schedule.IsEmpty() && d.preparing == 0 && d.live == 0
}

// prepare makes a request ready on a goroutine of its own: a far server, or a long prompt, holds up no other.
func (d *dispatcher) prepare(t *ticket) {
	t.x = d.exchange(t)
	d.preparing++
	due, warmed := t.Due, func() {}
	if d.schedule.IsClosed || t.IsReleased { // a closed loop knows its due times only as they come
		due = 0
	}
	if d.isWarming {
		d.first.Add(1)
		warmed = d.first.Done
	}
	d.helpers.Go(func() {
		isLate := t.to == nil // a policy looks at the loads shortly before the request is due
		if !isLate {
			t.x.connectEarly()
		}
		isEarly := due > bodyAhead
		if isEarly {
			warmed()
			d.waitForBody(due)
		}
		if isLate {
			t.to, t.isChosen = d.router.choose(t.Req), true
			t.x.row.endpoint = t.to.name
			t.x.connectEarly()
		}
		t.x.buildEarly()
		if !isEarly {
			warmed()
		}
		d.inbox.post(message{isPrepared, t}, func() bool { return !t.isWanted.Load() })
	})
}

// waitForBody returns shortly before a due time, or when the run stops.
func (d *dispatcher) waitForBody(due time.Duration) {
	select {
	case <-d.begun:
		host.TimerSleep(d.stop, time.Until(d.begin.Add(due-bodyAhead)))
	case <-d.stop.Done():
	}
}
