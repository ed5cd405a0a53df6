package read

import (
	"math"
	"strconv"
	"strings"

	"tidemark/internal/hint"
)

// Sheet is a row of a CSV with a header, its fields found by name.
type Sheet struct {
	Columns map[string]int
	fields  []string
}

// Text is a field; "" where there is none.
func (s *Sheet) Text(name string) string {
	i, is := s.Columns[name]
	if !is || i >= len(s.fields) {
		return ""
	}
	return s.fields[i]
}

func (s *Sheet) Has(name string) bool { _, is := s.Columns[name]; return is }

// Number is a field; an empty one, N/A and the like are none.
func (s *Sheet) Number(name string) Number { return ParseNumber(s.Text(name)) }

// First is the first of the names that is a column.
func (s *Sheet) First(names ...string) string {
	for _, name := range names {
		if s.Has(name) {
			return name
		}
	}
	return ""
}

// Sheets calls use with each row below the header. A row with more fields than the
// header, or with quotes that do not close, is a reject.
func (d *Document) Sheets(out *Rows, use func(line int64, s *Sheet) (*Reject, error)) error {
	s := &Sheet{}
	return d.Lines(out, func(number int64, line []byte) (*Reject, error) {
		fields, reason := CSVFields(line)
		if s.Columns == nil {
			if reason != "" {
				return nil, hint.Errorf("%s", "its header cannot be read: "+reason).Hint("mend its first line")
			}
			s.Columns = map[string]int{}
			for i, name := range fields {
				s.Columns[strings.TrimSpace(name)] = i
			}
			return nil, nil
		}
		if reason == "" && len(fields) > len(s.Columns) {
			reason = TooManyColumns
		}
		if reason != "" {
			return &Reject{number, "", reason}, nil
		}
		s.fields = fields
		return use(number, s)
	})
}

// ReadCheckedSheet makes a row of every line of a small CSV.
func ReadCheckedSheet(d *Document, out *Rows, rowOf func(CheckedSheet) (Row, *Reject)) error {
	var columns map[string]int
	return d.Lines(out, func(_ int64, line []byte) (*Reject, error) {
		fields, reason := CSVFields(line)
		switch {
		case reason != "":
			return &Reject{Reason: reason}, nil
		case columns == nil:
			columns = map[string]int{}
			for i, name := range fields {
				columns[strings.TrimSpace(name)] = i
			}
			return nil, nil
		case len(fields) > len(columns):
			return &Reject{Reason: TooManyColumns}, nil
		}
		row, problem := rowOf(CheckedSheet{Sheet{columns, fields}, new(Reject)})
		if problem != nil {
			return problem, nil
		}
		return nil, out.Add(row)
	})
}

// CheckedSheet is a line whose first wrong cell is its reject.
type CheckedSheet struct {
	Sheet
	first *Reject
}

func (s CheckedSheet) Word(column string) string {
	text := Word(strings.TrimSpace(s.Text(column)))
	if text == "" {
		s.Wrong(column, Missing)
	}
	return text
}

// Number is at least so much, and not zero.
func (s CheckedSheet) Number(column string, least float64) float64 {
	value := s.Optional(column, least)
	if value == nil {
		s.Wrong(column, Missing)
		return 0
	}
	return *value
}

func (s CheckedSheet) Optional(column string, least float64) *float64 {
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

func (s CheckedSheet) Wrong(column, reason string) {
	if s.first.Reason == "" {
		s.first.Column, s.first.Reason = column, reason
	}
}

func (s CheckedSheet) Problem() *Reject {
	if s.first.Reason == "" {
		return nil
	}
	return s.first
}
