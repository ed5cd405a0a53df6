// Package worker is the process in which one query of a notebook runs, and the protocol by which the server speaks to it.
//
// A query that somebody else wrote can crash DuckDB or ask for more memory than its settings allow. So the server
// starts this program again for each query: Child turns the process into a worker, which opens the snapshot, says that
// it is ready, waits for one errand on stdin, writes the answer to stdout in frames, and ends. The server can kill it at
// any moment.
//
//	protocol.go  what the two say to each other
//	child.go     the life of the process
//	confine.go   what it may not do: files, network, memory, settings
//	query.go     one statement that reads, its parameters, its batches of rows
//	answer.go    rows as Arrow, CSV or JSON; limits
//	parquet.go   rows as Parquet, written by DuckDB
//	values.go    an Arrow value as one that tables prints
//
// It refuses every statement but one that only reads. It knows nothing of HTTP, tokens or other queries.
package worker
