// Package engine models one inference engine of vLLM's kind: which requests share a step, and when each token comes.
//
//	config.go      what the engine has, how long a step takes (StepTime), and the work on which that depends (Step)
//	scheduler.go   what a step holds: token budget, chunked prefill, preemption
//	blocks.go      the paged KV cache and its prefix cache
//	content.go     what the prefix cache knows a sequence by, where only lengths and shared blocks are known
//	tokens.go      the same, where the tokens are known
//	virtualtime.go the scheduler on virtual time: Virtual
//	frontend.go    the API server before it: Frontend, and Server, which is Virtual behind one
//
// Two packages drive it. The subpackage rehearsal plays a plan on Server, and internal/vllmsim runs the Scheduler and the
// Frontend against the clock, behind HTTP.
//
// It knows no network, no clock and no text, and it never guesses a step time.
package engine
