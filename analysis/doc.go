// Package analysis asks the warehouse named questions and gives typed answers:
// a table, the requests of a trace, the cost of an engine step, a run's verdict by itself and by its SLO, its certificate,
// the checks.
//
// What a quantity means is decided in SQL (staging, marts, macros), once; nothing
// here repeats a formula. StepCost is the one exception that is none: it holds what
// the step macros said at many points, so that a simulator needs no database, and
// a test compares the two.
//
// It refuses to guess: a source, a run, a GPU, a model or a format that is not
// there is an error that names those that are.
package analysis
