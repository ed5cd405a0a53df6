//go:build duckdb_arrow

package published

import "time"

// EveryWarehouseIsLarge makes small ones have a spare snapshot too.
func EveryWarehouseIsLarge() { largeBytes = 0 }

// FetchAgain takes the place of the time that a damaged snapshot is not fetched again.
func (f *Follower) FetchAgain() { f.damaged.until = time.Time{} }
