//go:build !linux

package replay

import "time"

// hasLoop says that this system has no event loop.
const hasLoop = false

const scanEvery = 50 * time.Millisecond

func newLoop(*dispatcher) driver { return nil }
