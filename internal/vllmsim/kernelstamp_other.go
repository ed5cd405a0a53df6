//go:build !linux

package vllmsim

import (
	"net"
	"syscall"
	"time"
)

// stampedReader exists on Linux only. Elsewhere arrivals are the instants of
// the reads.
type stampedReader struct{ last time.Duration }

func newStampedReader(net.Conn, syscall.RawConn, func() time.Duration) *stampedReader { return nil }

func (*stampedReader) Read([]byte) (int, error) { panic("no arrivals") }
