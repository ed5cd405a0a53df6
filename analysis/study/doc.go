// Package study takes a study through its steps: each has a hypothesis that the largest rates or the tails of its configurations decide,
// against a configuration that was measured before.
//
//	file.go       the file that a user writes, and the built-in ones
//	measure.go    what one repeat of one configuration says: from a rehearsal, an experiment, or results of other tools
//	row.go        a configuration over its repeats: the interval of its largest rate, and what differs from the baseline
//	verdict.go    held, not held, not shown; what follows; the headline
//	log.go        the journal of what was rehearsed
//	imported.go   results of other tools, from a warehouse
//	each.go       one configuration in the file that stands for all settings of a search
//	keep.go       the finished study in a warehouse
//	compare.go    two studies: which answers changed
//
// It sends nothing and rehearses nothing itself: the caller measures. It refuses a study without a hypothesis or a control in a step, two
// configurations of one name, and a comparison with what is not measured before.
package study
