//go:build race

package replay

// isRace says that the race detector is on, which makes everything ten times slower.
const isRace = true
