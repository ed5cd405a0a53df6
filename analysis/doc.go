// Package analysis asks the warehouse named questions and gives typed answers.
//
//	deployment, points, predict*   what a deployment is, and what the bandwidth model predicts for it
//	memory, kvcosts, stepcost      what fits into its memory, and what a step costs
//	mix, mixcurve, whatif*         a workload on a deployment that nobody has rented yet
//	queues                         queueing formulas, and the stages of a run or a trace as queues
//	likeness                       whether two samples of lengths differ enough to matter
//	verdict*, judge_slo, slo       whether a run may be believed, and whether it meets its SLO
//	diagnose                       known symptoms in a run, in metrics or in another tool's results
//	calibrat*                      constants of a deployment, fitted to runs on it
//	sources, checks, export*       what a source is, which checks fail, a run in another tool's format
//
// The rooms below hold what needs no more than they name: answers asks the warehouse, workload reads traces, queueing and regression
// are formulas without I/O that name their sources.
//
// What a quantity means is decided in SQL (staging, marts, macros), once. Formulas that SQL cannot express, because they work
// request by request or need a search, are in queueing and regression, with their sources. The files here ask, combine and check; the two
// places that repeat a macro are StepCost, which holds the step macros at many points so that a simulator needs no database (a test compares
// it with the macros), and quantileOf, which is DuckDB's quantile_cont.
//
// The package refuses to guess: a source, run, GPU, model or format that is not there is an error that names those that are.
package analysis
