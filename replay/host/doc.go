// Package host watches what the client's own machine does to a measurement, and prepares the process for it.
//
// A load generator that is late, or stands still, writes its own delays down as the server's. So a heartbeat (heartbeat.go)
// finds out how late a goroutine comes to run, a Monitor (certificate.go) follows CPU time, memory, descriptors and clocks
// from sample to sample, and contention.go tells whether other processes had the cores. All of it ends in a Certificate that
// stands in run.json and says whether the run may be believed.
//
// The kernel's side is in files for Linux (state_linux.go, queue_linux.go, sleep_linux.go, files_linux.go); elsewhere figures
// are left out, never guessed.
package host
