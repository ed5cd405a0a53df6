// Package take holds the verbs that take traces, metrics and results into the warehouse, and that look at what may leave it. It refuses to compute: ingest and internal/privacy do.
package take
