// Package send holds the verbs that plan traffic, send it from here or from many pods, rehearse it in virtual time, search for the
// capacity of a server and simulate one. It refuses to measure: replay, analysis/capacity and internal/engine do.
package send
