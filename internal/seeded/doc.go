// Package seeded makes up the traffic of a service, weeks of it, from a seed: the same service gives the same bytes
// everywhere. What is drawn has a known truth, the rate of each hour, so that a forecast, a report of a week or a search can
// be compared with it. The demo, back-tests, coverage studies and the soak use it.
//
//	service.go  what a service is, and the truth of each hour
//	write.go    its requests as a trace that "tidemark ingest" reads
//	demo.go     the service of "tidemark demo"
//
// It makes single requests only: no sessions, no shared prefixes. For those there are profiles (replay/profile).
package seeded
