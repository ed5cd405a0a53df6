package read

import (
	"slices"
	"strings"
)

// CSVTable reads lines of CSV by the names in the first one, in any case.
type CSVTable struct {
	Columns map[string]int // by name, as written and in lower case
	width   int
	fields  []string
}

// Take reads one line. isHeader says that it was the first one.
func (t *CSVTable) Take(line []byte) (isHeader bool, problem *Reject) {
	fields, reason := CSVFields(line)
	if t.Columns == nil {
		t.Columns, t.width = map[string]int{}, len(fields)
		for i, name := range slices.Backward(fields) { // of two with one name the first counts
			t.Columns[name], t.Columns[strings.ToLower(name)] = i, i
		}
		return true, nil
	}
	if t.fields = fields; reason != "" {
		return false, &Reject{Reason: reason}
	}
	if len(fields) > t.width {
		return false, &Reject{Reason: TooManyColumns}
	}
	return false, nil
}

// Text is a cell; "" where there is none.
func (t *CSVTable) Text(column string) string {
	i, ok := t.Columns[column]
	if !ok {
		i, ok = t.Columns[strings.ToLower(column)]
	}
	if !ok || i >= len(t.fields) {
		return ""
	}
	return t.fields[i]
}

// Tokens is a cell that must hold a number of tokens.
func (t *CSVTable) Tokens(column string, into *int64) *Reject {
	return WholeTokens(column, t.Text(column), into)
}

// Nanos is a cell that must hold seconds.
func (t *CSVTable) Nanos(column string, into *int64) *Reject {
	return NanosOf(column, t.Text(column), 9, into)
}
