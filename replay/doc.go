// Package replay is the load engine: it sends the requests of a plan to an OpenAI-compatible server, each exactly
// when it is due, and writes down when every token came back.
//
// How its parts fit: plan.go, thicken.go and planfile.go turn a stream of requests and the user's choices into a plan
// file. run.go asks the server what it is (probe.go), opens the run's folder (journal.go, document.go) and starts the
// dispatcher (dispatch.go), which reads the plan with look-ahead and opens a gate for each request at its due time.
// exchange.go takes one request from its due time to its row: the prompt (prompt.go) in a body (openai.go) over a
// connection made beforehand (pool.go, conn.go), the answer out of its HTTP framing (framing.go), the events out of the
// stream (sse.go), the tokens out of the events (scan.go, stream.go). samples.go keeps the server's /metrics and the
// client's own state beside them; heartbeat.go watches that the client itself does not stand still. scrub.go takes secrets out
// of all that others say; check.go is what settings may be.
//
// A request that failed has a row with one kind of failure: connect and refused (no connection), timeout_first_byte (no
// token in time), timeout_between_bytes (no further token in time), http_NNN (an answer other than 200), error_frame (an
// error inside a stream), protocol (no HTTP, no event stream or no chunk), cut_stream (it ended before the server said
// so), no_token, bad_finish (a finish reason other than stop and length, or none), short_output and long_output (fewer or
// more tokens than asked for), token_mismatch (the server's usage is not the number of its token ids) and cancelled
// (left by the user). verdict.go and exchange.go decide.
//
// It refuses: to wait for a slow server before the next request, to send a request twice, to follow a redirect, to
// define a latency (it keeps instants; SQL derives quantities), and to let an API key into any byte that it writes.
// It knows nothing of warehouses and imports nothing of ours.
package replay
