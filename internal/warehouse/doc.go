// Package warehouse is the DuckDB file: it opens it with everything in place.
//
// Open runs the numbered migrations of queries/raw, then makes seeds, macros
// and views anew when the stamp in the file differs from the stamp of the SQL in
// this program, all in one transaction: a file is of one version, whole. The
// views are ordered by scanning their text for the relations that they name.
//
// It refuses a file that is not its own, a second writer (it names the process
// that holds the file), and in ReadOnly any change at all. It knows no format
// and no formula: ingest fills the raw tables, queries holds the SQL.
package warehouse
