// Package fleet says what one replica handles of the shape of each hour of a week, and how many replicas each hour needs.
//
//	shape.go    how requests of an hour look and how unevenly they come; which hours are alike
//	server.go   one replica of a deployment by the bandwidth model, and what it takes of a shape, by rehearsal
//	search.go   the search for capacity that a week rests on, out of the warehouse
//	basis.go    what the answer rests on, in figures and in one sentence
//	needs.go    all hours of a week: rehearsed on every processor, corrected, counted in whole replicas
//	nines.go      replicas at the peak for one more nine of requests within the SLO
//
// A caller makes a Server of a deployment and an SLO (ServerOf), looks for a search (Choose), takes a sample of each hour (Sample, Drawn) and asks
// Needs. docs/headroom.md has the method and how often its intervals are right.
//
// The package refuses closed queue formulas, and a number for an hour without data. It is told of an hour's requests and rates and reads none of
// them itself; only the window of a search is read from the warehouse.
package fleet
