// Package replay is the load engine: it sends the requests of a plan to an OpenAI-compatible server, each exactly
// when it is due, and writes down when every token came back.
//
// How its parts fit: plan.go, thicken.go and planfile.go turn a stream of requests and the user's choices into a plan
// file. run.go asks the servers what they are (asker.go, probe.go, ready.go), opens the run's folder (journal.go,
// document.go) and starts the dispatcher (dispatch.go). That reads the plan ahead (reader.go), asks the schedule
// (schedule.go, session.go) what is due in an open loop, a closed one, in sessions or under a cap, has each request made
// ready before that (prepare.go: the prompt of prompt.go in a body of openai.go, a connection of pool.go to the server
// that route.go picks) and hands it over when it is due.
//
// There are two ways to carry requests. On Linux, over plain connections, one thread both sends what is due and reads what
// has come (loop_linux.go, poller_linux.go): no goroutine and no timer belongs to a stream, and what it reads bears the
// instant when the kernel had it (arrival_linux.go). Over TLS, over connections that the caller makes and elsewhere, each
// request has a goroutine (converse.go), and the instant is right after the read. Both feed what they read to the same
// exchange.go, so an answer has one meaning: its head (head.go), its body out of the HTTP framing (framing.go), the events
// out of the stream (sse.go), the tokens out of the events (scan.go, decode.go, stream.go), its end (verdict.go,
// rejection.go), its row (row.go).
//
// compare.go tells where a server is not the deployment that was named. A server that refuses connections has gone
// (gone.go): what was due there fails, the others go on, and the run ends when none is left.
//
// samples.go keeps the servers' /metrics and the client's own state beside them; heartbeat.go watches that the client
// itself does not stand still. scrub.go takes secrets out of all that others say; check.go is what settings may be.
//
// A request that failed has a row with one kind of failure: connect and refused (no connection), timeout_first_byte (no
// token in time), timeout_between_bytes (no further token in time), http_NNN (an answer other than 200), error_frame (an
// error inside a stream), protocol (no HTTP, no event stream or no chunk), cut_stream (it ended before the server said
// so), no_token, bad_finish (a finish reason other than stop and length, or none), short_output and long_output (fewer or
// more tokens than asked for), token_mismatch (the server's usage is not the number of its token ids) and cancelled
// (left by the user). verdict.go and rejection.go decide.
//
// It refuses: to wait for a slow server before the next request, to send a request twice, to follow a redirect, to
// define a latency (it keeps instants; SQL derives quantities), and to let an API key into any byte that it writes.
// It knows nothing of warehouses and imports nothing of ours.
package replay
