//go:build !linux

package wire

import (
	"errors"
	"net"
)

// takeSocket is not called here: bare sockets are for the event loop.
func takeSocket(net.Conn) (int, error) { return -1, errors.New("there is no event loop here") }

func closeSocket(int) {}
