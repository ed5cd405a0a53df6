// Package workload reads from the warehouse what users sent: the requests of a trace, one after the other, or requests sampled from the
// histograms and rates of a source that has no single requests.
//
//	Arrivals      the requests of a trace or of a collection of traces, in order, for a plan of any size
//	Sample        requests drawn from histograms of lengths and rates per time window
//	Lengths       pairs of prompt and answer lengths and the gaps between arrivals, for fitting a profile
//	LengthsOfRun  the same of what a run really sent
//
// A Window cuts a part out of a trace by its own clock. trace.go puts the traces of a collection on one clock; histograms.go and
// histograms_read.go handle sources without single requests.
//
// It refuses to invent: a collection without a clock wants a session rate, a histogram without a rate wants a request rate, and the plan
// says that these were given.
package workload
