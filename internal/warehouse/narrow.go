//go:build duckdb_arrow

package warehouse

import (
	"regexp"
	"strings"
)

// relationName finds a relation in SQL, and whether it is given another name
// there. Texts in quotes are found first, so that a name inside one is none.
var relationName = regexp.MustCompile(`'[^']*'|\b((?:raw|staging|marts|checks)\.(\w+))(\s+as\s)?`)

// narrowed is the temporary view that stands for a relation while rows are computed.
// DuckDB has no temporary schemas, so the schema is part of its name.
func narrowed(name string) string { return `"narrowed ` + name + `"` }

// overNarrowed replaces relations by their narrowed views. Columns are often named
// after the relation, so that the view gets the relation's name as an alias.
func overNarrowed(text string, isNarrowed map[string]bool) string {
	var out strings.Builder
	at := 0
	for _, found := range relationName.FindAllStringSubmatchIndex(text, -1) {
		if found[2] < 0 || !isNarrowed[text[found[2]:found[3]]] {
			continue
		}
		out.WriteString(text[at:found[2]])
		out.WriteString(narrowed(text[found[2]:found[3]]))
		if found[6] < 0 {
			out.WriteString(" as " + text[found[4]:found[5]])
		}
		at = found[3]
	}
	out.WriteString(text[at:])
	return out.String()
}

// mentioned are the relations that a text reads.
func mentioned(text string) (names []string) {
	for _, found := range relationName.FindAllStringSubmatch(text, -1) {
		if found[1] != "" {
			names = append(names, found[1])
		}
	}
	return names
}
