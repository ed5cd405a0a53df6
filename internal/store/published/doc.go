// Package published writes the copy of the warehouse that everybody reads, so that
// no reader ever waits for a writer, and no writer for a reader.
//
// The folder is <warehouse without .duckdb>.published, or another that the user
// names. In it:
//
//	latest.duckdb    the whole warehouse as it was after the last change; replaced by rename
//	spare.duckdb     of a large warehouse: the snapshot before that, which is brought up to date next
//	lake/<schema>.<relation>/run_date=2026-11-22/run=R/part.parquet
//	lake/<schema>.<relation>/source=7/part.parquet
//	lake/<schema>.<relation>/service_name=S/iso_week=2026-W47/part.parquet
//	manifest.json    of which state all that is, and the rows and the hash of every part
//
// A writer publishes before it closes the warehouse, while it alone has it
// (publish.go). A small warehouse is copied as a file. A large one has two
// snapshots in turn: the spare one gets the rows that it lacks, unless somebody
// still reads it, and then changes its name with the other (snapshot.go). The lake
// gets the parts that are new and loses those that are gone (lake.go). Each file
// is written under another name, synced, and renamed, so that a reader sees the old
// one or the new one, and an error leaves the old one.
//
// A warehouse remembers in <warehouse>.places every other folder in which it was
// published (places.go), so that a purge finds them all. Withdraw empties them before
// the purged file takes the warehouse's place. What is missing or damaged is made anew
// (damage.go).
//
// A reader asks Fresh whether the snapshot is of the warehouse's present state.
//
// It refuses to publish into a folder that holds anything else. It knows which
// relations there are only from the headers in queries: what is "Kept per run." (or "with steps." and the like),
// "Published per run.", "Published per source." or "Published per week of a service."
// is in the lake.
package published
