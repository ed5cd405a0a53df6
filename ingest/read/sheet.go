package read

import (
	"math"
	"strconv"
	"strings"

	"tidemark/internal/hint"
)

// Sheet is one row of a CSV with a header, its cells found by the names of their
// columns. It serves two kinds of readers:
//
//   - Results of other tools are read as far as they go: Text and Number give nothing
//     where a cell is missing, and that is no problem.
//   - Of a trace or a table of hardware every row must be complete: Word, Whole,
//     Tokens, Nanos and their like note the first cell that is wrong, and Problem is
//     then the row's reject. A reader fills its row first and asks for the problem once.
type Sheet struct {
	names   []string       // as the header writes them
	columns map[string]int // by name, as written
	folded  map[string]int // by name in lower case
	fields  []string       // of this row; rows at the end of a file may be shorter
	problem *Reject
}

// Sheets calls use with each row below the header. A row with more fields than the
// header, or with quotes that do not close, is a reject, as is what use returns.
func (d *Document) Sheets(out *Rows, use func(line int64, s *Sheet) (*Reject, error)) error {
	s := &Sheet{}
	return d.Lines(out, func(number int64, line []byte) (*Reject, error) {
		fields, reason := CSVFields(line)
		if s.columns == nil {
			if reason != "" {
				return nil, hint.Errorf("%s", "its header cannot be read: "+reason).Hint("mend its first line")
			}
			s.header(fields)
			return nil, nil
		}
		if reason == "" && len(fields) > len(s.names) {
			reason = TooManyColumns
		}
		if reason != "" {
			return &Reject{number, "", reason}, nil
		}
		s.fields, s.problem = fields, nil
		return use(number, s)
	})
}

// header takes the names of the columns. Of two with one name the first counts.
func (s *Sheet) header(names []string) {
	s.names, s.columns, s.folded = names, map[string]int{}, map[string]int{}
	for i := len(names) - 1; i >= 0; i-- {
		s.columns[names[i]], s.folded[strings.ToLower(names[i])] = i, i
	}
}

// Names are the columns, in the order of the header.
func (s *Sheet) Names() []string { return s.names }

// Has says whether there is a column of that name, as it is written.
func (s *Sheet) Has(name string) bool { _, is := s.columns[name]; return is }

// First is the first of the names that is a column; "" where none is.
func (s *Sheet) First(names ...string) string {
	for _, name := range names {
		if s.Has(name) {
			return name
		}
	}
	return ""
}

// IsBlank says that no cell of the row holds anything.
func (s *Sheet) IsBlank() bool { return strings.Join(s.fields, "") == "" }

// Text is a cell; "" where there is none. Capitals do not matter, unless two columns
// differ in nothing else.
func (s *Sheet) Text(name string) string {
	i, is := s.columns[name]
	if name == "" { // pandas leaves its index without a name
		return ""
	}
	if !is {
		i, is = s.folded[strings.ToLower(name)]
	}
	if !is || i >= len(s.fields) {
		return ""
	}
	return s.fields[i]
}

// Number is a cell that may hold a number; an empty one, N/A and the like hold none.
func (s *Sheet) Number(name string) Number { return ParseNumber(s.Text(name)) }

// Wrong notes what is wrong with a cell. The first such note of a row counts.
func (s *Sheet) Wrong(column, reason string) {
	if s.problem == nil && reason != "" {
		s.problem = &Reject{Column: column, Reason: reason}
	}
}

// Problem is the row's reject; nil where no cell was wrong.
func (s *Sheet) Problem() *Reject { return s.problem }

// Word is a cell that must hold a short word.
func (s *Sheet) Word(column string) string {
	text := Word(strings.TrimSpace(s.Text(column)))
	if text == "" {
		s.Wrong(column, Missing)
	}
	return text
}

// Tokens is a cell that must hold a number of tokens.
func (s *Sheet) Tokens(column string) int64 {
	var value int64
	s.note(WholeTokens(column, s.Text(column), &value))
	return value
}

// Nanos is a cell that must hold seconds; it is given in nanoseconds, exactly.
func (s *Sheet) Nanos(column string) int64 {
	var ns int64
	s.note(NanosOf(column, s.Text(column), 9, &ns))
	return ns
}

func (s *Sheet) note(problem *Reject) {
	if problem != nil {
		s.Wrong(problem.Column, problem.Reason)
	}
}

// largestCount is beyond any size, batch or context that anything is measured at.
const largestCount = 1 << 40

// Whole is a cell that must hold a number of things; none of them is a number, too.
// Tables that pandas wrote hold 12.0 where they mean 12.
func (s *Sheet) Whole(column string) int64 {
	text := s.Text(column)
	number, err := strconv.ParseInt(strings.TrimSuffix(text, ".0"), 10, 64)
	switch {
	case text == "":
		s.Wrong(column, Missing)
	case err != nil:
		s.Wrong(column, NotAnInteger)
	case number < 0:
		s.Wrong(column, Negative)
	case number > largestCount:
		s.Wrong(column, TooLarge)
	}
	return number
}

// Quantity is a cell that must hold a number above zero, and of at least so much: a
// smaller one shows that the column is in another unit.
func (s *Sheet) Quantity(column string, least float64) float64 {
	value := s.OptionalQuantity(column, least)
	if value == nil {
		s.Wrong(column, Missing)
		return 0
	}
	return *value
}

// OptionalQuantity is Quantity where the cell may be empty.
func (s *Sheet) OptionalQuantity(column string, least float64) *float64 {
	text := strings.TrimSpace(s.Text(column))
	if text == "" {
		return nil
	}
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(value) || math.IsInf(value, 0):
		s.Wrong(column, NotANumber)
	case value <= 0:
		s.Wrong(column, NotPositive)
	case value < least:
		s.Wrong(column, NotInBaseUnits)
	}
	return &value
}

// OptionalTokens is a number of tokens; nil where the cell is empty.
func (s *Sheet) OptionalTokens(column string) *int64 {
	if s.Text(column) == "" {
		return nil
	}
	return new(s.Tokens(column))
}

// OptionalNumber is a finite number that is not below zero; nil where the cell is
// empty.
func (s *Sheet) OptionalNumber(column string) *float64 {
	text := s.Text(column)
	if text == "" {
		return nil
	}
	value, reason := PlainNumber(text)
	s.Wrong(column, reason)
	return &value
}
