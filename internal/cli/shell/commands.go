package shell

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"tidemark/analysis/answers"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

// command is a line that begins with a dot.
type command struct {
	name, argument, about string
	run                   func(s *session, ctx context.Context, argument string) error
	words                 func(s *session, start string) []thing // what the argument may become
}

// typed is the command as completion writes it: ready for its argument.
func (c command) typed() string {
	if c.words == nil {
		return c.name
	}
	return c.name + " "
}

var modes = []thing{
	{"box", "a table with lines, and numbers with units"}, {"line", "one line per value: a record transposed"},
	{"csv", "CSV in full precision and base units"}, {"json", "JSON objects in full precision and base units"},
}

// commands are in the order of .help. They are made by a function because .help lists them.
func commands() []command {
	return []command{
		{".help", "", "list the commands", (*session).help, nil},
		{".tables", "[GROUP]", "list the relations by group, or those of one group", (*session).tables, groupNames},
		{".schema", "[NAME]", "columns of a relation, parameters of a macro, or the overview", (*session).schema, relationNames},
		{".examples", "[NAME]", "list the example questions, or run one", (*session).examples, exampleNames},
		{".mode", "[MODE]", "how answers are printed: box, line, csv or json", (*session).setMode, modeNames},
		{".open", "FILE", "ask another warehouse", (*session).open, fileNames},
		{".timer", "[on|off]", "print how long each question took", (*session).setTimer, nil},
		{".quit", "", "leave; so does Ctrl-D", nil, nil},
	}
}

func (s *session) command(ctx context.Context, line string) error {
	name, argument, _ := strings.Cut(strings.TrimRight(strings.TrimSpace(line), "; "), " ")
	var known []string
	for _, command := range commands() {
		if command.name == name && command.run != nil {
			return command.run(s, ctx, strings.TrimSpace(argument))
		}
		if command.name == name {
			return hint.Misuse("%s takes no word after it, and got %q", name, strings.TrimSpace(argument)).Hint("%s", name)
		}
		known = append(known, command.name)
	}
	return unknown("command", name, known)
}

func unknown(thing, name string, known []string) error {
	return hint.Misuse("no %s named %q", thing, name).Hint("%s", hint.Known(thing, known, name))
}

func (s *session) help(context.Context, string) error {
	var pairs [][2]string
	for _, command := range commands() {
		pairs = append(pairs, [2]string{strings.TrimSpace(command.name + " " + command.argument), command.about})
	}
	writePairs(s.Out, s.Width(), pairs)
	fmt.Fprintln(s.Out, "A question ends with ; and may take several lines. Tab completes names and\n"+
		"shows units, arrow keys bring back what was asked, Ctrl-C ends a line or a\nquestion.")
	return nil
}

func (s *session) tables(ctx context.Context, group string) error {
	if _, is := answers.Group(group); group != "" && !is {
		var known []string
		for _, one := range queries.Groups {
			known = append(known, one.Name)
		}
		return unknown("group", group, known)
	}
	var pairs [][2]string
	for _, one := range s.catalogue.relations {
		if group != "" && s.catalogue.groups[one.name] == group {
			pairs = append(pairs, [2]string{one.name, one.about})
		}
	}
	if group != "" {
		writePairs(s.Out, s.Width(), pairs)
		return nil
	}
	for _, one := range queries.Groups {
		var names []string
		for _, relation := range s.catalogue.relations {
			if s.catalogue.groups[relation.name] == one.Name {
				names = append(names, relation.name)
			}
		}
		if len(names) > 0 {
			pairs = append(pairs, [2]string{one.Name, strings.Join(names, " ")})
		}
	}
	writePairs(s.Out, s.Width(), pairs)
	return nil
}

func (s *session) schema(ctx context.Context, name string) error {
	return s.Open(ctx, s.path, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := answers.Schema(ctx, w.DB(), name)
		if err != nil {
			return err
		}
		if name == "" {
			WriteGuide(s.Out, s.Width(), table)
			return nil
		}
		if table.Comment != "" {
			fmt.Fprintln(s.Out, strings.Join(terminal.Wrapped(table.Name+": "+table.Comment, s.Width()), "\n"))
		}
		return tables.Write(tables.NewBox(s.Out, s.Width(), 0, ""), table)
	})
}

func (s *session) examples(ctx context.Context, name string) error {
	if name == "" {
		WriteExamples(s.Out, s.Width(), "")
		fmt.Fprintln(s.Out, ".examples NAME runs one")
		return nil
	}
	example, err := FindExample(name)
	if err != nil {
		return err
	}
	for _, text := range []string{example.Question, example.Meaning} {
		fmt.Fprintln(s.Out, strings.Join(terminal.Wrapped(text, s.Width()), "\n"))
	}
	fmt.Fprintf(s.Out, "\n%s;\n", example.SQL)
	s.history.remember(example.SQL + ";")
	s.ask(ctx, example.SQL)
	return nil
}

func (s *session) setMode(_ context.Context, name string) error {
	var known []string
	for _, mode := range modes {
		if mode.name == name {
			s.mode = name
			return nil
		}
		known = append(known, mode.name)
	}
	if name == "" {
		fmt.Fprintf(s.Out, "mode %s\n", s.mode)
		return nil
	}
	return unknown("mode", name, known)
}

// open asks another warehouse from now on, unless it cannot be read.
func (s *session) open(ctx context.Context, path string) error {
	if path == "" {
		return hint.Misuse(".open: no file named").Hint(".open FILE; now open is %s", s.path)
	}
	if err := s.load(ctx, path); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "asking %s\n", path)
	return nil
}

func (s *session) setTimer(_ context.Context, word string) error {
	switch word {
	case "on":
		s.isTimed = true
	case "off":
		s.isTimed = false
	case "":
		s.isTimed = !s.isTimed
	default:
		return hint.Misuse(".timer %s: neither on nor off", word)
	}
	fmt.Fprintln(s.Out, map[bool]string{true: "timer on", false: "timer off"}[s.isTimed])
	return nil
}

// What the argument of a command may become.

func groupNames(_ *session, start string) (found []thing) {
	for _, group := range queries.Groups {
		found = appendNew(found, thing{group.Name, group.Question}, start)
	}
	return found
}

func relationNames(s *session, start string) []thing {
	if strings.Contains(start, ".") {
		_, found := s.catalogue.completions(start, "")
		return found
	}
	return s.catalogue.named(start)
}

func exampleNames(_ *session, start string) (found []thing) {
	for _, example := range queries.Examples() {
		found = appendNew(found, thing{example.Name, example.Question}, start)
	}
	return found
}

func modeNames(_ *session, start string) (found []thing) {
	for _, mode := range modes {
		found = appendNew(found, mode, start)
	}
	return found
}

func fileNames(_ *session, start string) (found []thing) {
	matches, _ := filepath.Glob(strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`).Replace(start) + "*")
	for _, match := range matches {
		found = append(found, thing{match, ""})
	}
	return found
}
