package traces

// sessionSoFar is a session while its rows come by, in the order of the file: how
// many turns it has had, and when the last answer ended. From these two a reader
// numbers the next turn and computes its think time, the seconds from the end of an
// answer to the next request.
type sessionSoFar struct {
	turns int32
	endNs int64 // of the answer before
}
