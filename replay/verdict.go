// What an answer came to. A success has the tokens that were asked for, or fewer where the body lets an answer end by itself,
// and an end that the server chose: a finish reason of a whole answer, or [DONE] from a server that gives no reasons. Everything
// else is a failure of one kind. The order of the cases matters: what the server says itself (an error frame) comes before
// what was noticed here, and the end of the connection counts only where the answer was not complete by then.

package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"tidemark/replay/wire"
)

// errLongOutput ends a stream that brings far more tokens than were asked for.
var errLongOutput = errors.New("too many tokens")

// wholeAnswers are the finish reasons of an answer that the server itself calls whole.
var wholeAnswers = []string{"length", "stop", "tool_calls", "function_call"}

// verdict is the kind of failure, empty for a success.
func (x *exchange) verdict(end error) (kind, detail string) {
	s, asked := &x.stream, int64(x.row.req.OutputTokens)
	got, isKnown := s.received()
	count := s.arrived(asked)
	isShort := isKnown && got < asked && !x.mayEndEarly
	isGood := slices.Contains(wholeAnswers, s.finish) || s.finish == "" && s.isDone
	isSettled := isGood && s.first != unknown && (isKnown && !isShort || !isKnown && s.isDone) // whatever came after it
	switch {
	case s.failure != nil:
		return "error_frame", cmp.Or(s.failure.String(), "an error without words")
	case s.protocol != nil:
		return "protocol", s.protocol.Error()
	case errors.Is(end, errLongOutput):
		return "long_output", fmt.Sprintf("left after %d tokens, asked for %d", s.tokensArrived, asked)
	case end != nil && !isSettled:
		return endFailure(end, x), wire.Cause(end) + " after " + count
	case s.finish != "" && !isGood:
		return "bad_finish", s.finish + " after " + count
	case s.first == unknown:
		return "no_token", "the stream brought no token"
	case !s.isConcluded():
		return "cut_stream", "ended without a finish reason, a usage or [DONE] after " + count
	case s.absurdCount > 0:
		return "token_mismatch", fmt.Sprintf("the usage says %d tokens", s.absurdCount)
	case s.isMiscounted():
		return "token_mismatch", fmt.Sprintf("the usage says %d tokens, the ids are %d, asked for %d", s.usage.Completion, s.counted, asked)
	case isShort && (isGood || s.isDone):
		return "short_output", count
	case isShort:
		return "cut_stream", "ended without a finish reason after " + count
	case isKnown && got > asked:
		return "long_output", count
	case !isGood:
		return "bad_finish", "no finish reason after " + count
	}
	return "", ""
}

// endFailure tells the two time-outs apart by whether a token had come.
func endFailure(end error, x *exchange) string {
	var protocol protocolError
	switch {
	case wire.IsLeft(end):
		return "cancelled"
	case errors.As(end, &protocol):
		return "protocol"
	case (errors.Is(end, wire.ErrTimeout) || wire.IsTimeout(end)) && x.stream.first == unknown:
		return "timeout_first_byte"
	case errors.Is(end, wire.ErrTimeout):
		return "timeout_between_bytes"
	}
	return "cut_stream"
}

// connectFailure is cancelled only where the run was left meanwhile.
func connectFailure(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case wire.IsRefused(err):
		return "refused"
	}
	return "connect"
}

// allZero says that the server counted no chunk's tokens; the row then leaves the counts out.
func allZero(counts []int32) bool {
	return !slices.ContainsFunc(counts, func(n int32) bool { return n != 0 })
}
