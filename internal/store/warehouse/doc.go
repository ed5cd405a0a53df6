// Package warehouse is the DuckDB file: it opens one with everything in place.
//
// Migrations and views. Open runs the numbered migrations of queries/raw that
// the file has not seen (migrate.go). When the stamp in the file differs from
// the stamp of the SQL in this program, it then drops seeds, macros and views
// and makes them anew (build.go, seeds.go, views.go). All of this is one
// transaction, so a file is of one version, completely. Views are ordered by
// scanning their text for the relations that they name. Raw tables hold the
// users' data and change by migration only; everything else can be made again
// at any time.
//
// Kept tables. A view whose header says "Kept per run." is made as a table. Refresh
// fills it with the rows of the runs that are new, each from parents that are
// tables, within the transaction that takes the run in (keep.go, narrow.go). The
// .sql file stays the definition. Those "Kept per run with steps.", "with objectives." (of an SLO)
// and "with others." (on its server) are left out of a pass whose runs have none. What several of them read and nobody else asks
// ("Held while runs are computed.") is a temporary table in the meantime.
//
// What is known of GPUs and kernels. The selects of queries/warehouse are tables, too: what
// macros make of seeds and of GPUs and kernel times that were taken in. Refresh works them
// out again when one of these was taken in or forgotten (known.go).
//
// The packed warehouse. make packs an empty warehouse into the program
// (makeempty, template.go): a new file begins as a copy of it, and Catalogue opens
// it in memory.
//
// Modes. ReadWrite makes the file if there is none, Update wants it to exist,
// and both bring it up to date. ReadOnly changes nothing and refuses a file
// whose views are of another version, because only a writer may change them.
//
// Locks. DuckDB allows one process that writes, or several that read, and holds
// the lock as long as the file is open. Open names the process that holds it,
// and marks the error with ErrHeld so that a caller can wait. BlockWriters is a
// lock of our own for the moment in which a file is replaced.
//
// Asking. Each calls back for every row of an answer, and Values is an answer of one column (each.go).
//
// Streaming. The driver materialises a result before it hands out the first
// row. Stream uses DuckDB's streaming call instead, for results of any size
// (stream.go). Arrow and Tx.Stream move record batches in and out without
// rows.Scan, which is ten times slower (arrow.go).
//
// It refuses a file that is not its own, a second writer, and in ReadOnly any
// change. It knows no format and no formula: ingest fills the raw tables,
// queries holds the SQL.
package warehouse
