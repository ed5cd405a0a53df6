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

func withHint(hint, format string, args ...any) error {
	return hinted{message: fmt.Sprintf(format, args...), hint: hint}
}
