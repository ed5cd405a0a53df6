//go:build !linux

package vllmsim

import (
	"net"
	"syscall"
	"time"
)

// stampedReader is not to be had here.
type stampedReader struct{ last time.Duration }

func newStampedReader(net.Conn, syscall.RawConn, func() time.Duration) *stampedReader { return nil }

func (*stampedReader) Read([]byte) (int, error) { panic("no arrivals") }
