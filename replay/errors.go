package replay

import (
	"errors"
	"io"
	"net"
	"syscall"
)

var errTimeout = errors.New("time-out")

// leftError ends what was in flight when the run was left.
type leftError struct{ error }

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// isClientLimit says whether this machine, not the server, could not make a connection.
func isClientLimit(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.ENOBUFS)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// cause is the innermost reason of a network error, without addresses.
func cause(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "connection closed"
	}
	return err.Error()
}
