package read

import (
	"bytes"
)

// Fields of CSV lines as RFC 4180 has them, except for one thing: a field ends on
// the line that it begins on. Lines are what files are cut at to be read in
// parallel, so a quoted field with a line break in it is a reject on each of the
// lines that its quotes stand on.

// FieldAt reads the field that starts at an index of the line: what is between its quotes, of which a doubled one is one, or else between
// the separators. next is where the field after it starts; beyond the length of the line there is no other.
func FieldAt(line []byte, at int, separator byte) (field []byte, next int, reason string) {
	text := line[at:]
	white := " \t"
	if separator == '\t' {
		white = " "
	}
	blanks := len(text) - len(bytes.TrimLeft(text, white))
	if blanks == len(text) || text[blanks] != '"' {
		field, _, _ = bytes.Cut(text, []byte{separator})
		if bytes.IndexByte(field, '"') >= 0 {
			return nil, 0, StrayQuote
		}
		return field, at + len(field) + 1, ""
	}
	from := blanks + 1
	end := closingQuote(text, from)
	if end < 0 {
		return nil, 0, OpenQuote
	}
	behind := text[end+1:]
	rest := bytes.TrimLeft(behind, white)
	if len(rest) > 0 && rest[0] != separator {
		return nil, 0, StrayQuote
	}
	field = text[from:end]
	if bytes.IndexByte(field, '"') >= 0 {
		field = bytes.ReplaceAll(field, []byte(`""`), []byte(`"`)) // a copy
	}
	return field, at + len(text) - len(rest) + 1, ""
}

// closingQuote finds the quote that ends a field; a doubled quote does not.
func closingQuote(text []byte, from int) int {
	for i := from; i < len(text); i++ {
		switch {
		case text[i] != '"':
		case i+1 < len(text) && text[i+1] == '"':
			i++
		default:
			return i
		}
	}
	return -1
}

// CSVFields cuts a whole line.
func CSVFields(line []byte) (fields []string, reason string) { return FieldsBy(line, ',') }

// FieldsBy is CSVFields with any separator.
func FieldsBy(line []byte, separator byte) (fields []string, reason string) {
	for at := 0; at <= len(line); {
		field, next, reason := FieldAt(line, at, separator)
		if reason != "" {
			return nil, reason
		}
		fields = append(fields, string(bytes.TrimSpace(field)))
		at = next
	}
	return fields, ""
}

// CSVProblem is what is wrong with a line as CSV.
func CSVProblem(line []byte) string {
	_, reason := CSVFields(line)
	return reason
}
