//go:build duckdb_arrow

// Package accuracy asks how right the bandwidth model is: predictions beside public
// measurements that no constant was fitted to, for `make accuracy`.
//
//	points.go   the measurements
//	fit.go      constants held near their kernels' values, fitted to some of them
//	score.go    errors in groups, and the table
//
// The test (build tag accuracy) leaves out one model, one GPU or one fifth of the
// configurations at a time, fits on the rest, predicts what was left out, and fails when
// that has become worse than docs/accuracy.md says. It refuses to fit anything to a single row:
// every constant that it moves has a spread in seeds.constants that holds it.
package accuracy
