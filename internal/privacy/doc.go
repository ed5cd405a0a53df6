// Package privacy turns a trace into one that may leave the cluster, and checks
// for any trace or file whether it may.
//
//	trace.go       the requests of a source, in memory (about 100 bytes each, and 8 per prefix block)
//	rules.go       the eight rules, one function each, for a trace that was read from anywhere
//	export.go      the steps of an export in their order: users, names, lengths, times, ids
//	users.go       who a request belongs to, the cap on one user, rare names
//	rungs.go, lengths.go   lengths rounded down and cut at the top
//	clock.go, thinktimes.go   times moved inside their tick, and think times averaged
//	cells.go       histograms without small cells
//	differences.go what a reader could subtract from two tables to get a small cell
//	noise.go       noise that hides one user's share of the counts
//	loss.go, published.go   what an export costs, exactly and as the manifest may say it
//	file.go        reads an exported file as a stranger would: by its bytes alone
//	columns.go, values.go, classnames.go   which text columns a warehouse may have, and what may stand in them
//	check.go, manifest.go, key.go   checking a source, the manifest of an export, the key
//	purge.go       rewrites a warehouse without some of its sources
//
// The threat: someone holds the export and knows a few facts about one user,
// such as that they sent a prompt of 51,234 tokens at 14:03. An export must not
// confirm this or add to it. So exact lengths and times, original ids, free
// text, rare classes and users with a large share of the traffic do not leave.
//
// Everything random (pseudonyms, the shift of the clock, the place inside a
// tick, noise) is derived from a key that is shown once and never stored. With
// the key an export can be reproduced; without it nothing can be traced back. A
// seed would not be enough: it stands in the manifest, and the secret would
// stand there with it.
//
// An export keeps what a replay needs: how many requests came per minute, their
// lengths, what they share. It does not hide the load itself. Whoever knows the
// cluster's own counts can recognise them. A trace with times is never
// k-anonymous, and the checks say so; a histogram can be.
//
// It refuses what it cannot protect: a trace of fewer requests than k, and a
// cap that no user could stay under.
package privacy
