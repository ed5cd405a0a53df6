//go:build !soak

package privacy

const dictionaryEntries = 100_000
