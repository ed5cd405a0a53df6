//go:build soak

package privacy

const dictionaryEntries = 1_000_000
