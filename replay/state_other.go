//go:build !linux

package replay

import "runtime"

// readKernel has nothing to read here; the figures are left out.
func (s *processState) readKernel() {}

func fileLimit() float64 { return 0 }

func usableCores() float64 { return float64(runtime.GOMAXPROCS(0)) }

func newBeat() (sleep Sleep, release func()) { return timerSleep, func() {} }
