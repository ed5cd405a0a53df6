//go:build !linux

package vllmsim

import (
	"net"
	"syscall"
	"time"
)

// arrivals is not to be had here.
type arrivals struct{ last time.Duration }

func newArrivals(net.Conn, syscall.RawConn, func() time.Duration) *arrivals { return nil }

func (*arrivals) Read([]byte) (int, error) { panic("no arrivals") }
