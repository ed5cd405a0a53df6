//go:build !duckdb_arrow

package warehouse

// The driver's Arrow interface is behind a build tag. Without the tag nothing
// here that uses DuckDB can work, and the compiler says so in this one place,
// by a name that tells what to do.
var _ = this_build_needs_go_build_tags_duckdb_arrow___try_make_build
