// Package vllmsim simulates a vLLM server without a GPU: HTTP around the engine
// model of internal/engine, on real time. Load clients are tested against it.
//
// Its parts, in the order in which a request meets them:
//
//	server.go, connection.go      listeners and keep-alive; one goroutine per connection
//	route.go, endpoints.go        which path answers what
//	fields.go, request.go         a body's JSON becomes a request, or vLLM's own error
//	bounds.go                     how much one request may ask for: vLLM's limits
//	tokenizer.go, sampling.go     token ids from text; the output as a function of a seed
//	stepper.go                    runs the steps of internal/engine's scheduler against the clock
//	fixed.go                      replaces scheduler and step time: first token and gaps at exact instants
//	kernelstamp_linux.go, truth.go  when a request really arrived and its tokens really left
//	stream.go, chunk.go           tokens become server-sent events on the connection
//	nonstreaming.go               the body of an answer that is not streamed
//	rustfrontend.go               both in the dialect of vLLM's frontend in Rust
//	metrics.go, exposition.go     what /metrics says
//	waker*.go                     how a driver sleeps until an instant and can be woken before it
//
// Concurrency: every connection has a goroutine that reads requests, and one
// further goroutine, the driver (stepper or pacer), makes all tokens. The driver
// hands tokens to streams and writes them without ever waiting for a reader.
// The stepper takes metrics.mu before stream.mu, the pacer stream.mu before
// metrics.mu. A server has only one of the two drivers, so the orders never
// meet; what a stream does at its end uses locks of its own (requestsMu,
// truthMu).
//
// The wire format follows vLLM 0.32, quirks included. /version and /server_info
// say that this is a simulator, and what it simulates.
//
// It refuses to pretend: it has no weights, so text carries no meaning and
// logprobs and stop strings are ignored, and it never guesses a step time.
// Config.StepTime or Config.Fixed must be given.
package vllmsim
