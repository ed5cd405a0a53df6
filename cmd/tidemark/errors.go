package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Exit codes, a promise to scripts.
const (
	exitNotMet  = 1 // an SLO or a check was not met
	exitMisuse  = 2
	exitInvalid = 3 // the measurement cannot be trusted
	exitFailed  = 4
)

// exitError ends the program with a code; err may be nil when all was said.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}
func (e exitError) Unwrap() error { return e.err }

// hinted is an error with what to do about it.
type hinted struct {
	text, todo string
}

func (h hinted) Error() string { return h.text }
func (h hinted) Hint() string  { return h.todo }

// misuse is a command line that cannot be meant.
func misuse(format string, args ...any) exitError {
	return exitError{exitMisuse, fmt.Errorf(format, args...)}
}

// misuseUnlessMissing is of a file that was named: what it says may be misuse,
// that it is not there has just failed.
func misuseUnlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return exitError{exitMisuse, err}
}

func (e exitError) hint(format string, args ...any) exitError {
	return exitError{e.code, hinted{e.err.Error(), fmt.Sprintf(format, args...)}}
}

func printError(w io.Writer, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			printError(w, one)
		}
		return
	}
	fmt.Fprintf(w, "tidemark: error: %s\n", shown(err.Error()))
	var hint interface{ Hint() string }
	if errors.As(err, &hint) && hint.Hint() != "" {
		fmt.Fprintf(w, "tidemark: hint: %s\n", shown(hint.Hint()))
	}
}

// shown sets further lines in, so that none of them looks like one of our own.
func shown(text string) string {
	return strings.ReplaceAll(printable(text, "\n\t"), "\n", "\n  ")
}
