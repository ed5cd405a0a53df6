// Package serve is the server of "tidemark serve": SQL over HTTP on the published snapshot, for notebooks and for a
// page in the browser.
//
//	server.go    settings, routes, time-outs
//	tokens.go    who may ask
//	request.go   what is asked, and in which form the answer is wanted
//	query.go     one query from its place in the queue to the end of its answer
//	problem.go   what a client is told instead of an answer
//	answer.go    the answer's bytes; how one that is cut is made unreadable
//	queue.go     how many queries run, and whose turn it is
//	pool.go      processes that wait for a query (package worker is what happens inside of one)
//	snapshot.go  the file that is served, and its replacement by a newer one
//	schema.go    what there is to ask
//	page.go      the page, with page.html
//	home.go      what there is to read: reports, services, runs, answers
//	plot.go      an answer as a plot (package plot makes it), and the script that draws it
//	metrics.go   counters for Prometheus
//
// Each query runs in a process of its own, which holds the file that was the newest when it started. The server itself
// never opens DuckDB, so a query can end its own process at worst.
//
// It refuses to change anything, to listen beyond this machine without token and TLS, and to pass off a part of an answer
// as the whole.
package serve
