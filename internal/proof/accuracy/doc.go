//go:build duckdb_arrow

// Package accuracy measures how accurate the bandwidth model is: it compares predictions with
// public measurements that no constant was fitted to, for `make accuracy`.
//
//	points.go     the measurements
//	fit.go        constants held near their kernels' values, fitted to some of the measurements
//	leaveout.go   cross-validation: fit to all but one part, predict that part
//	baselines.go  what simpler methods would predict
//	score.go      errors in groups, and the tables
//	knees.go      loads that others sent to a server until it was full, as plans for a rehearsal
//
// The test (build tag accuracy) leaves out one model, one GPU or one fifth of the configurations at
// a time, fits on the rest, predicts what was left out, and fails when that is worse than
// docs/accuracy.md says. intervals_test.go asks how often the interval of an SLO holds the truth,
// on runs in virtual time. knees_test.go (build tag knees) rehearses the loads of knees.go and fails when
// their capacity is not as far from the measured one as docs/capacity-knees.md says.
//
// It refuses to fit anything to a single row: every constant that it moves has a spread in
// seeds.constants that holds it back.
package accuracy
