package ingest

import (
	"strings"

	"tidemark/internal/hint"
)

// sheet is a row of a CSV with a header, its fields found by name.
type sheet struct {
	columns map[string]int
	fields  []string
}

// text is a field; "" where there is none.
func (s *sheet) text(name string) string {
	i, is := s.columns[name]
	if !is || i >= len(s.fields) {
		return ""
	}
	return s.fields[i]
}

func (s *sheet) has(name string) bool { _, is := s.columns[name]; return is }

// number is a field; an empty one, N/A and the like are none.
func (s *sheet) number(name string) measure { return measureOf(s.text(name)) }

// first is the first of the names that is a column.
func (s *sheet) first(names ...string) string {
	for _, name := range names {
		if s.has(name) {
			return name
		}
	}
	return ""
}

// sheets calls use with each row below the header. A row with more fields than the
// header, or with quotes that do not close, is a reject.
func (d *document) sheets(out *rows, use func(line int64, s *sheet) (*reject, error)) error {
	s := &sheet{}
	return d.lines(out, func(number int64, line []byte) (*reject, error) {
		fields, reason := csvFields(line)
		if s.columns == nil {
			if reason != "" {
				return nil, hint.Errorf("%s", "its header cannot be read: "+reason).Hint("mend its first line")
			}
			s.columns = map[string]int{}
			for i, name := range fields {
				s.columns[strings.TrimSpace(name)] = i
			}
			return nil, nil
		}
		if reason == "" && len(fields) > len(s.columns) {
			reason = tooManyColumns
		}
		if reason != "" {
			return &reject{number, "", reason}, nil
		}
		s.fields = fields
		return use(number, s)
	})
}
