//go:build duckdb_arrow

package published

import (
	"testing"
	"time"
)

// EveryWarehouseIsLarge makes small ones have a spare snapshot too.
func EveryWarehouseIsLarge() { largeBytes = 0 }

// FetchAgain takes the place of the time that a damaged snapshot is not fetched again.
func (f *Follower) FetchAgain() { f.damaged.until = time.Time{} }

// PartBytes is the memory that DuckDB has for a part.
func PartBytes() int { return partBytes }

// SetPartBytes gives it other memory until the test ends.
func SetPartBytes(t *testing.T, bytes int) {
	before := partBytes
	partBytes = bytes
	t.Cleanup(func() { partBytes = before })
}
