// Package week answers the question of a Monday: does the traffic of this service fit the GPUs that are paid for, and when will it not?
//
//	report.go    everything that the page of a week shows, as one document that the warehouse keeps
//	verdict.go   how many replicas the service should have, which stands from week to week, and what changed since the last
//	steps.go     time per token in production beside its prediction; drift.go: is the hardware slower or the traffic heavier
//	changed.go   did the system change or the workload, and on which day
//	symptoms.go  the rules of a diagnosis (rules.go) applied to hours
//	paid.go      what was paid, and what other ways to run the week would have cost
//	alternatives.go, do.go  other deployments, and the one recommendation
//	compare.go   this week against the last one, over the hours that both cover
//	forecast/    the weekly peaks to come, with a band from the errors of the past
//	fleet/       what a fleet handles of the shape of each hour, by rehearsal, with a server as fast as it was measured
//
// It refuses to fill holes: an hour without data is missing and not zero.
package week
