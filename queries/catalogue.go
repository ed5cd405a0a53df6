package queries

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Group is a set of relations, macros and examples that answer one kind of question.
type Group struct {
	Name     string // one word, as in the line "-- group: runs" of a header
	Question string
}

// Groups are in the order in which a newcomer meets their questions.
var Groups = []Group{
	{"runs", "What was sent, what came back, how fast, and what failed?"},
	{"tpot", "How far are time per token and TTFT from what the memory allows?"},
	{"server", "What did the server and its GPUs say of themselves?"},
	{"money", "Was the SLO met, and what does an answer cost?"},
	{"traces", "Which requests came, when, how long, and how much of them repeats?"},
	{"diagnosis", "What limits a run, and what should be tried first?"},
	{"tools", "What did other tools measure, and in which words?"},
	{"trust", "Can the figures be trusted?"},
	{"model", "What will a deployment do? GPUs, models, constants and formulas."},
	{"kernels", "How long does a single kernel take, as measured?"},
	{"configs", "What does a config.json or a name say of a model?"},
	{"statistics", "How sure is a figure?"},
	{"queues", "How long does a request wait, by formula?"},
	{"text", "How is a number written in a sentence?"},
}

// StartHere are the relations that a newcomer looks at first, and ExamplesFirst the examples.
var (
	StartHere     = []string{"marts.runs", "marts.tpot_gap_runs", "marts.sources"}
	ExamplesFirst = []string{"hour_of_day", "slowest_ten", "tpot_by_batch"}
)

var groupLine = regexp.MustCompile(`(?m)^-- group: (\w+)$`)

// GroupOf is the group that a file's header names; empty if it names none.
func GroupOf(text string) string {
	if found := groupLine.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// Macro is what stands above one "create macro": what it answers, and a query that calls it.
type Macro struct {
	Name    string // macros.floor_s
	Path    string
	Group   string
	Comment string
	Example string
	IsTable bool // it is read from; the others give one value
}

var (
	makesMacro = regexp.MustCompile(`(?m)^create macro (macros\.\w+)\(`)
	givesTable = regexp.MustCompile(`^create macro \S+?\([^)]*\) as table\b`)
	// The first line of an example; the lines up to the end of the comment continue it.
	exampleLine = regexp.MustCompile(`^-- {3}(?:select|from|with) `)
)

// Macros lists all macros by name.
func Macros() []Macro {
	var found []Macro
	for _, file := range In("macros", ".sql") {
		group := GroupOf(file.Text)
		for _, place := range makesMacro.FindAllStringSubmatchIndex(file.Text, -1) {
			macro := Macro{Name: file.Text[place[2]:place[3]], Path: file.Path, Group: group}
			macro.Comment, macro.Example = documented(commentBefore(file.Text[:place[0]]))
			macro.IsTable = givesTable.MatchString(file.Text[place[0]:])
			found = append(found, macro)
		}
	}
	slices.SortFunc(found, func(a, b Macro) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

// commentBefore is the comment that ends a text, line by line. A blank line ends it: what stands above belongs to the file.
func commentBefore(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	start := len(lines)
	for start > 0 && strings.HasPrefix(lines[start-1], "--") {
		start--
	}
	return lines[start:]
}

// documented parts a comment into its text and the example that ends it. Prose becomes one line, each indented line of
// parameters and columns one of its own.
func documented(lines []string) (comment, example string) {
	var kept []string
	isProse := false
	for i, line := range lines {
		text := strings.TrimPrefix(line, "--")
		switch {
		case exampleLine.MatchString(line):
			return strings.Join(kept, "\n"), oneLine(lines[i:])
		case groupLine.MatchString(line):
		case strings.HasPrefix(text, "  "):
			kept = append(kept, strings.TrimRight(text, " "))
			isProse = false
		case isProse:
			kept[len(kept)-1] += " " + strings.TrimSpace(text)
		default:
			kept = append(kept, strings.TrimSpace(text))
			isProse = true
		}
	}
	return strings.Join(kept, "\n"), ""
}

// oneLine joins comment lines.
func oneLine(lines []string) string {
	var parts []string
	for _, line := range lines {
		parts = append(parts, strings.TrimSpace(strings.TrimPrefix(line, "--")))
	}
	return strings.Join(parts, " ")
}

// Example is a question with the SQL that answers it.
type Example struct {
	Name     string
	Path     string
	Group    string
	Question string
	Meaning  string // what the answer means, and what to look out for
	SQL      string // runs unchanged in any DuckDB shell on the warehouse
}

// Examples lists the example questions, in the order of their groups.
func Examples() []Example { return examples() }

// examples reads the headers once: the overview of schema asks for them with every group.
var examples = sync.OnceValue(func() []Example {
	var found []Example
	for _, file := range In("examples", ".sql") {
		header := ReadHeader(file.Text)
		question, meaning, _ := strings.Cut(header.Comment, "\n")
		found = append(found, Example{
			Name: file.Name, Path: file.Path, Group: GroupOf(file.Text), Question: question, Meaning: meaning,
			SQL: strings.TrimSpace(file.Text[len(headerOf(file.Text)):]),
		})
	}
	slices.SortStableFunc(found, func(a, b Example) int { return cmp.Compare(GroupPlace(a.Group), GroupPlace(b.Group)) })
	return found
})

// GroupPlace is the place of a group in the order of Groups; a name that is no group comes last.
func GroupPlace(name string) int {
	if place := slices.IndexFunc(Groups, func(g Group) bool { return g.Name == name }); place >= 0 {
		return place
	}
	return len(Groups)
}

// headerOf is the comment lines and blank lines that begin a text.
func headerOf(text string) string {
	end := 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "--") {
			break
		}
		end += len(line)
	}
	return text[:end]
}
