// Package decide judges runs by a metric contract and keeps what was decided.
//
//	contract.go   contract.yaml: objectives, traffic and cost that a configuration must keep
//	judge.go      one run: figures from its marts, facts, the path through seeds.decision_tree
//	decision.go   which runs are accepted and which rejected; written into raw.decisions
//	markdown.go   the record as people read it
//
// A figure is asked from the marts, in a copy of the run that carries the contract's SLO. The tree is data: this package gathers the facts
// that it asks for, and macros.decision_path walks it.
//
// It refuses to decide where the path stops without an answer (an invalid run, a draft, too few requests), unless the user decides
// even so. It never changes or removes a decision.
package decide
