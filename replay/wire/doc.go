// Package wire turns bytes into what a measurement needs of an answer, and makes the connections that carry them.
//
// Bytes go up through it in one direction: a response head (head.go), the body out of its transfer coding (framing.go), the
// events of the stream (sse.go), and of each event the few fields that matter (scan.go, scanfields.go, decode.go). Each step
// keeps its state between reads, since a read may end anywhere, and none allocates for a token.
//
// Connections come from a pool for each server (pool.go, conn.go). On Linux the event loop reads bare sockets
// (socket_linux.go) through epoll (poller_linux.go), and the kernel says when each segment arrived (arrival_linux.go).
// net/http is not used for the load: it reads on goroutines of its own and hands bytes over some time after they came.
//
// The quick readers (scanHead, scanChunk) take what servers really send and give up on everything else that is legal;
// net/http and encoding/json then decide. Fuzz tests hold that both always agree.
//
// It refuses to know what a token is worth: which chunk bears tokens, and when, is decided by the caller.
package wire
