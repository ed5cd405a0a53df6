// Package fleet says what replicas that serve together handle of the shape of each hour of a week, and how many of them each hour needs.
//
//	shape.go    how requests of an hour look and how unevenly they come; which hours are alike
//	server.go   a deployment by the bandwidth model, and what a fleet of it takes of a shape, by rehearsal
//	together.go   what one replica takes in fleets of other sizes
//	calibrate.go  the server as a search for capacity has measured it
//	search.go   the search for capacity that a week rests on, out of the warehouse
//	basis.go    what the answer rests on, in figures and in one sentence
//	needs.go    all hours of a week and of the one before: rehearsed, counted in whole replicas, now and with another load
//	rehearser.go  rehearsals on every processor, each made once
//	nines.go      replicas at the peak for one more nine of requests within the SLO
//
// A caller makes a Server of a deployment and an SLO (ServerOf), says how many of it serve together, looks for a search (Choose), takes a sample of each hour (Sample, Drawn) and asks
// Needs. docs/headroom.md has the method and how often its intervals are right.
//
// The package refuses closed queue formulas, and a number for an hour without data. It is told of an hour's requests and rates and reads none of
// them itself; only the window of a search is read from the warehouse.
package fleet
