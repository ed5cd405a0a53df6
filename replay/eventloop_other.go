//go:build !linux

package replay

import "time"

// hasEventLoop says that this system has no event loop.
const hasEventLoop = false

const scanEvery = 50 * time.Millisecond

func newEventLoop(*dispatcher) driver { return nil }
