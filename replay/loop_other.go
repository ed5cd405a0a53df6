//go:build !linux

package replay

import (
	"errors"
	"net"
	"time"
)

// hasLoop says that this system has no event loop.
const hasLoop = false

const scanEvery = 50 * time.Millisecond

func newLoop(*dispatcher) driver { return nil }

func takeSocket(net.Conn) (int, error) { return -1, errors.New("there is no event loop here") }

func closeSocket(int) {}
