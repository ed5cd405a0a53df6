// Package hint makes errors that a person can act on: what went wrong, why (errors.Is and errors.As
// find the cause), and what to do about it.
//
//	return hint.Misuse("plan: --speed %v: must be above 0", speed).Hint("1 plays the trace as it was")
//
// Every package makes its errors here, so that the exit code of a mistake does not depend on the
// package that noticed it. Misuse marks the user's mistakes: a flag, value, key or name that makes
// no sense. names.go and duration.go find out what a wrong name or duration was meant to be.
//
// It prints nothing and knows no exit codes; cmd does.
package hint

import (
	"errors"
	"fmt"
)

// Error is an error with what to do about it.
type Error struct {
	cause    error // holds the text
	todo     string
	isMisuse bool
	mark     error
}

// Errorf makes an error as fmt.Errorf does; %w keeps a cause.
func Errorf(format string, args ...any) *Error {
	return &Error{cause: fmt.Errorf(format, args...)}
}

// Misuse marks the error as the user's, so that the program exits with 2.
func Misuse(format string, args ...any) *Error {
	return &Error{cause: fmt.Errorf(format, args...), isMisuse: true}
}

// Wrap keeps an error's text, so that a hint can be added.
func Wrap(err error) *Error { return &Error{cause: err} }

// AsMisuse marks an error as the user's and keeps its text and its hint. nil stays nil.
func AsMisuse(err error) error {
	if err == nil {
		return nil
	}
	return &Error{cause: err, isMisuse: true}
}

// Hint adds what the user can do.
func (e *Error) Hint(format string, args ...any) *Error {
	e.todo = fmt.Sprintf(format, args...)
	return e
}

// Mark makes errors.Is(err, mark) true without changing the text.
func (e *Error) Mark(mark error) *Error {
	e.mark = mark
	return e
}

func (e *Error) Error() string { return e.cause.Error() }

func (e *Error) Unwrap() error { return e.cause }

func (e *Error) Is(target error) bool { return e.mark != nil && target == e.mark }

// Of is what the user can do about an error: the outermost hint of its chain, or nothing.
func Of(err error) string {
	for e := (*Error)(nil); errors.As(err, &e); err = e.cause {
		if e.todo != "" {
			return e.todo
		}
	}
	return ""
}

// IsMisuse says whether any error of the chain is a misuse.
func IsMisuse(err error) bool {
	for e := (*Error)(nil); errors.As(err, &e); err = e.cause {
		if e.isMisuse {
			return true
		}
	}
	return false
}
