package queries

import "strings"

// Statements parts a text at the semicolons that end statements, not at those
// in quotes or comments. Comments stay with the statement that follows them.
func Statements(text string) []string {
	var found []string
	start := 0
	scan(text, func(i int, code bool) {
		if code && text[i] == ';' {
			found = append(found, text[start:i])
			start = i + 1
		}
	})
	found = append(found, text[start:])
	kept := found[:0]
	for _, statement := range found {
		if strings.TrimSpace(WithoutComments(statement)) != "" {
			kept = append(kept, strings.TrimSpace(statement))
		}
	}
	return kept
}

// IsWhole reports that a text ends with the semicolon of a statement, with nothing but spaces and comments after it.
func IsWhole(text string) bool {
	isWhole := false
	scan(text, func(i int, code bool) {
		if code && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t') {
			return
		}
		isWhole = code && text[i] == ';'
	})
	return isWhole
}

// WithoutComments blanks the comments and keeps everything else.
func WithoutComments(text string) string {
	var kept strings.Builder
	last := -1
	scan(text, func(i int, _ bool) {
		if i > last+1 {
			kept.WriteByte(' ')
		}
		kept.WriteByte(text[i])
		last = i
	})
	return kept.String()
}

// scan visits every byte outside comments; code is false within quotes.
func scan(text string, visit func(i int, code bool)) {
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "--"):
			i = end(text, i, "\n") - 1
		case strings.HasPrefix(text[i:], "/*"):
			i = end(text, i, "*/") + 1
		case text[i] == '\'' || text[i] == '"':
			stop := end(text, i+1, text[i:i+1])
			for ; i <= stop && i < len(text); i++ {
				visit(i, false)
			}
			i--
		default:
			visit(i, true)
		}
	}
}

// end is where mark begins next, or the text's end.
func end(text string, from int, mark string) int {
	if found := strings.Index(text[from:], mark); found >= 0 {
		return from + found
	}
	return len(text)
}
