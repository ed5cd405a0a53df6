// Package capacity finds the largest multiple of a recorded window of traffic that a server takes within its objectives, with a 90 %
// interval, in few minutes of load. docs/capacity.md has the method, its formulas and how often its intervals are right.
//
//	question.go   what is asked, and the twin: an engine model of the server
//	server.go     what a server must do for a search: send the requests of a Probe and say what became of them
//	run.go        a run as it is kept, and the events from which a killed search goes on
//	values.go     what an objective reads off a run: values, misses, quantiles of the tail
//	plans.go      the requests at a multiple, and the places of the window that a run can send
//	twin.go       the twin plays a run's own arrivals; its speed is shifted until it agrees with what was measured
//	curve.go      the share of misses of the twin over the whole window, and the multiple at which it is the allowed one
//	estimate.go   runs pooled to a limit with its interval, and whether the twin fits
//	structure.go  settings that the server does not tell, tried as candidates
//	search.go     the search: which run comes next, and when it ends
//	conclude.go   the end: the confirming run, the answer, and what a reader must know of the runs
//	answer.go     the form of an answer
//	fallback.go   the weak way, without a twin
//	rehearse.go   no server: the twin alone
//	limits.go    the twin's limits alone, at several speeds, for many windows
//	rehearsed.go  a rehearsed server, for tests and studies
//
// A search keeps no files. It hands every run to a log function as an Event, and takes the events of a search that was killed.
//
// The package refuses intervals that take requests of one run for independent: near the limit they are far too narrow. It knows no
// database, no HTTP and no clock; whoever implements Server does.
package capacity
