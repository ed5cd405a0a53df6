//go:build duckdb_arrow

package warehouse

import (
	"slices"
	"strings"

	"tidemark/queries"
)

// eachName calls use with the place of every name of the schemas in a text of SQL, such as marts.tpot_gap. By hand, because regular
// expressions over all views were a tenth of a small ingest.
func eachName(text string, schemas []string, use func(begin, dot, end int)) {
	for i := 0; i < len(text); i++ {
		if !isOfName(text[i]) {
			continue
		}
		begin := i
		for i < len(text) && isOfName(text[i]) {
			i++
		}
		if i == len(text) || text[i] != '.' || !slices.Contains(schemas, text[begin:i]) {
			continue
		}
		dot := i
		for i++; i < len(text) && isOfName(text[i]); i++ {
		}
		if i > dot+1 {
			use(begin, dot, i)
		}
	}
}

func isOfName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// eachRelation does the same with raw tables and views outside of texts in quotes.
func eachRelation(text string, use func(begin, dot, end int)) {
	for at := 0; at < len(text); {
		end := at + strings.IndexByte(text[at:], '\'')
		if end < at {
			end = len(text)
		}
		eachName(text[at:end], relationSchemas, func(begin, dot, stop int) { use(at+begin, at+dot, at+stop) })
		if end == len(text) {
			return
		}
		closing := strings.IndexByte(text[end+1:], '\'')
		if closing < 0 {
			return
		}
		at = end + 1 + closing + 1
	}
}

var relationSchemas = []string{"raw", "staging", "marts", "checks"}

// narrowed is the temporary view that stands for a relation while rows are computed.
// DuckDB has no temporary schemas, so the schema is part of its name.
func narrowed(name string) string { return `"narrowed ` + name + `"` }

// overNarrowed replaces relations by their narrowed views. Columns are often named
// after the relation, so that the view gets the relation's name as an alias.
func overNarrowed(text string, isNarrowed map[string]bool) string {
	var out strings.Builder
	at := 0
	eachRelation(text, func(begin, dot, end int) {
		if !isNarrowed[text[begin:end]] {
			return
		}
		out.WriteString(text[at:begin])
		out.WriteString(narrowed(text[begin:end]))
		if !isRenamed(text[end:]) {
			out.WriteString(" as " + text[dot+1:end])
		}
		at = end
	})
	out.WriteString(text[at:])
	return out.String()
}

// isRenamed says that a name follows by which the relation before it goes.
func isRenamed(rest string) bool {
	word := strings.TrimLeft(rest, " \t\r\n")
	return len(word) < len(rest) && len(word) > 2 && word[:2] == "as" && strings.ContainsRune(" \t\r\n", rune(word[2]))
}

// mentioned are the relations that a text reads.
func mentioned(text string) (names []string) {
	eachRelation(text, func(begin, _, end int) { names = append(names, text[begin:end]) })
	return names
}

// referred are all names that a text uses of what is derived, and of the tables of known.go, in quotes too: a macro may build a query.
func referred(text string) (names []string) {
	text = queries.WithoutComments(text)
	eachName(text, slices.Concat(derived, []string{"warehouse"}), func(begin, _, end int) { names = append(names, text[begin:end]) })
	return names
}
