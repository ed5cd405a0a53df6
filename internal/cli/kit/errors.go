package kit

// Errors leave the program here and nowhere else: packages return them, verbs pass them
// on, and run (main.go) prints them and exits.
//
// An error is one line "tidemark: error: ..." and, where something can be done about it,
// one line "tidemark: hint: ...". Scripts read the exit code, people the hint.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

// The exit codes are a promise to scripts.
const (
	ExitNotMet  = 1 // an SLO or a check was not met
	ExitMisuse  = 2 // a flag, value, key or name that makes no sense
	ExitInvalid = 3 // the measurement cannot be trusted
	ExitFailed  = 4 // a missing or unreadable file, and any other failure
)

// ExitError ends the program with a code. err may be nil if everything has been
// printed.
type ExitError struct {
	Code int
	Err  error
}

func (e ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}
func (e ExitError) Unwrap() error { return e.Err }

// ExitCode is the exit code of an error. A missing or unreadable file is not
// misuse, whoever named it: the same command may work a minute later.
func ExitCode(err error) int {
	var coded ExitError
	var ofSystem syscall.Errno  // what the operating system answered
	var ofLibrary cli.ExitCoder // "help" with an unknown verb
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		return coded.Code
	case errors.As(err, &ofSystem), errors.Is(err, fs.ErrNotExist), errors.Is(err, userfile.ErrUnreadable):
		return ExitFailed
	case hint.IsMisuse(err), errors.As(err, &ofLibrary):
		return ExitMisuse
	}
	return ExitFailed
}

// PrintError prints joined errors one by one, each with its own hint.
func PrintError(w io.Writer, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			PrintError(w, one)
		}
		return
	}
	printSaid(w, "tidemark: error: "+shown(err.Error()))
	if todo := hint.Of(err); todo != "" {
		printSaid(w, "tidemark: hint: "+shown(todo))
	}
}

// printSaid breaks the lines of an error between words where somebody reads it on a terminal. A program gets each in one piece.
func printSaid(w io.Writer, text string) {
	if terminal.Is(w) {
		var lines []string
		for line := range strings.SplitSeq(text, "\n") {
			indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
			lines = append(lines, indent+strings.Join(terminal.Wrapped(line, max(terminal.Width(w)-2, 20)), "\n  "))
		}
		text = strings.Join(lines, "\n")
	}
	fmt.Fprintln(w, text)
}

// shown indents further lines, so that none of them looks like one of our own.
func shown(text string) string {
	return strings.ReplaceAll(escape.Controls(text, "\n\t"), "\n", "\n  ")
}
