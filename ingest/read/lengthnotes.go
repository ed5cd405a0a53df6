package read

import (
	"strconv"

	"tidemark/internal/maybe"
)

// What a reader of histograms of lengths must know: whether both lengths are there,
// and whether some requests have no token at all.

// marginals counts what the cells of a source say about prompts and answers, each
// on its own.
type marginals struct{ prompts, answers marginal }

// marginal is one of the two lengths.
type marginal struct {
	cells           int
	requests, empty float64 // empty: of no token
}

func (m *marginals) count(cell LengthCell) {
	m.prompts.count(cell.InputAbove, cell.InputUpTo, cell.Requests)
	m.answers.count(cell.OutputAbove, cell.OutputUpTo, cell.Requests)
}

func (m *marginal) count(above, upTo *int64, requests float64) {
	if above == nil && upTo == nil {
		return
	}
	m.cells++
	m.requests += requests
	if upTo != nil && *upTo == 0 {
		m.empty += requests
	}
}

// noteShape tells what a plan from these cells cannot have.
func (r *Rows) noteShape() {
	prompts, answers := r.cells.prompts, r.cells.answers
	r.noteEmpty("prompts", prompts)
	r.noteEmpty("answers", answers)
	lacks := ""
	switch {
	case r.Counts["length_cells"] == 0:
		return
	case prompts.cells == 0:
		lacks = "prompts"
	case answers.cells == 0:
		lacks = "answers"
	default:
		return
	}
	r.Note("it says nothing of the lengths of %s: a plan takes both lengths of another source, --lengths-of SOURCE", lacks)
}

func (r *Rows) noteEmpty(of string, m marginal) {
	if m.empty > 0 {
		r.Note("%s %% of its %s have no token: they cannot be sent, and a plan leaves them out", strconv.FormatFloat(100*m.empty/m.requests, 'g', 3, 64), of)
	}
}

// Class is a word by which rows are grouped. What is too long for a word, or a
// sentence, is left out and counted.
func (r *Rows) Class(text string) *string {
	is := maybe.Known(Word(text))
	if is == nil && text != "" {
		r.wordless++
	}
	return is
}

func (r *Rows) noteClasses() {
	if r.wordless > 0 {
		r.Note("%d rows have a class that is not a short word: it may be text, so it was left out", r.wordless)
	}
}
