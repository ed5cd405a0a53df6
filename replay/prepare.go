// What is done for a request before it is due, on a helper goroutine: a connection early enough for a slow handshake, then
// its bytes, late enough that thousands of waiting requests do not fill the memory (bodyBudget). An error here is not final:
// the request tries again at its due time, and only that try counts.

package replay

// connectEarly gets a connection before it is needed. An error shows again at the due time, when it counts.
func (x *exchange) connectEarly() {
	if x.conn, _ = x.ticket.to.pool.Take(x.stop); x.conn != nil {
		x.reached(x.ticket.to)
	}
}

// buildEarly makes the request's bytes before they are needed; with too many waiting already it leaves that to the due
// time.
func (x *exchange) buildEarly() {
	x.stream.grow(x.row.req.OutputTokens)
	x.budgeted = int64(x.ticket.to.writer.size(x.row.req))
	if x.prepared.Add(x.budgeted) <= bodyBudget {
		x.build()
	}
}

// build makes the bytes in a pooled buffer.
func (x *exchange) build() {
	x.body, _ = x.bodies.Get().(*[]byte)
	if x.body == nil {
		x.body = new([]byte)
	}
	*x.body, x.out = x.ticket.to.writer.request(*x.body, x.row.req, x.ticket.Answers...)
}

// releaseBudget takes the bytes off the budget: from now on they are under way, however slowly.
func (x *exchange) releaseBudget() {
	x.prepared.Add(-x.budgeted)
	x.budgeted = 0
}

// ensureReady makes up at the due time for what could not be done before it.
func (x *exchange) ensureReady() {
	if x.out == nil {
		x.build()
	}
	if x.conn == nil {
		x.conn, x.connectErr = x.connect(x.ticket.to)
	}
}

// isReachable says whether the connection that waits can be used; a dead one goes.
func (x *exchange) isReachable() bool {
	if x.conn != nil && !x.isRetry && !x.conn.IsUsable() {
		x.closeConn()
	}
	return x.conn != nil
}

// withdraw is the end of a request that the run stopped before its due time: it stays unsent.
func (x *exchange) withdraw() {
	x.ticket.ended()
	x.releaseBudget()
	x.dropBody()
	x.releaseConn(true)
}

// releaseConn parts with the connection.
func (x *exchange) releaseConn(isReusable bool) {
	if x.conn != nil && isReusable {
		x.ticket.to.pool.Put(x.conn)
		x.conn = nil
	}
	x.closeConn()
}

func (x *exchange) closeConn() {
	if x.conn != nil {
		x.conn.Close()
		x.conn = nil
	}
}

// dropBody gives the bytes back as soon as they are written: answers last far longer.
func (x *exchange) dropBody() {
	if x.body != nil {
		x.bodies.Put(x.body)
	}
	x.body, x.out = nil, nil
}
