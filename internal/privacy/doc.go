// Package privacy makes of a trace what may leave the cluster, and proves of a
// trace that it may.
//
//	trace.go     the requests of a source, held in memory (some 100 bytes each and 8 a prefix block)
//	rules.go     the rules, one function each, for a trace that was read from anywhere
//	export.go    the steps of an export, in their order: users, words, lengths, times, ids
//	cells.go     histograms without small cells
//	noise.go     the noise that covers what one user adds
//	loss.go      what an export costs: distances and quantiles before and after
//	file.go      reads an exported file as a stranger would: by its bytes alone
//	columns.go   which text columns a warehouse may have, and what may stand in them
//	purge.go     a warehouse written anew without some of its sources
//
// What is drawn - pseudonyms, the shift of the clock, the place inside a second,
// noise - is drawn from a key that is never stored: with the key it comes out the
// same, without it nothing can be traced back. A seed alone would be in the
// manifest, and with it the secret.
//
// It keeps what a replay needs (how many requests a minute, their lengths, what
// they share), and so it hides nothing of that: who knows the cluster's own
// counts can recognise its load. It refuses what it cannot hold: a trace of fewer
// rows than k, a cap that no user could meet.
package privacy
