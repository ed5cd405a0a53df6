package read

import (
	"cmp"
	"errors"
)

// Format is one way to write a file. A wing declares one as a variable, and
// ingest/formats.go lists it. Exactly one of Open and Read is set.
type Format struct {
	// Name is what --format takes and raw.sources keeps.
	Name string
	// Sees says what in the head of a file makes it this format, or "". The answer
	// is shown to the user; it may quote names of columns, never values.
	Sees func(h *Head) string
	// Open is for lines that are one request each, read by many workers: it reads
	// what must be known before the first row, and returns the block without what
	// comes before the rows. The unit of stamps is what the user says, or empty.
	Open func(first Block, unit string) (*Arrivals, Block, error)
	// Read is for every other format: it reads the file from start to end and puts
	// what it finds into out.
	Read func(d *Document, out *Rows) error
	// Grows is set where a file of this format is the state of something that goes on: it names that thing, by the
	// head of the file. The same thing taken in again replaces its earlier state.
	Grows func(head []byte) string
	// Wants is the least that such a file has, for people.
	Wants string
	// IsGuess is set where other files may have the same marks: such formats are
	// asked last.
	IsGuess bool
	// TakesColumns is set for tables whose columns the user may name. Where the
	// user does, no other format is asked.
	TakesColumns bool
	// TakesUnit is set where the unit of stamps is told by their size, and the user may say it.
	TakesUnit bool
	// Kind of the sources that come of it: arrivals, lengths, metrics, kernels,
	// kernel rules, kernel times, model, gpus, prices, results, capacity. The list in
	// ingest/formats.go says it for all formats of a kind. About.Kind overrides it for
	// one file.
	Kind string
}

// ReadInto is Read with the first error of what it put into out, which a reader need not
// look at itself.
func (f Format) ReadInto(d *Document, out *Rows) error {
	err := f.Read(d, out)
	return cmp.Or(out.failed, err)
}

// Arrivals is a file that was opened: how its rows are read, and what holds for all
// of them.
type Arrivals struct {
	Parser  Parser
	Columns string // of raw.arrivals that the parser fills, in its order
	About   About
	Notes   func(Counts) []string // what a reader of the numbers must know, once all rows are read
}

// ErrUnknownFormat marks files that are passed over where they are found in a folder.
var ErrUnknownFormat = errors.New("no known format")
