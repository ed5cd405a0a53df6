// Package experiment takes an experiment through its rows: one setting is varied, everything else stands still, each row
// is repeated, and what has been done is written down so that an interrupted experiment goes on where it was.
//
// How its parts fit: file.go reads the author's YAML, log.go keeps the journal of what was done, play.go goes from row to
// row and knows when to stop. How a row is replayed and judged is the caller's: Play is given a function for it.
//
// It refuses: an experiment without a hypothesis, rows that differ in nothing, a journal that belongs to another file,
// and to do a row twice that has ended.
package experiment
