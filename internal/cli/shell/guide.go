package shell

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tidemark/analysis/answers"
	"tidemark/internal/cli/terminal"
	"tidemark/queries"
)

// WriteGuide prints what a newcomer can ask: where to start, and the groups with their relations. listed is answers.Schema of
// everything.
func WriteGuide(w io.Writer, width int, listed answers.Table) {
	fmt.Fprintln(w, "START HERE")
	var starts [][2]string
	for _, name := range queries.StartHere {
		for _, row := range listed.Rows {
			if row[0] == name {
				comment, _ := row[3].(string)
				starts = append(starts, [2]string{name, firstSentence(comment)})
			}
		}
	}
	for _, example := range queries.Examples() {
		if slices.Contains(queries.ExamplesFirst, example.Name) {
			starts = append(starts, [2]string{"sql --example " + example.Name, example.Question})
		}
	}
	writePairs(w, width, starts)
	fmt.Fprintln(w, "\nWHAT THERE IS TO ASK, BY GROUP")
	var groups [][2]string
	for _, group := range queries.Groups {
		groups = append(groups, [2]string{group.Name, group.Question + " " + contents(group.Name, listed)})
	}
	writePairs(w, width, groups)
}

// WriteList prints relations and macros, each with its first sentence. listed is answers.Schema of a group or of a schema; macros stand
// in the order of their groups.
func WriteList(w io.Writer, width int, listed answers.Table) {
	last := ""
	var pairs [][2]string
	for _, row := range listed.Rows {
		name, _ := row[0].(string)
		group, _ := row[2].(string)
		comment, _ := row[3].(string)
		if row[1] == "macro" && group != last {
			writePairs(w, width, pairs)
			fmt.Fprintf(w, "MACROS OF GROUP %s\n", strings.ToUpper(group))
			pairs, last = nil, group
		}
		pairs = append(pairs, [2]string{name, firstSentence(comment)})
	}
	writePairs(w, width, pairs)
}

// contents names a group's marts and counts the rest.
func contents(group string, listed answers.Table) string {
	var marts []string
	others, macros, examples := 0, 0, 0
	for _, row := range listed.Rows {
		name, _ := row[0].(string)
		bare, isMart := strings.CutPrefix(name, "marts.")
		switch {
		case row[2] != group:
		case isMart:
			marts = append(marts, bare)
		case row[1] == "macro":
			macros++
		default:
			others++
		}
	}
	for _, example := range queries.Examples() {
		if example.Group == group {
			examples++
		}
	}
	var parts []string
	if len(marts) > 0 {
		parts = append(parts, "marts: "+strings.Join(marts, ", "))
	}
	for _, counted := range []struct {
		n         int
		one, many string
	}{{others, "table below them", "tables below them"}, {macros, "macro", "macros"}, {examples, "example", "examples"}} {
		if counted.n == 1 {
			parts = append(parts, "1 "+counted.one)
		} else if counted.n > 1 {
			parts = append(parts, fmt.Sprintf("%d %s", counted.n, counted.many))
		}
	}
	return "(" + strings.Join(parts, "; ") + ")"
}

// WriteExamples lists the example questions by group; group limits them to one, empty: all.
func WriteExamples(w io.Writer, width int, group string) {
	last := ""
	var pairs [][2]string
	for _, example := range queries.Examples() {
		if group != "" && example.Group != group {
			continue
		}
		if example.Group != last && group == "" {
			writePairs(w, width, pairs)
			pairs, last = nil, example.Group
			fmt.Fprintln(w, strings.ToUpper(last))
		}
		pairs = append(pairs, [2]string{example.Name, example.Question})
	}
	writePairs(w, width, pairs)
}

// leastText is the width below which a column of text is not worth reading.
const leastText = 30

// writePairs prints names and texts in two columns, of which the second goes on below itself; on a narrow terminal a text stands below its name.
func writePairs(w io.Writer, width int, pairs [][2]string) {
	widest := 0
	for _, pair := range pairs {
		widest = max(widest, len(pair[0]))
	}
	if width-widest-4 < leastText {
		for _, pair := range pairs {
			fmt.Fprintf(w, "  %s\n    %s\n", pair[0], strings.Join(terminal.Wrapped(pair[1], width-4), "\n    "))
		}
		return
	}
	for _, pair := range pairs {
		for i, line := range terminal.Wrapped(pair[1], width-widest-4) {
			name := ""
			if i == 0 {
				name = pair[0]
			}
			fmt.Fprintf(w, "  %-*s  %s\n", widest, name, line)
		}
	}
}

// FindExample is the example of that name; an unknown one is an error with those that it resembles.
func FindExample(name string) (queries.Example, error) {
	var known []string
	for _, example := range queries.Examples() {
		if example.Name == name {
			return example, nil
		}
		known = append(known, example.Name)
	}
	return queries.Example{}, unknown("example", name, known)
}
