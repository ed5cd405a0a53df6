// Package server is the life of one server process that a user's command starts: start, ready, settings read back, stop.
//
//	start.go     the command, the port before it, the process in a group of its own, and when it is ready
//	process.go   who a process is, and how its group ends
//	memory.go    the GPUs' memory, before a start and after a stop
//	log.go       what a failed start says in its log
//	settings.go  what the server runs with, against what it was asked
//
// A start that ends, runs out of memory or never gets ready is a result (Failure), since it is what was measured of these settings. An error
// is what makes every further start senseless: an old server on the port, a port that stays taken.
//
// It refuses to take a server for the one that it started unless that process lives: an answer on the port alone proves nothing.
package server
