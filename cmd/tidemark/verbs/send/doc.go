// Package send holds the verbs that plan traffic, send it, rehearse it in virtual time and search for the capacity of a server. It refuses to measure: replay, analysis/capacity and internal/engine do.
package send
