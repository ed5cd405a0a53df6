// Package vllmsim is a stand-in for a vLLM server, over real HTTP, without a
// GPU. It is there to test load clients and to show what a trace would do to a
// server whose step time is known.
//
// Its parts, in the order in which a request meets them:
//
//	server.go, connection.go   listeners, keep-alive, one goroutine a connection
//	route.go, inspect.go       which path answers what
//	fields.go, ask.go          a body's JSON becomes an ask, or vLLM's own error
//	bounds.go                  how much one request may ask for: vLLM's bounds
//	tokenizer.go, sampling.go  ids from text, and the output as a function of a seed
//	engine.go                  the loop of engine steps; Config.StepTime says how long one lasts
//	scheduler.go, blocks.go    what a step holds: budget, chunked prefill, paged KV, prefix cache
//	fixed.go                   instead of these two: first token and gaps at exact instants
//	arrival_linux.go, truth.go when a request really came and its tokens really left
//	stream.go, chunk.go        tokens become server-sent events on the connection
//	rust.go                    the same in the dialect of vLLM's frontend in Rust
//	metrics.go, exposition.go  what /metrics says
//
// The wire format follows vLLM 0.32 with its quirks. The server says in
// /version and /server_info that it is a simulator, and of what.
//
// It refuses what it cannot mean: it has no weights, so text, logprobs and stop
// strings carry no sense (the last two are ignored), and it never guesses a step
// time: Config.StepTime or Config.Fixed must be given.
package vllmsim
