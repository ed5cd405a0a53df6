// Package read is the toolkit of the format readers: it opens files, cuts them into
// lines, walks JSON, reads numbers and times exactly, and hands rows over to the
// warehouse. It knows no format, and it does not link DuckDB: the warehouse is
// behind the interface Sink.
//
// A reader gets a Document and puts what it finds into Rows:
//
//	open.go                       a file or stdin; gzip and zstd undone; fingerprints
//	blocks.go parallel.go         lines in blocks, many workers, batches in the order of the file
//	document.go sheet.go csv.go   lines, or rows of a CSV by the names of their columns
//	jsonstream.go jsonarray.go tree.go   JSON of any length, arrays by element, small reports by path
//	promtext.go                   samples of Prometheus text and their labels
//	head.go format.go             what a file is recognised by, and what a format says of itself
//	number.go times.go values.go words.go settings.go   values, units, instants, names
//	rows.go table.go columns.go   rows of any raw table, in Arrow batches
//	arrivals.go rates.go lengthnotes.go  the rows that several wings make
//	rejects.go counts.go implausible.go  what was not taken in, and why
//
// Three rules hold for all readers. Rows read = kept + rejected, always. A reject
// says line, column and reason, never the text, and no error quotes the file's
// content. Memory is bounded whatever the file holds: every buffer, depth, count
// and remembered name has a limit, so that a hostile file fails with a message and
// not with the machine.
package read
