package analysis

import "fmt"

// hinted is an error with what to do about it.
type hinted struct {
	message string
	hint    string
}

func (e hinted) Error() string { return e.message }

// Hint is what the user can do about the error.
func (e hinted) Hint() string { return e.hint }

// misused is an error of what was asked, not of the data.
type misused struct{ hinted }

// Misuse tells the command line that it was it.
func (misused) Misuse() {}

func misuse(hint, format string, args ...any) error {
	return misused{hinted{message: fmt.Sprintf(format, args...), hint: hint}}
}

func withHint(hint, format string, args ...any) error {
	return hinted{message: fmt.Sprintf(format, args...), hint: hint}
}
