// Package replay is the load engine: it sends the requests of a plan to a server with OpenAI's API, each exactly when it is
// due, and writes down when every token came back.
//
// Its rooms, each a package that knows nothing of this one:
//
//	schedule when each request goes out: open loop, sessions, closed loop, a cap; asks no clock
//	plan     what is due when: from a stream of requests and the user's choices to a plan file; the prompts
//	wire     bytes: heads, bodies out of their framing, events out of the stream, tokens out of the events, connections
//	engines  what differs between servers (vLLM, SGLang, any other), one file each
//	host     what the client's own machine does to a measurement: late wake-ups, waits for a core, standing still
//	secrets  takes keys and tokens out of everything that is kept
//
// A run goes through these files. run.go asks the servers what they are (control.go, probe.go, readiness in ready.go,
// drain.go, cache.go, compare.go), opens the run's folder (journal.go, document.go) and starts the dispatcher (dispatch.go).
// That reads the plan ahead (reader.go) and asks the schedule what is due in an open loop, a closed
// one, in sessions or under a cap. Each request is made ready before that (prepare.go: its bytes by requestwriter.go, a
// connection to the server that route.go picks) and is handed over when it is due.
//
// There are two drivers. On Linux, over plain connections, one thread both sends what is due and reads what has come
// (eventloop_linux.go): no goroutine and no timer belongs to a stream, and each token has the instant when the kernel had
// it. Over TLS, over connections that the caller makes and elsewhere, each request has a goroutine (goroutines.go), and the
// instant is right after the read. Both feed what they read to the same exchange (exchange.go), so that an answer has one
// meaning: events become tokens with instants (stream.go), the end becomes a verdict (verdict.go, rejection.go), and both
// become a row (row.go).
//
// Goroutines: the schedule belongs to the dispatcher's goroutine alone, and others send it messages (inbox.go). Rows are
// finished by one more goroutine (finisher.go) and written by another (journal.go), so that neither a slow disk nor the
// compression delays a token. samples.go keeps the servers' /metrics and the client's own state each second.
//
// A server that refuses connections is down (availability.go): what was due there fails, the others go on, and the run ends
// when none is left. A request that failed has a row with one kind of failure: connect and refused (no connection),
// timeout_first_byte (no token in time), timeout_between_bytes (no further token in time), http_NNN (an answer other than
// 200), error_frame (an error inside a stream), protocol (no HTTP, no event stream or no chunk), cut_stream (it ended before
// the server said so), no_token, bad_finish (a finish reason of no whole answer, or none and no [DONE]), short_output and
// long_output (fewer tokens than asked for where the length was forced, or more), token_mismatch (the server's usage is not the number of its token ids)
// and cancelled (the user ended the run). verdict.go and rejection.go decide.
//
// It refuses: to wait for a slow server before the next request, to send a request twice, to follow a redirect, to define
// a latency (it keeps instants; SQL derives quantities), and to let an API key into any byte that it writes. It knows
// nothing of warehouses.
package replay
