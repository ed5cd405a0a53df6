// Package engines says what differs between the servers that are measured: one file and one value of Engine each.
//
// An Engine holds how a server of its kind is recognised, what it is asked before a run (version, settings), what its
// settings and metrics are called, how its prefix cache is emptied, which fields of a request it takes, and what its
// answers lack. The engine that sends asks through these fields and knows no server by name. engine.go has the type and
// the recognition, configuration.go what a server really runs with in words common to all, exposition.go reads /metrics.
//
// The metric names are those of queries/seeds/metric_names.csv, by which SQL reads the same samples after the run: a test
// compares the two lists. To add an engine, write its file, add it to All, and add its rows to that seed.
//
// It refuses to send anything by itself: the caller gives it a way to ask, so that keys, time-outs and scrubbing stay in
// one place.
package engines
