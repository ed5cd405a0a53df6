package replay

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// exchange is one request and its answer.
type exchange struct {
	*sender
	row    row
	conn   *conn
	body   *[]byte // pooled; out is its end
	out    []byte
	waits  int64 // bytes counted in sender.prepared
	parser sse
	stream stream
}

// prepare makes the request's bytes shortly before they are due; with too many bytes waiting already it leaves that to
// the due time.
func (x *exchange) prepare(t ticket, shut <-chan struct{}) {
	timer := time.NewTimer(time.Until(x.begin.Add(t.due - bodyAhead)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.open:
	case <-shut:
		return
	}
	x.waits = int64(x.writer.size(x.row.req))
	if x.prepared.Add(x.waits) <= bodyBudget {
		x.build()
	}
}

func (x *exchange) build() {
	x.body, _ = x.bodies.Get().(*[]byte)
	if x.body == nil {
		x.body = new([]byte)
	}
	*x.body, x.out = x.writer.request(*x.body, x.row.req)
}

// unprepare takes the bytes off the budget: from now on they are under way, however slowly.
func (x *exchange) unprepare() {
	x.prepared.Add(-x.waits)
	x.waits = 0
}

// withdraw is the end of a request that the run stopped before its due time: it stays unsent.
func (x *exchange) withdraw() {
	x.unprepare()
	x.dropBody()
	if x.conn != nil {
		x.pool.put(x.conn)
	}
}

// dropBody gives the bytes back as soon as they are written: answers last far longer.
func (x *exchange) dropBody() {
	if x.body != nil {
		x.bodies.Put(x.body)
	}
	x.body, x.out = nil, nil
}

// run writes the request at its due time and reads the answer to its end.
func (x *exchange) run() {
	x.unprepare()
	if x.out == nil {
		x.build()
	}
	err := x.write()
	x.dropBody()
	if x.row.sent == unknown {
		x.fail(connectFailure(err), cause(err))
		x.row.done = time.Since(x.begin)
		return
	}
	x.meter.addSent(x.row.lateness())
	defer x.hangUp()
	defer context.AfterFunc(x.abort, x.conn.interrupt)()
	x.stream.reset(x.begin.Add(x.row.sent), x.meter)
	err, isReusable := x.answer(err)
	x.settle(err)
	if isReusable && x.abort.Err() == nil {
		x.conn.used, x.conn.data = true, nil
		x.pool.put(x.conn)
		x.conn = nil
	}
}

func (x *exchange) hangUp() {
	if x.conn != nil {
		x.conn.Close()
	}
}

// write sends the request over the connection that waits, or a new one when that has died. Once a byte is out it is
// never written again.
func (x *exchange) write() error {
	for attempt := 1; ; attempt++ {
		if x.conn == nil || attempt == 1 && !x.conn.isUsable() {
			x.hangUp()
			var err error
			if x.conn, err = x.sender.connect(); err != nil {
				x.row.sent = unknown
				return err
			}
		}
		n, err := x.writeOnce()
		if err == nil || n > 0 || attempt > 1 || x.abort.Err() != nil {
			return err
		}
		x.conn.Close()
		x.conn = nil
	}
}

func (x *exchange) writeOnce() (int, error) {
	if !x.conn.used {
		x.row.connect = x.conn.connect
	}
	defer context.AfterFunc(x.abort, x.conn.interrupt)()
	x.conn.SetWriteDeadline(time.Now().Add(x.settings.FirstByteTimeout))
	if x.abort.Err() != nil {
		x.conn.interrupt()
	}
	sent := time.Now()
	n, err := x.conn.Write(x.out)
	x.row.sent = sent.Sub(x.begin)
	if err == nil {
		x.row.written = time.Since(x.begin)
	}
	return n, err
}

// answer reads what comes back. A server may answer and hang up before it has read all of the request, so a failed
// write is followed by a short look.
func (x *exchange) answer(written error) (err error, isReusable bool) {
	until := x.begin.Add(x.row.sent + x.settings.FirstByteTimeout)
	if written != nil {
		until = time.Now().Add(doneGrace)
	}
	x.conn.deadline = time.Time{}
	resp, err := x.conn.head(x.abort, until)
	if err != nil {
		if written != nil {
			err = written
		}
		return err, false
	}
	x.row.headers, x.row.status = x.since(x.conn.at), resp.StatusCode
	body := newFraming(resp)
	if resp.StatusCode != http.StatusOK || !isEventStream(resp) {
		return x.rejected(resp, &body)
	}
	err = x.events(&body)
	isReusable = err == nil && written == nil && body.state == ended && len(x.conn.data) == 0 && !resp.Close
	return err, isReusable
}

// isEventStream lets pass what does not say its type; a page or a plain JSON answer is none.
func isEventStream(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err != nil || kind != "application/json" && kind != "text/html"
}

// rejected reads the body of an error, as far as it is worth reading.
func (x *exchange) rejected(resp *http.Response, body *framing) (err error, isReusable bool) {
	text, err := x.shortBody(body)
	x.row.done = x.since(x.conn.at)
	said := errorBody(text).String() // fail scrubs and cuts
	switch {
	case resp.StatusCode == http.StatusOK:
		x.fail("protocol", "the answer is no event stream: "+cmp.Or(said, bodyWords(resp, text)))
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		x.fail(fmt.Sprintf("http_%d", resp.StatusCode), "a redirect, not followed")
	default:
		x.fail(fmt.Sprintf("http_%d", resp.StatusCode), cmp.Or(said, bodyWords(resp, text)))
	}
	return nil, err == nil && body.state == ended && len(x.conn.data) == 0 && !resp.Close
}

// bodyWords says what came where the server itself says nothing.
func bodyWords(resp *http.Response, body []byte) string {
	words := strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	if len(body) == 0 {
		return words + ", no body"
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil {
		return fmt.Sprintf("%s, %d bytes of %s", words, len(body), kind)
	}
	return fmt.Sprintf("%s, %d bytes", words, len(body))
}

const errorBodyLimit = 16 << 10

func (x *exchange) shortBody(body *framing) ([]byte, error) {
	var text []byte
	until := time.Now().Add(5 * time.Second)
	for {
		for len(x.conn.data) > 0 && body.state != ended {
			part, rest, err := body.next(x.conn.data)
			if err != nil {
				return text, err
			}
			text, x.conn.data = append(text, part...), rest
		}
		if body.state == ended || len(text) > errorBodyLimit {
			return text, nil
		}
		if err := x.conn.read(x.abort, until); err != nil {
			return text, err
		}
	}
}

// events reads the stream to its end. All events that a read brought bear its instant.
func (x *exchange) events(body *framing) error {
	c := x.conn
	// The first chunk may repeat the prompt: ten characters a token.
	x.parser.reset(1<<20+12*x.row.req.InputTokens, func(name, data []byte) { x.stream.event(name, data, c.at) })
	for {
		x.stream.read = c.reads
		for len(c.data) > 0 && body.state != ended {
			part, rest, err := body.next(c.data)
			if err != nil {
				return protocolError{err}
			}
			c.data = rest
			if err := x.parser.feed(part); err != nil {
				return protocolError{err}
			}
		}
		if body.state == ended {
			x.parser.end()
			return nil
		}
		if x.stream.isLong(x.row.req.OutputTokens) {
			return errLongOutput
		}
		if err := c.read(x.abort, x.patience()); err != nil {
			x.parser.end()
			if x.stream.isDone || err == io.EOF && body.state == untilClosed {
				return nil // a proper end, and that of the connection too
			}
			return err
		}
	}
}

// patience is until when the next token must come, or the end: the first token has one limit, the gaps after it another.
// Bytes without a token (headers, comments, a repeated prompt) extend neither, and none the grace after [DONE].
func (x *exchange) patience() time.Time {
	s := &x.stream
	switch {
	case s.isDone:
		return s.doneAt.Add(doneGrace)
	case s.first.IsZero():
		return s.sent.Add(x.settings.FirstByteTimeout)
	}
	return s.last.Add(x.settings.BetweenBytesTimeout)
}

func (x *exchange) fail(kind, detail string) {
	x.row.failure, x.row.detail = kind, x.scrub.detail(detail)
}

// settle moves what the stream saw into the row and says whether it was a success.
func (x *exchange) settle(end error) {
	s, r := &x.stream, &x.row
	if r.done == unknown {
		if r.done = time.Since(x.begin); end == nil {
			r.done = x.since(x.conn.at)
		}
	}
	if r.failure != "" {
		return
	}
	s.infer()
	r.first, r.last = x.since(s.first), x.since(s.last)
	r.usage, r.finish, r.reads = s.usage, x.scrub.detail(s.finish), s.reads
	r.offsets, r.counts = s.offsets, s.counts
	r.noCounts = s.unknown && allZero(s.counts)
	if s.hasIDs {
		r.counted = s.counted
	}
	if s.inferred {
		r.detail = "token instants taken from chunks that show no token"
	}
	if kind, detail := x.verdict(end); kind != "" {
		x.fail(kind, detail)
	}
}
