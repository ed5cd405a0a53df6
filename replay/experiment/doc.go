// Package experiment takes an experiment through its rows: one setting is varied, everything else
// stays the same, and each row is repeated. Every step is recorded, so that an interrupted
// experiment continues where it was.
//
// How its parts fit: file.go reads the author's YAML, log.go keeps the journal of the steps done,
// play.go goes from row to row and applies the stop rule. Replaying and judging a row is the
// caller's work: Play gets functions for it (Callbacks).
//
// It refuses an experiment without a hypothesis, two equal rows, a journal of another file, and
// repeating a row that has ended.
package experiment
