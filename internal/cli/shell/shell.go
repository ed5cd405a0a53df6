package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/queries"
)

const (
	prompt     = "tidemark> "
	promptMore = "     ...> "
	// mostRows is how much of an answer a box shows. Whoever wants more asks for a file.
	mostRows = 1000
	// mostListed is how many completions are listed at once.
	mostListed = 30
)

// Shell is what a session needs of the program around it.
type Shell struct {
	In      io.Reader // the keyboard
	Out     io.Writer // for a terminal in raw mode
	Draw    io.Writer // the same terminal, for the line editor
	Width   func() int
	Path    string // of the warehouse
	Open    func(ctx context.Context, path string, use func(context.Context, *warehouse.Warehouse) error) error
	Report  func(error) // prints an error that does not end the session
	Limits  Limits
	History string // file; empty: none
	Mode    string // box, line, csv or json
}

// session is a Shell at work.
type session struct {
	Shell
	path      string
	mode      string
	isTimed   bool
	catalogue catalogue
	history   *history
	keys      *keyboard
	editor    *term.Terminal
	statement string // the lines so far of a statement that is not whole
}

// Run asks questions until the user leaves. It fails only where the warehouse cannot be read at the start.
func (shell Shell) Run(ctx context.Context) error {
	s := &session{Shell: shell, mode: shell.Mode}
	if err := s.load(ctx, shell.Path); err != nil {
		return err
	}
	s.history = openHistory(shell.History)
	if file, is := shell.In.(*os.File); is {
		before, err := term.MakeRaw(int(file.Fd()))
		if err != nil {
			return err
		}
		defer term.Restore(int(file.Fd()), before)
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	s.keys = newKeyboard(ctx, shell.In, leave)
	s.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{s.keys, shell.Draw}, prompt)
	s.editor.History = s.history
	s.editor.AutoCompleteCallback = s.complete
	s.editor.SetBracketedPasteMode(true) // a pasted tab is no question for completions
	defer s.editor.SetBracketedPasteMode(false)
	fmt.Fprintln(s.Out, strings.Join(terminal.Wrapped(
		s.path+" is open to read. A question ends with ; and Tab completes. .help lists the commands, .examples lists questions.", s.Width()), "\n"))
	for ctx.Err() == nil {
		if line, err := s.read(); err != nil || !s.do(ctx, line) {
			break
		}
	}
	fmt.Fprintln(s.Out)
	return nil
}

// load reads the catalogue of a warehouse, which is asked from then on.
func (s *session) load(ctx context.Context, path string) error {
	var read catalogue
	err := s.Open(ctx, path, func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		read, err = readCatalogue(ctx, w.DB())
		return err
	})
	if err == nil {
		s.path, s.catalogue = path, read
	}
	return err
}

// read is the next line that was typed.
func (s *session) read() (string, error) {
	s.editor.SetPrompt(prompt)
	if s.statement != "" {
		s.editor.SetPrompt(promptMore)
	}
	_ = s.editor.SetSize(s.Width(), 24)
	line, err := s.editor.ReadLine()
	if s.keys.wasInterrupted() {
		s.statement = ""
		return "", nil
	}
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err
}

// do takes a line: a command, or a part of a statement. It reports whether the session goes on.
func (s *session) do(ctx context.Context, line string) bool {
	word := strings.TrimRight(strings.TrimSpace(line), "; ")
	if s.statement == "" {
		switch {
		case word == "":
			return true
		case word == ".quit" || word == ".exit" || word == "quit" || word == "exit":
			return false
		case word == "help":
			line, word = ".help", ".help"
		}
		if strings.HasPrefix(word, ".") {
			s.history.remember(word)
			s.report(ctx, s.keys.while(ctx, func(ctx context.Context) error { return s.command(ctx, line) }))
			return true
		}
	}
	s.statement += line + "\n"
	if !queries.IsWhole(s.statement) {
		return true
	}
	whole := s.statement
	s.statement = ""
	s.history.remember(whole)
	for _, statement := range queries.Statements(whole) {
		if ctx.Err() != nil {
			return false
		}
		s.ask(ctx, statement)
	}
	return ctx.Err() == nil
}

// ask runs one question and prints its answer or what went wrong.
func (s *session) ask(ctx context.Context, statement string) {
	began := time.Now()
	err := s.keys.while(ctx, func(ctx context.Context) error {
		if s.Limits.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, s.Limits.Timeout)
			defer cancel()
		}
		return s.Open(ctx, s.path, func(ctx context.Context, w *warehouse.Warehouse) error {
			return Ask(ctx, w, statement, s.Limits, s.rows(), func(text string) { fmt.Fprintln(s.Out, text) })
		})
	})
	s.report(ctx, err)
	if s.isTimed && err == nil {
		fmt.Fprintln(s.Out, show.Duration(time.Since(began).Seconds()))
	}
}

func (s *session) report(ctx context.Context, err error) {
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, context.DeadlineExceeded):
		s.Report(hint.Errorf("stopped after %s (--timeout)", s.Limits.Timeout).Hint("give it more time, or ask for less"))
	case errors.Is(err, context.Canceled) || warehouse.WasInterrupted(err):
		fmt.Fprintln(s.Out, "stopped")
	default:
		s.Report(err)
	}
}

// rows prints an answer in the session's mode.
func (s *session) rows() tables.Writer {
	switch s.mode {
	case "csv":
		return tables.NewCSV(s.Out)
	case "json":
		return tables.NewJSON(s.Out)
	case "line":
		return tables.NewLines(s.Out, s.Width())
	}
	return tables.NewBox(s.Out, s.Width(), mostRows, ".mode line shows all")
}

// complete is called by the line editor at each key that it does not know.
func (s *session) complete(line string, place int, key rune) (string, int, bool) {
	if key != '\t' {
		return "", 0, false
	}
	word, found := s.completions(line, place)
	switch {
	case len(found) == 0:
	case len(found) == 1 && found[0].name == word:
		s.list(found) // it is whole: say what it is
	case len(found) == 1, len(commonStart(found)) > len(word):
		return line[:place-len(word)] + commonStart(found) + line[place:], place - len(word) + len(commonStart(found)), true
	default:
		s.list(found)
	}
	return line, place, true
}

func (s *session) completions(line string, place int) (word string, found []thing) {
	if s.statement == "" && strings.HasPrefix(line, ".") {
		return s.commandWords(line[:place])
	}
	return s.catalogue.completions(s.statement+line[:place], s.statement+line)
}

// commandWords completes a command or its argument.
func (s *session) commandWords(typed string) (word string, found []thing) {
	name, argument, hasArgument := strings.Cut(typed, " ")
	for _, command := range commands() {
		switch {
		case !hasArgument:
			found = appendNew(found, thing{command.typed(), command.about}, typed)
		case command.name == name && command.words != nil:
			found = command.words(s, argument)
		}
	}
	if hasArgument {
		return argument, found
	}
	return typed, found
}

// list shows completions above the line, each with what it is.
func (s *session) list(found []thing) {
	widest := 0
	for _, one := range found[:min(len(found), mostListed)] {
		widest = max(widest, len(one.name))
	}
	var text strings.Builder
	for _, one := range found[:min(len(found), mostListed)] {
		line := []rune(escape.Controls(fmt.Sprintf("  %-*s  %s", widest, one.name, one.about), ""))
		if width := s.Width() - 1; len(line) > width {
			line = append(line[:width-1], '…')
		}
		text.WriteString(strings.TrimRight(string(line), " ") + "\n")
	}
	if more := len(found) - mostListed; more > 0 {
		fmt.Fprintf(&text, "  and %d more\n", more)
	}
	_, _ = s.editor.Write([]byte(text.String()))
}
