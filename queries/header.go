package queries

import (
	"regexp"
	"strings"
	"sync"
)

// Header is the documentation that stands at the top of a view's file.
type Header struct {
	Comment string            // grain and reason
	Columns map[string]string // what each column holds, with its unit
}

// A column's line is its name, at least two spaces, and the text; several names
// may share one text. What follows, indented by three or more, continues it.
var (
	columnLine   = regexp.MustCompile(`^-- ((?:[a-z_][a-z0-9_]*, )*[a-z_][a-z0-9_]*) {2,}(\S.*)$`)
	continuation = regexp.MustCompile(`^-- {3,}(\S.*)$`)
	tableColumn  = regexp.MustCompile(`^\s+"?([a-z_][a-z0-9_]*)"? [^-]*--\s*(.*)$`)
	tableStart   = regexp.MustCompile(`(?i)^\s*create table (\w+\.\w+)`)
	addedColumn  = regexp.MustCompile(`(?i)^alter table (\w+\.\w+) add column "?([a-z_][a-z0-9_]*)"? [^-]*--\s*(.*)$`)
)

// ReadHeader reads the comment lines before the first line of SQL.
func ReadHeader(text string) Header {
	header := Header{Columns: map[string]string{}}
	var prose []string
	var last []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if line != "" && !strings.HasPrefix(line, "--") {
			break
		}
		if found := columnLine.FindStringSubmatch(line); found != nil {
			last = strings.Split(found[1], ", ")
			for _, name := range last {
				header.Columns[name] = found[2]
			}
		} else if found := continuation.FindStringSubmatch(line); found != nil && last != nil {
			for _, name := range last {
				header.Columns[name] += " " + found[1]
			}
		} else if !groupLine.MatchString(line) { // GroupOf reads it
			last = nil
			prose = append(prose, strings.TrimSpace(strings.TrimPrefix(line, "--")))
		}
	}
	header.Comment = paragraphs(prose)
	return header
}

// Comment is what the file of a view or a seed says before its columns, as a warehouse of this version keeps it; empty for any other relation.
// DuckDB makes the SQL of every table when it is asked for the comment of one.
func Comment(relation string) string { return comments()[relation] }

var comments = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for _, schema := range append([]string{"seeds"}, Views...) {
		for _, file := range In(schema, ".sql") {
			all[file.Relation()] = ReadHeader(file.Text).Comment
		}
	}
	return all
})

// paragraphs joins the lines of each paragraph; blank lines part them.
func paragraphs(lines []string) string {
	text := strings.Trim(strings.Join(lines, "\n"), "\n")
	parts := strings.Split(text, "\n\n")
	for i, part := range parts {
		parts[i] = strings.Join(strings.Fields(part), " ")
	}
	return strings.Join(parts, "\n")
}

// TableColumns reads the comments beside the columns of the text's "create
// table" and "alter table ... add column" statements: relation, then column, then text.
func TableColumns(text string) map[string]map[string]string {
	tables := map[string]map[string]string{}
	var columns map[string]string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if found := tableStart.FindStringSubmatch(line); found != nil {
			columns = map[string]string{}
			tables[found[1]] = columns
		} else if found := addedColumn.FindStringSubmatch(line); found != nil {
			if tables[found[1]] == nil {
				tables[found[1]] = map[string]string{}
			}
			tables[found[1]][found[2]] = found[3]
		} else if strings.HasPrefix(line, ")") {
			columns = nil
		} else if found := tableColumn.FindStringSubmatch(line); found != nil && columns != nil {
			columns[found[1]] = found[2]
		}
	}
	return tables
}
