// An exchange is a state machine over the bytes of one answer: head, then stream or error body, then over. It never reads
// and never waits, so both drivers and the tests can feed it in pieces of any size. The instant of each piece comes from the
// driver: the kernel's where it is known, else that right after the read.
//
// Ends have one rule (close): the first end counts, and a proper end has the instant of the last bytes, not that of the
// moment at which somebody noticed that the connection had closed. Time-outs are not timers: patience says until when an
// exchange may go on, and the driver compares.

package replay

import (
	"context"
	"io"
	"time"

	"tidemark/replay/wire"
)

// exchange is one request and its answer. It reads nothing by itself: whoever has the connection feeds it what came and
// when, tells it when the connection ended, and gives it up when its patience is over.
type exchange struct {
	*runState
	ticket   *ticket
	row      row
	conn     *wire.Conn
	body     *[]byte // pooled; out is its end
	out      []byte  // still to be written
	budgeted int64   // bytes counted in sender.prepared

	isPastDue  bool // past its due time: only leaving the run at once holds it back
	isRetry    bool // over a second connection: the first was dead
	connectErr error
	writeErr   error         // why the request could not be written whole
	writeErrAt time.Duration // and when

	phase            phase
	at               time.Duration // of the last read
	end              error         // how it ended; nil: as HTTP wants it
	start            []byte        // of an answer whose head came in several reads
	answer           wire.Head     // its status is 0 until it is there
	replica          string        // which one answered, as the router's header says
	framing          wire.Framing
	text             []byte // the body of an error
	hasTrailingBytes bool   // something came after the answer
	parser           wire.SSE
	stream           stream
	onEvent          func(name, data []byte)
	liveIndex        int // in the event loop's list
}

// phase is what the next byte of an answer belongs to.
type phase int

const (
	inHead phase = iota
	inStream
	inError // the body of an answer that is no stream
	over
)

// protocolError marks bytes that are not what HTTP or the API has at that place.
type protocolError struct{ error }

// becomeDue settles when the request was due. From here on it has a row.
func (x *exchange) becomeDue() {
	x.isPastDue = true
	x.row.req.Due, x.row.held = x.ticket.Due, x.ticket.Held
	x.row.isWarmUp = x.ticket.Due < x.settings.WarmUp
}

// noteSent takes note of the instant before the first byte is written.
func (x *exchange) noteSent(sent time.Duration) {
	x.row.sent, x.row.connect = sent, unknown
	if !x.conn.Used {
		x.row.connect = x.conn.ConnectTime
	}
	x.conn.Used = true
	x.at, x.phase = sent, inHead
	x.stream.reset(sent, x.meter, x.keepsIDs)
	x.stream.isOther = x.row.isOther
	x.tellWatcher()
}

// noteWritten takes note of what was written. After an error with some of it out the answer is still awaited: a server may
// answer and hang up before it has read all.
func (x *exchange) noteWritten(n int, err error, at time.Duration) {
	x.out = x.out[n:]
	switch {
	case err != nil:
		x.writeErr, x.writeErrAt = err, at
		x.dropBody()
	case len(x.out) == 0:
		x.row.written = at
		x.dropBody()
	}
}

// patience is until when the next token must come, or the end: the first token has one limit, the gaps after it another.
// Bytes without a token (headers, comments, a repeated prompt) extend neither, and none the grace after [DONE].
func (x *exchange) patience() time.Duration {
	s := &x.stream
	switch {
	case x.phase == inError:
		return x.row.headers + errorGrace
	case x.phase == inHead && x.writeErr != nil:
		return x.writeErrAt + doneGrace
	case s.isDone:
		return s.doneAt + doneGrace
	case s.first == unknown:
		return s.sent + x.settings.FirstByteTimeout
	}
	return s.last + x.settings.BetweenBytesTimeout
}

// feed takes what one read brought, and when that was there.
func (x *exchange) feed(data []byte, at time.Duration) {
	x.at = at
	x.stream.read++
	hadToken := x.stream.first != unknown
	if x.phase == inHead {
		data = x.takeHead(data)
	}
	if x.phase == inStream || x.phase == inError {
		x.takeBody(data)
	}
	if !hadToken && x.stream.first != unknown {
		x.tellWatcher()
	}
}

// takeHead reads up to the end of the response head and returns what comes after it. Interim answers (1xx) are passed.
func (x *exchange) takeHead(data []byte) []byte {
	for x.phase == inHead {
		whole := data
		if len(x.start) > 0 {
			x.start = append(x.start, data...)
			whole = x.start
		}
		end := wire.HeadEnd(whole)
		if end == 0 {
			if len(x.start) == 0 {
				x.start = append(x.start, data...)
			}
			if len(whole) > wire.MaxHead {
				x.close(protocolError{wire.ErrLongHead}, x.at)
			}
			return nil
		}
		h, err := wire.ParseHead(whole[:end])
		if err != nil {
			x.close(protocolError{err}, x.at)
			return nil
		}
		data, x.start = data[len(data)-(len(whole)-end):], x.start[:0]
		if h.Status >= 200 {
			x.answered(h)
			if x.settings.ReplicaHeader != "" {
				x.replica = wire.HeaderIn(whole[:end], x.settings.ReplicaHeader)
			}
		}
	}
	return data
}

// answered takes the head of the final answer and prepares for its body.
func (x *exchange) answered(h wire.Head) {
	x.answer, x.framing = h, wire.NewFraming(h)
	x.row.headers, x.row.status = x.at, h.Status
	x.phase = inStream
	if !h.IsStream() {
		x.phase = inError
		return
	}
	// The first chunk may repeat the prompt: ten characters a token.
	x.parser.Reset(1<<20+12*x.row.req.InputTokens, x.onEvent)
}

// takeBody takes the answer out of its framing.
func (x *exchange) takeBody(data []byte) {
	for len(data) > 0 && !x.framing.IsOver() {
		part, rest, err := x.framing.Split(data)
		if err == nil && x.phase == inStream {
			err = x.parser.Parse(part)
		}
		if err != nil {
			x.close(protocolError{err}, x.at)
			return
		}
		if x.phase == inError {
			x.text = append(x.text, part...)
		}
		data = rest
	}
	switch {
	case x.framing.IsOver():
		x.parser.End()
		x.hasTrailingBytes = len(data) > 0
		x.close(nil, x.at)
	case x.phase == inError && len(x.text) > errorBodyLimit:
		x.close(nil, x.at)
	case x.phase == inStream && x.stream.isLong(x.row.req.OutputTokens):
		x.close(errLongOutput, x.at)
	}
}

// connectionEnded takes the end of the connection, or of the patience with it.
func (x *exchange) connectionEnded(err error, at time.Duration) {
	if x.phase == inStream {
		x.parser.End()
		if x.stream.isDone || err == io.EOF && x.framing.EndsWithConnection() {
			err = nil // a proper end, and that of the connection too
		}
	}
	x.close(err, at)
}

// close is the end of the exchange, which keeps its first one.
func (x *exchange) close(err error, at time.Duration) {
	switch {
	case x.phase == over:
		return
	case x.phase == inHead && x.writeErr != nil && !wire.IsLeft(err):
		err = x.writeErr
	case x.phase == inError: // what was said until then is what it says
		err = nil
	}
	if err == nil {
		at = x.at
	}
	x.phase, x.end, x.row.done = over, err, at
}

// isReusable says whether the connection is where a next request may begin.
func (x *exchange) isReusable() bool {
	return x.end == nil && x.connectErr == nil && x.writeErr == nil && len(x.out) == 0 && x.framing.IsOver() &&
		!x.hasTrailingBytes && !x.answer.IsLast
}

// notReached is the end of a request that no connection could be made for.
func (x *exchange) notReached(at time.Duration) {
	x.phase, x.row.sent, x.row.done = over, unknown, at
}

// settle moves what the exchange saw into the row and says whether it was a success.
func (x *exchange) settle() {
	s, r := &x.stream, &x.row
	if x.replica != "" {
		r.endpoint = x.scrub.Detail(x.replica)
	}
	switch {
	case x.connectErr != nil:
		x.fail(connectFailure(x.connectErr), wire.Cause(x.connectErr))
		return
	case x.answer.Status != 0 && !x.answer.IsStream():
		x.fail(x.rejection())
		return
	}
	s.infer()
	r.first, r.last = s.first, s.last
	r.usage, r.finish, r.reads, r.timing = s.usage, x.scrub.Detail(s.finish), s.reads, s.timing
	r.offsets, r.counts = s.offsets, s.counts
	r.noCounts = s.hasUnknownCounts && allZero(s.counts)
	if s.hasIDs {
		r.counted = s.counted
	}
	if s.inferred {
		r.detail = "token instants taken from chunks that show no token"
	}
	if kind, detail := x.verdict(x.end); kind != "" {
		x.fail(kind, detail)
	}
}

// fail cleans the words of others before they reach the row.
func (x *exchange) fail(kind, detail string) {
	x.row.failure, x.row.detail = kind, x.scrub.Detail(detail)
}

// isLeft says whether the run is being left, and with it everything that is in flight.
func isLeft(abort context.Context) bool { return abort.Err() != nil }
