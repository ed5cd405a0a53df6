package privacy

import "fmt"

// hinted is an error with what to do about it.
type hinted struct{ message, hint string }

func (h hinted) Error() string { return h.message }
func (h hinted) Hint() string  { return h.hint }

// misused is a wish that cannot be meant.
type misused struct{ hinted }

func (misused) Misuse() {}

func withHint(hint, format string, args ...any) error {
	return hinted{fmt.Sprintf(format, args...), hint}
}

func misuse(hint, format string, args ...any) error {
	return misused{hinted{fmt.Sprintf(format, args...), hint}}
}

// Count of things, in words.
func Count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
