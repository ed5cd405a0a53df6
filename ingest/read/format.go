package read

import (
	"errors"
)

// Format is one way to write a trace. A new one is a file that registers it.
type Format struct {
	Name string
	// Sees says what in the head of a file makes it this format, or "".
	Sees func(h *Head) string
	// A format of lines that are requests each is read by many workers: open reads
	// what must be known before the first row, and returns the block without what
	// comes before the rows.
	Open func(first Block) (*Arrivals, Block, error)
	// Every other format is read from its begin to its end: read puts what it finds
	// into out.
	Read func(d *Document, out *Rows) error
	// Wants is the least that such a file has, for people.
	Wants string
	// IsGuess puts a format behind those that are sure of what they see.
	IsGuess bool
	// TakesColumns is set for tables whose columns the user may say: then, all other
	// formats are out of question.
	TakesColumns bool
	// Kind of the sources that come of it: arrivals, lengths, metrics, kernels, kernel
	// rules, kernel times, results.
	Kind string
}

// Arrivals is a file that was recognised: how its rows are read, and what holds for
// all of them.
type Arrivals struct {
	Parser  Parser
	Columns string // of raw.arrivals that the parser fills, in its order
	About   About
	Notes   func(Counts) []string // what a reader of the numbers must know, once all rows are read
}

// ErrUnknownFormat marks what a folder's walk passes over.
var ErrUnknownFormat = errors.New("no format that is known")
