//go:build !linux

package host

// GrowFileTable has nothing to do here.
func GrowFileTable() {}
