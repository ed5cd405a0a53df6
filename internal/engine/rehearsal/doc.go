// Package rehearsal plays a plan in virtual time: the same requests, the same rules of who goes when, and the same engine
// model as the simulated server, without HTTP and without waiting. An hour of traffic takes less than a second.
//
//	play.go      the loop: what is due next, or which engine has something to end
//	content.go   what a request's prompt shares with others, for the prefix caches
//	route.go     which replica a request goes to
//	summary.go   totals and quantiles of what happened
//
// The order of requests is package replay/schedule's, which the load engine follows too; what a step holds is decided by
// internal/engine's scheduler, and how long it lasts by Config.StepTime, which is the bandwidth model's. So there is one
// scheduler and one schedule, and a rehearsal differs from a run against "tidemark simulate" only in what sockets and
// clocks add.
//
// It refuses to guess: without a step time there is no rehearsal. A request that is longer than the model fails, as on a
// server. It writes nothing; replay.Record keeps a rehearsal as the folder of a run.
package rehearsal
