package traces

// sessionSoFar is a session while its rows come by.
type sessionSoFar struct {
	turns int32
	endNs int64 // of the answer before
}
