//go:build !duckdb_arrow

package warehouse

// The driver's Arrow interface is behind a build tag. Without it nothing of
// ours that touches DuckDB can work, and the compiler says so here, once.
var _ = this_build_needs_go_build_tags_duckdb_arrow___try_make_build
