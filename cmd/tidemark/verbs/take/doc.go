// Package take holds the verbs that take traces, metrics and results into the warehouse, that look at what may leave it, and that
// remove what must go. It refuses to compute: ingest and internal/privacy do.
package take
