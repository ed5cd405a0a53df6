//go:build duckdb_arrow

package published

// EveryWarehouseIsLarge makes small ones have a spare snapshot too.
func EveryWarehouseIsLarge() { largeBytes = 0 }
