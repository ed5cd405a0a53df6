// How connections fail, in the terms that verdicts need: refused, timed out, closed, out of this machine's own resources, or
// left by the user. Causes are shown without addresses, which may hold a token.

package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
)

// ErrTimeout is the end of an exchange whose patience is over; the caller says which limit it was.
var ErrTimeout = errors.New("time-out")

// leftError ends what was in flight when the run was left.
type leftError struct{ error }

// Left is the error of what was in flight when ctx ended.
func Left(ctx context.Context) error { return leftError{context.Cause(ctx)} }

// IsLeft says whether an exchange ended because the run was left.
func IsLeft(err error) bool { return errors.As(err, new(leftError)) }

// IsRefused says that nothing listens at the address: the server is down, not slow.
func IsRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// IsClientLimit says whether this machine, not the server, could not make a connection.
func IsClientLimit(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.ENOBUFS)
}

// IsTimeout recognises every time-out of the standard library: a dial's, a handshake's, a deadline's.
func IsTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// Cause is the innermost reason of a network error, without addresses.
func Cause(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "connection closed"
	}
	return err.Error()
}
